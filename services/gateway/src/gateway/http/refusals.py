"""Answers to requests that never reach the application."""

from collections.abc import Callable
from http import HTTPStatus

from aiohttp import web
from aiohttp.http_exceptions import InvalidURLError

from common.runtime.public_port.limits import Refuse
from gateway.http.formats import Format
from gateway.http.middleware import CONSTANT_HEADERS, REQUEST_ID
from gateway.http.problem_responses import problem_response
from gateway.problems import (
    InternalError,
    InvalidBody,
    InvalidParameter,
    Problem,
    ServiceUnavailable,
)


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
        return InvalidParameter(
            "the URL must be ASCII: percent-encode other characters (å is %C3%A5)"
        )
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return ServiceUnavailable("too many connections; retry later")
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return InvalidBody("the request cannot be read as HTTP/1.1, or its head exceeds 16 KiB")
    return InternalError()
