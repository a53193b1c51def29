"""Bodies of requests, and of responses in JSON."""

import asyncio
from http import HTTPStatus

from aiohttp import HttpVersion11, hdrs, web

from gateway.domain.problems import InvalidBody, UnsupportedMediaType

JSON = "application/json"

#: `Cache-Control` of what is the owner's only, or unlikely to be requested twice.
NO_STORE = "no-store"
#: `Cache-Control` of what is the same for every client, and changes with a release.
PUBLIC = "public, max-age=300"

#: Seconds for a whole body to arrive.
BODY_TIMEOUT = 10.0

#: True if the client sends the body only after `100 Continue`.
CONTINUE_EXPECTED = web.RequestKey("continue_expected", bool)


def json_response(body: bytes, *, cache_control: str = NO_STORE) -> web.Response:
    headers: dict[str, str] = {hdrs.CONTENT_TYPE: JSON, hdrs.CACHE_CONTROL: cache_control}
    return web.Response(body=body, headers=headers)


async def json_body(request: web.Request, *, timeout: float = BODY_TIMEOUT) -> bytes:
    """A JSON body, not parsed; raises UnsupportedMediaType or as `body_of` does."""
    if request.content_type != JSON and request.can_read_body:
        raise UnsupportedMediaType(f"send the body as Content-Type: {JSON}")
    return await body_of(request, timeout=timeout)


async def body_of(request: web.Request, *, timeout: float = BODY_TIMEOUT) -> bytes:
    """The whole body; raises InvalidBody when it is late or does not match its headers."""
    try:
        async with asyncio.timeout(timeout):
            await _send_continue(request)
            return await request.read()
    except TimeoutError:
        raise InvalidBody(f"the body did not arrive within {timeout:g} s") from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidBody("the body does not match its headers") from None


async def _send_continue(request: web.Request) -> None:
    """Requests a body that the client withholds until then (RFC 9110, 10.1.1)."""
    if request.get(CONTINUE_EXPECTED) and request.version >= HttpVersion11:
        status = HTTPStatus.CONTINUE
        await request.writer.write(b"HTTP/1.1 %d %b\r\n\r\n" % (status, status.phrase.encode()))
        request.writer.output_size = 0
