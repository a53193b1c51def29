"""Responses: their bodies and headers."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.runtime.public_port.reading import LateBody, send_continue
from gateway.problems import BodyTooLarge, InvalidBody, UnsupportedMediaType

REQUEST_ID = "X-Request-Id"

#: Headers of every answer. The first hides aiohttp's version.
CONSTANT_HEADERS = {hdrs.SERVER: "company-lookup", "X-Content-Type-Options": "nosniff"}

ALLOWED_METHODS = "GET, HEAD, OPTIONS"
#: Of a path that also takes forms.
FORM_METHODS = "GET, HEAD, OPTIONS, POST"

#: Response headers exposed to scripts.
EXPOSED = "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"

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


def options_handler(origin: str, methods: str = ALLOWED_METHODS) -> Handler:
    """Returns the handler of OPTIONS, including a browser's preflight."""
    headers: dict[str, str] = {hdrs.ALLOW: methods}
    if origin:
        headers |= {
            hdrs.ACCESS_CONTROL_ALLOW_METHODS: methods,
            hdrs.ACCESS_CONTROL_ALLOW_HEADERS: (
                "Authorization, If-None-Match, traceparent, tracestate, X-API-Key, X-Request-Id"
            ),
            hdrs.ACCESS_CONTROL_MAX_AGE: PREFLIGHT_MAX_AGE,
        }

    async def options(_request: web.Request) -> web.Response:
        return web.Response(status=204, headers=headers)

    return options


def varying(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """Returns the headers of answers that also depend on the request header `name`."""
    names = [headers[hdrs.VARY], name] if hdrs.VARY in headers else [name]
    return {**headers, hdrs.VARY: ", ".join(names)}


JSON = "application/json"

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
