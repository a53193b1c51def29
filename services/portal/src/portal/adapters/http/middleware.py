"""Middleware of every request: headers, the session, forms, errors, metrics and one log line."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import structlog
from aiohttp import hdrs, web

from common.runtime import tracing
from common.runtime.public_port.server import allow_body
from company_registry import (
    ApiError,
    CompanyRegistryError,
    CompanyRemoved,
    NoResponse,
    Unauthorized,
)
from portal.adapters.http.context import (
    DEPENDENCIES,
    REQUEST_ID,
    SIGNED_IN,
    TooManyRequests,
    registry_of,
)
from portal.adapters.http.ended_sessions import ENDED_PATH
from portal.adapters.http.forms import read_form, receive_upload, spooled
from portal.adapters.http.pages import error_page, page_without_session, redirect
from portal.adapters.http.sessions import (
    ReadForm,
    add_note,
    is_of_another_site,
    is_own_form,
    sign_out,
    signed_in,
)
from portal.domain.wording import NO_RESPONSE, NOT_UNDERSTOOD, LimitReached, detail

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SIGN_IN_PATH: Final = "/sign-in"
STATIC_PATH: Final = "/static"
#: Of the pages of a file.
CUSTOMERS_PATH: Final = "/customers"
#: Takes a file; the other forms are short.
UPLOAD_PATH: Final = f"{CUSTOMERS_PATH}/upload"
#: Seconds of such a form.
_UPLOAD_TIMEOUT: Final = 120.0

HEADERS: Final = {
    # Scripts and styles come from this host alone, and nothing else does; no page may be framed.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # Hides aiohttp's version.
    hdrs.SERVER: "company-portal",
}

_TITLES: Final[dict[int, str]] = {
    400: "Invalid request",
    403: "Your key may not do this",
    404: "Not found",
    408: "Not received",
    409: "Not possible now",
    410: "No longer kept",
    429: "Too many requests",
    503: "Unavailable for the moment",
    504: "Unavailable for the moment",
}

#: Of requests that the portal itself refuses.
_DETAILS: Final[dict[int, str]] = {
    404: "There is no such page.",
    405: "This page cannot be sent a form.",
    408: "The form did not arrive in time. Send it again.",
    411: "The request does not say how long its form is.",
    413: "The form is too long. A file may have 20 MB.",
    415: "This form is not one of our pages'.",
}

log = structlog.get_logger()


@web.middleware
async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Adds the headers, and records the request."""
    dependencies = request.app[DEPENDENCIES]
    started = dependencies.clock()
    request_id = request[REQUEST_ID] = dependencies.new_id()
    resource = request.match_info.route.resource
    route = "unmatched" if resource is None else resource.canonical
    tracing.REQUEST_ID.set(request_id)
    with tracing.serving(request, route, request_id) as recorded:
        response = await handler(request)
        recorded[tracing.STATUS] = response.status
    if not response.prepared:
        set_headers(request, response)
    seconds = dependencies.clock() - started
    dependencies.metrics.done(route, response.status, seconds)
    log.info(
        "request.done",
        request_id=request[REQUEST_ID],
        method=request.method,
        route=route,
        status=response.status,
        duration_ms=round(seconds * 1000, 3),
    )
    return response


def set_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Headers of every answer."""
    response.headers.update(HEADERS)
    response.headers["X-Request-Id"] = request[REQUEST_ID]
    if request.app[DEPENDENCIES].sessions.is_secure:
        response.headers["Strict-Transport-Security"] = "max-age=31536000"


@web.middleware
async def refuse_other_sites(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses forms of other sites before there is a session that the answer could change."""
    if not is_of_another_site(request):
        return await handler(request)
    title, detail = "Not sent", "Another site sent this form. Nothing was changed."
    return page_without_session(request, HTTPStatus.FORBIDDEN, title, detail)


@web.middleware
async def show_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns exceptions into pages."""
    try:
        return await handler(request)
    except Unauthorized:
        await sign_out(request, request.app[DEPENDENCIES].ended)
        return redirect(f"{SIGN_IN_PATH}?ended=key")
    except ApiError as error:
        status = _status_of(error)
        title = "Removed" if isinstance(error, CompanyRemoved) else _title(status)
        said = detail(error)
        return await error_page(request, status, title, said, request_id=error.request_id or "")
    except NoResponse:
        return await error_page(request, 503, _title(503), NO_RESPONSE)
    except TooManyRequests as limit:
        response = page_without_session(request, limit.status, limit.title, limit.detail)
        response.headers[hdrs.RETRY_AFTER] = str(limit.retry_after)
        return response
    except LimitReached as limit:
        return await error_page(request, limit.status, limit.title, limit.detail)
    except CompanyRegistryError as error:
        log.error("registry.invalid_response", request_id=request[REQUEST_ID], exc_info=error)
        status = HTTPStatus.BAD_GATEWAY
        return await error_page(request, status, "Unexpected answer", NOT_UNDERSTOOD)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        text = _DETAILS.get(error.status, "The request is invalid.")
        return await error_page(request, error.status, _title(error.status), text)
    except Exception as error:
        log.error("request.failed", request_id=request[REQUEST_ID], exc_info=error)
        text = f"An internal error. Its number is {request[REQUEST_ID]}."
        return await error_page(request, 500, "Something went wrong", text)


@web.middleware
async def protect(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Admits signed-in users, and forms of our own pages."""
    if request.path.startswith(f"{STATIC_PATH}/") or request.path == ENDED_PATH:
        return await handler(request)
    dependencies = request.app[DEPENDENCIES]
    found = await signed_in(request, dependencies.sessions, dependencies.ended)
    dependencies.budgets.take(request, None if found is None else found.session)
    if found is not None:
        request[SIGNED_IN] = found
        if request.path == UPLOAD_PATH and request.method == hdrs.METH_POST:
            return await _take_upload(request, handler)
        if request.path.startswith(CUSTOMERS_PATH):
            await _check_key(request)
    elif request.path != SIGN_IN_PATH:
        return _sign_in_first(request)
    return await _take_form(request, handler)


async def _check_key(request: web.Request) -> None:
    # Files in memory need no other request of the API, and a revoked key ends its session.
    try:
        await registry_of(request).me()
    except Unauthorized:
        raise
    except CompanyRegistryError:
        pass  # matching says why it is not possible


async def _take_upload(request: web.Request, handler: Handler) -> web.StreamResponse:
    # The file is closed when its browser has gone, and not by a collection of cycles hours later.
    with (
        request.app[DEPENDENCIES].reader.receiving(request[SIGNED_IN].key),
        spooled() as file,
    ):
        allow_body(request, _UPLOAD_TIMEOUT)
        await _check_key(request)
        limits = request.app[DEPENDENCIES].forms
        receive = partial(receive_upload, limits=limits, file=file)
        return await _take_form(request, handler, receive)


async def _take_form(
    request: web.Request, handler: Handler, read: ReadForm | None = None
) -> web.StreamResponse:
    read = read or partial(read_form, limits=request.app[DEPENDENCIES].forms)
    if request.method == hdrs.METH_POST and not await is_own_form(request, read):
        await add_note(request, "The form had expired. Send it again.", is_error=True)
        return redirect("/" if SIGNED_IN in request else SIGN_IN_PATH)
    return await handler(request)


def _sign_in_first(request: web.Request) -> web.Response:
    # Scripts cannot use a page.
    if request.headers.get(hdrs.ACCEPT) in ("application/json", "text/event-stream"):
        return web.Response(status=HTTPStatus.UNAUTHORIZED, text="Your session has ended.")
    wanted = request.path_qs if request.method == hdrs.METH_GET else "/"
    return redirect(SIGN_IN_PATH if wanted == "/" else f"{SIGN_IN_PATH}?next={quote(wanted)}")


def _status_of(error: ApiError) -> int:
    # Without a code it is the page of a proxy, whose 404 says nothing of a company.
    is_known = error.code or error.status != HTTPStatus.NOT_FOUND
    return error.status if is_known and error.status in _TITLES else HTTPStatus.BAD_GATEWAY


def _title(status: int) -> str:
    return _TITLES.get(status, "Not possible")
