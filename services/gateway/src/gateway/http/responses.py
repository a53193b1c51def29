"""Bodies of requests, responses, problems as RFC 9457 documents, and the headers of each."""

from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import hdrs, web
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.typedefs import Handler

from common.contracts.events import rfc3339
from common.contracts.failures import FieldError
from common.runtime.public_port.connections import Refuse
from common.runtime.public_port.server import LateBody, send_continue
from gateway import problems
from gateway.http.parameters import JSON, Format
from gateway.http.rendering import xml_document
from gateway.problems import BodyTooLarge, InvalidBody, Problem, UnsupportedMediaType

REQUEST_ID = "X-Request-Id"

#: Headers of every answer. The first hides aiohttp's version.
CONSTANT_HEADERS = {hdrs.SERVER: "company-lookup", "X-Content-Type-Options": "nosniff"}

ALLOWED_METHODS = "GET, HEAD, OPTIONS"
#: Of a path that also takes forms.
FORM_METHODS = "GET, HEAD, OPTIONS, POST"

#: Response headers exposed to scripts.
EXPOSED = "ETag, Link, Protected-Left-Out, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"

#: Seconds for which a browser caches the preflight; Chromium's maximum.
PREFLIGHT_MAX_AGE = "7200"


def cors_headers(origin: str) -> dict[str, str]:
    """CORS headers of every answer for scripts of `origin` (`*`: of any); "" allows none."""
    if not origin:
        return {}
    headers: dict[str, str] = {
        hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: origin,
        hdrs.ACCESS_CONTROL_EXPOSE_HEADERS: EXPOSED,
    }
    return headers if origin == "*" else {**headers, hdrs.VARY: hdrs.ORIGIN}


def options_handler(
    origin: str, methods: str = ALLOWED_METHODS, *, for_visitors: bool = False
) -> Handler:
    """Returns the handler of OPTIONS, including a browser's preflight.

    `for_visitors` answers those of pages with publishable keys, whatever the origin.
    """
    plain: dict[str, str] = {hdrs.ALLOW: methods}
    preflight = plain | {
        hdrs.ACCESS_CONTROL_ALLOW_METHODS: methods,
        hdrs.ACCESS_CONTROL_ALLOW_HEADERS: (
            "Authorization, If-None-Match, traceparent, tracestate, X-API-Key, X-Request-Id"
        ),
        hdrs.ACCESS_CONTROL_MAX_AGE: PREFLIGHT_MAX_AGE,
    }

    async def options(request: web.Request) -> web.Response:
        is_answered = origin or (for_visitors and hdrs.ORIGIN in request.headers)
        return web.Response(status=204, headers=preflight if is_answered else plain)

    return options


def varying(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """Returns the headers of answers that also depend on the request header `name`."""
    names = [headers[hdrs.VARY], name] if hdrs.VARY in headers else [name]
    return {**headers, hdrs.VARY: ", ".join(names)}


def public_address(request: web.BaseRequest, public_url: str) -> str:
    """Returns the address of this API for browsers: `public_url`, or else that of the request.

    It is for the client of this request alone, so its headers need no trust.
    """
    if public_url:
        return public_url
    forwarded = request.headers.get(hdrs.X_FORWARDED_PROTO, "").lower()
    scheme = forwarded if forwarded in ("http", "https") else request.scheme
    return f"{scheme}://{request.headers.get(hdrs.HOST, 'localhost')}"


#: `Cache-Control` of answers that are private, or unlikely to be requested twice.
NO_STORE = "no-store"
#: `Cache-Control` of answers that are the same for every client, and change with a release.
PUBLIC = "public, max-age=300"


#: Maximum bytes of a request's body, unless its operation has another.
MAX_BODY_SIZE: Final = 64 * 1024


def json_response(body: bytes, *, cache_control: str = NO_STORE) -> web.Response:
    """Returns a response of status 200 with serialised JSON, which by default is not cached."""
    headers: dict[str, str] = {hdrs.CONTENT_TYPE: JSON, hdrs.CACHE_CONTROL: cache_control}
    return web.Response(body=body, headers=headers)


#: The header with the number of companies, or of events, that were left out as protected.
LEFT_OUT: Final = "Protected-Left-Out"


def with_left_out(response: web.Response, left_out: int) -> web.Response:
    """Returns the response with the number that was left out; no cache may give it to others."""
    response.headers[LEFT_OUT] = str(left_out)
    response.headers[hdrs.CACHE_CONTROL] = NO_STORE
    return response


async def json_body(request: web.Request, *, max_size: int = MAX_BODY_SIZE) -> bytes:
    """Returns a JSON body, not parsed; raises UnsupportedMediaType or as `body_of` does.

    A byte order mark, which some editors and spreadsheets write, is no part of it.
    """
    if request.content_type != JSON and request.can_read_body:
        raise UnsupportedMediaType(f"send the body as Content-Type: {JSON}")
    return (await body_of(request, max_size=max_size)).removeprefix(BOM_UTF8)


async def body_of(request: web.Request, *, max_size: int = MAX_BODY_SIZE) -> bytes:
    """Returns the whole body; raises InvalidBody when it is late or does not match its headers.

    Raises BodyTooLarge beyond `max_size`.
    """
    if max_size != MAX_BODY_SIZE:
        request = request.clone(client_max_size=max_size)
    try:
        await send_continue(request)
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise BodyTooLarge(f"the body is larger than {max_size // 1024} KiB") from None
    except LateBody as error:
        raise InvalidBody(str(error)) from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidBody("the body does not match its headers") from None


def json_object(body: bytes) -> dict[str, Any]:
    """Returns the object of a JSON body; raises InvalidBody."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidBody("the body is not JSON") from None
    if not isinstance(document, dict):
        raise InvalidBody("the body is not a JSON object")
    return document


def invalid_body(faults: Sequence[tuple[str, str]]) -> InvalidBody:
    """Returns the problem with a body's members and their messages."""
    errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
    return InvalidBody("the request body is invalid", errors=errors)


PROBLEM_TYPE = {Format.JSON: "application/problem+json", Format.XML: "application/problem+xml"}

#: The guide with a section for each code; a URN leads nowhere.
HELP_PATH = "/guides/problems"

#: Seconds to retry after while a dependency is unavailable; the gateway reconnects within 10 s of
#: its recovery.
OUTAGE_RETRY_AFTER = 5
#: The same of a lookup that was late, as the shipped balancer says it.
LATE_RETRY_AFTER = 1


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
            "Content-Type": PROBLEM_TYPE[format_],
            "Cache-Control": "no-store",
            "Link": f'<{HELP_PATH}#{problem.code}>; rel="help"',
            **_problem_headers(problem),
        },
    )


def _problem_headers(problem: Problem) -> dict[str, str]:
    match problem:
        case problems.RateLimited():
            return {"Retry-After": str(problem.retry_after)}
        case problems.ServiceUnavailable():
            return {"Retry-After": str(OUTAGE_RETRY_AFTER)}
        case problems.LookupTimeout():
            return {"Retry-After": str(LATE_RETRY_AFTER)}
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
