"""Conditional requests, codings, and content that is the same for every client (RFC 9110)."""

import asyncio
import gzip
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.runtime.public_port.connections import SharedResponse

#: The usual spelling; aiohttp's constant is "Etag".
ETAG = "ETag"

_TAG = re.compile(r'(?:W/)?("[!#-~\x80-\uffff]*")')

#: The weight of an acceptable coding: not 0.
_WEIGHT = re.compile(r"1(\.0{0,3})?|0\.(?=0*[1-9])[0-9]{1,3}")

#: Bytes of a body from which on it is compressed.
SMALLEST: Final = 1024
#: Bytes that are compressed in the loop, in 0.1 ms at most; more are compressed in a thread.
INLINE: Final = 64 * 1024

#: Two logarithms, of the window (for zlib, 16 more selects gzip) and of the memory for it. zlib's
#: own defaults need 50 µs to begin, a fifth of a lookup; these need 5, for nearly the same size.
_SMALL: Final = (12 + 16, 5)
_LARGE: Final = (15 + 16, 8)


def if_none_match(request: web.BaseRequest) -> str | None:
    """Returns the values of all If-None-Match headers."""
    if hdrs.IF_NONE_MATCH not in request.headers:
        return None
    return ",".join(request.headers.getall(hdrs.IF_NONE_MATCH))


def etag_matches(entity: str, if_none_match: str | None) -> bool:
    """Returns True if the client already has the representation, by weak comparison."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or entity.removeprefix("W/") in _TAG.findall(if_none_match)


def is_unchanged(request: web.Request, entity: str, modified: datetime) -> bool:
    """Returns True if the client has what was last modified then (RFC 9110, 13.2.2).

    `If-Modified-Since` counts only without `If-None-Match`, and in whole seconds.
    """
    given = if_none_match(request)
    if given is not None:
        return etag_matches(entity, given)
    since = request.if_modified_since
    return since is not None and modified.replace(microsecond=0) <= since


def takes_gzip(request: web.BaseRequest) -> bool:
    """Returns True if the client of a request accepts gzip."""
    accepted = request.headers.getall(hdrs.ACCEPT_ENCODING, ())
    return bool(accepted) and accepts_gzip(",".join(accepted))


def accepts_gzip(accept_encoding: str) -> bool:
    """Returns True if the client accepts gzip; without the header it does not."""
    weights = dict(_weighted(coding) for coding in accept_encoding.lower().split(","))
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", "0")))
    return bool(_WEIGHT.fullmatch(weight))


def _weighted(coding: str) -> tuple[str, str]:
    name, _, parameter = coding.partition(";")
    return name.strip(), parameter.strip().removeprefix("q=") or "1"


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


@dataclass(frozen=True, slots=True)
class _Representation:
    """A representation of the content with its own entity tag (RFC 9110, 8.8.3.3)."""

    body: bytes
    headers: Mapping[str, str]

    def answer(self, request: web.Request) -> web.Response:
        if etag_matches(self.headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=self.headers)
        return SharedResponse(body=self.body, headers=self.headers)


def fixed(body: bytes, headers: Mapping[str, str]) -> Handler:
    """Returns the handler of fixed content; its responses vary by `Accept-Encoding`."""
    tag = sha256(body).hexdigest()[:16]
    plain = _Representation(body, {**headers, ETAG: f'"{tag}"'})
    # Without a timestamp all processes produce the same bytes.
    compressed = _Representation(
        gzip.compress(body, mtime=0),
        {**headers, ETAG: f'"{tag}.gzip"', hdrs.CONTENT_ENCODING: "gzip"},
    )

    async def answer(request: web.Request) -> web.Response:
        return (compressed if takes_gzip(request) else plain).answer(request)

    return answer
