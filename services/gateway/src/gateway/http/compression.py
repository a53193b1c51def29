"""Compression of responses, for clients that accept gzip."""

import asyncio
import zlib
from typing import Final

from aiohttp import hdrs, web

from common.runtime.public_port.conditional import takes_gzip

#: Bytes of a body from which on it is compressed.
SMALLEST: Final = 1024
#: Bytes that are compressed in the loop, in 0.1 ms at most; more are beside it.
INLINE: Final = 64 * 1024

#: Two logarithms, of the window (for zlib, 16 more selects gzip) and of the memory for it. zlib's
#: own defaults need 50 µs to begin, a fifth of a lookup; these need 5, for nearly the same size.
_SMALL: Final = (12 + 16, 5)
_LARGE: Final = (15 + 16, 8)


async def compress(request: web.BaseRequest, response: web.Response) -> None:
    """Compresses the body if that is worth it and the client accepts it."""
    body = response.body
    if (
        not isinstance(body, bytes)
        or len(body) < SMALLEST
        or hdrs.CONTENT_ENCODING in response.headers
        or not takes_gzip(request)
    ):
        return
    if len(body) <= INLINE:
        response.body = _gzip(body, *_SMALL)
    else:
        response.body = await asyncio.to_thread(_gzip, body, *_LARGE)
    response.headers[hdrs.CONTENT_ENCODING] = "gzip"


def _gzip(body: bytes, window: int, memory: int) -> bytes:
    compressor = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, window, memory)
    return compressor.compress(body) + compressor.flush()
