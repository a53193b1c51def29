"""Bodies of requests."""

from http import HTTPStatus

from aiohttp import HttpVersion11, web

#: True if the client sends the body only after `100 Continue`.
CONTINUE_EXPECTED = web.RequestKey("continue_expected", bool)


class LateBody(web.RequestPayloadError):
    """The body did not arrive in time."""


async def send_continue(request: web.BaseRequest) -> None:
    """Requests a body that the client withholds until then (RFC 9110, 10.1.1)."""
    if request.get(CONTINUE_EXPECTED) and request.version >= HttpVersion11:
        status = HTTPStatus.CONTINUE
        await request.writer.write(b"HTTP/1.1 %d %b\r\n\r\n" % (status, status.phrase.encode()))
        request.writer.output_size = 0
