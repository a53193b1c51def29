"""Bodies of requests, and of responses in JSON."""

from aiohttp import hdrs, web

from common.runtime.public_port.bodies import LateBody, send_continue
from gateway.problems import InvalidBody, UnsupportedMediaType

JSON = "application/json"

#: `Cache-Control` of what is the owner's only, or unlikely to be requested twice.
NO_STORE = "no-store"
#: `Cache-Control` of what is the same for every client, and changes with a release.
PUBLIC = "public, max-age=300"


def json_response(body: bytes, *, cache_control: str = NO_STORE) -> web.Response:
    headers: dict[str, str] = {hdrs.CONTENT_TYPE: JSON, hdrs.CACHE_CONTROL: cache_control}
    return web.Response(body=body, headers=headers)


async def json_body(request: web.Request) -> bytes:
    """A JSON body, not parsed; raises UnsupportedMediaType or as `body_of` does."""
    if request.content_type != JSON and request.can_read_body:
        raise UnsupportedMediaType(f"send the body as Content-Type: {JSON}")
    return await body_of(request)


async def body_of(request: web.Request) -> bytes:
    """The whole body; raises InvalidBody when it is late or does not match its headers."""
    try:
        await send_continue(request)
        return await request.read()
    except LateBody as error:
        raise InvalidBody(str(error)) from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidBody("the body does not match its headers") from None
