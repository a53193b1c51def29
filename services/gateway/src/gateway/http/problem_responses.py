"""Problems as RFC 9457 documents, in JSON or XML, and refusals of requests without a handler."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web
from aiohttp.http_exceptions import InvalidURLError

from common.contracts.events import rfc3339
from common.runtime.public_port.connections import Refuse
from gateway import problems
from gateway.http.parameters import Format
from gateway.http.rendering import xml_document
from gateway.http.responses import CONSTANT_HEADERS, REQUEST_ID
from gateway.problems import Problem

MEDIA_TYPE = {Format.JSON: "application/problem+json", Format.XML: "application/problem+xml"}

#: The guide with a section for each code; a URN leads nowhere.
HELP_PATH = "/guides/problems"

#: Seconds to retry after while a dependency is unavailable; the gateway reconnects within 10 s of
#: its recovery.
OUTAGE_RETRY_AFTER = 5


def problem_document(problem: Problem, request_id: str) -> dict[str, Any]:
    """Returns the RFC 9457 document, with extensions such as `code` and `request_id`."""
    document: dict[str, Any] = {
        "type": "urn:problem:" + problem.code.replace("_", "-"),
        "title": problem.code.replace("_", " ").capitalize(),
        "status": problem.status.value,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = [
            {"parameter": error.parameter, "message": error.message} for error in problem.errors
        ]
    if isinstance(problem, problems.CompanyRemoved):
        document["removed_on"] = problem.removed_on
    if isinstance(problem, problems.CursorExpired):
        document["oldest"] = problem.oldest
    if isinstance(problem, problems.RotationPending) and problem.possible_from is not None:
        document["possible_from"] = rfc3339(problem.possible_from)
    return document


def problem_response(problem: Problem, request_id: str, format_: Format) -> web.Response:
    """Returns the response with a problem's document, status and headers; it is never cached."""
    document = problem_document(problem, request_id)
    body = orjson.dumps(document) if format_ is Format.JSON else xml_document("problem", document)
    return web.Response(
        body=body,
        status=document["status"],
        headers={
            "Content-Type": MEDIA_TYPE[format_],
            "Cache-Control": "no-store",
            "Link": f'<{HELP_PATH}#{problem.code}>; rel="help"',
            **_headers(problem),
        },
    )


def _headers(problem: Problem) -> dict[str, str]:
    match problem:
        case problems.RateLimited():
            return {"Retry-After": str(problem.retry_after)}
        case problems.ServiceUnavailable():
            return {"Retry-After": str(OUTAGE_RETRY_AFTER)}
        case problems.MethodNotAllowed():
            return {"Allow": ", ".join(problem.allowed)}
        case problems.UnsupportedMediaType(accept_encoding=str(supported)):
            return {"Accept-Encoding": supported}  # RFC 9110, 12.5.3
        case problems.Unauthorized():
            return {"WWW-Authenticate": "Bearer"}
        case _:
            return {}


def problem_of_aiohttp(error: web.HTTPException) -> Problem:
    """Returns the problem of an error that aiohttp raised before a handler ran."""
    match error:
        case web.HTTPNotFound():
            return problems.NotFound("no resource at this path")
        case web.HTTPMethodNotAllowed():
            return problems.MethodNotAllowed(
                f"this path does not allow {error.method}", allowed=error.allowed_methods
            )
        case web.HTTPRequestEntityTooLarge():
            return problems.BodyTooLarge("the body is larger than 64 KiB")
        case web.HTTPBadRequest():
            return problems.InvalidBody("the request cannot be read")
        case _:
            return problems.InternalError()


def refusals(new_id: Callable[[], str]) -> Refuse:
    """Refuses with a problem; `new_id` names the request."""

    def refuse(status: HTTPStatus, error: BaseException | None) -> web.Response:
        request_id = new_id()
        response = problem_response(_problem_of(status, error), request_id, Format.JSON)
        response.headers.update(CONSTANT_HEADERS)
        response.headers[REQUEST_ID] = request_id
        return response

    return refuse


def _problem_of(status: HTTPStatus, error: BaseException | None) -> Problem:
    if isinstance(error, InvalidURLError):
        return problems.InvalidParameter(
            "the URL must be ASCII: percent-encode other characters (å is %C3%A5)"
        )
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return problems.ServiceUnavailable("too many connections; retry later")
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return problems.InvalidBody(
            "the request cannot be read as HTTP/1.1, or its head exceeds 16 KiB"
        )
    return problems.InternalError()
