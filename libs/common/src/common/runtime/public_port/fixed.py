"""Content that is the same for every client, compressed once for all of them."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.runtime.public_port.conditional import ETAG, etag_matches, if_none_match, takes_gzip
from common.runtime.public_port.sending import SharedResponse


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
