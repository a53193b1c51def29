"""Answers to requests that never reach the application."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from common.runtime.public_port.connections import Refuse
from portal.adapters.http.middleware import HEADERS

_TEXTS: Final = {
    HTTPStatus.BAD_REQUEST: "The request cannot be read as HTTP/1.1, or its head exceeds 16 KiB.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too many people are connected. Try again in a moment.",
}


def refusals(new_id: Callable[[], str]) -> Refuse:
    """Refuses with a sentence; `new_id` names the request."""

    def refuse(status: HTTPStatus, _error: BaseException | None) -> web.Response:
        text = _TEXTS.get(status, "An internal error.")
        headers = {**HEADERS, "X-Request-Id": new_id(), hdrs.CACHE_CONTROL: "no-store"}
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers[hdrs.RETRY_AFTER] = "5"
        return web.Response(status=status, text=text, headers=headers)

    return refuse
