"""The documentation page, its parts and the OpenAPI document, each compressed once."""

import gzip
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

import orjson
from aiohttp import hdrs, web

from gateway.adapters.http.context import ETAG, if_none_match
from gateway.adapters.http.docs.page import page
from gateway.adapters.http.openapi.document import openapi_document
from gateway.domain.conditional import accepts_gzip, etag_matches

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: No external, inline or framed content.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

PARTS = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def documentation() -> dict[str, Handler]:
    """Handlers by path; their responses are rendered once, here."""
    document = openapi_document()
    folder = files("gateway.adapters.http.docs")
    parts = {
        f"/docs/{name}": _fixed((folder / name).read_bytes(), media_type)
        for name, media_type in PARTS.items()
    }
    return {
        # Relative, so that it works behind any path prefix of a proxy.
        "/": _redirect("docs"),
        "/docs": _fixed(page(document).encode(), "text/html; charset=utf-8"),
        **parts,
        "/openapi.json": _fixed(orjson.dumps(document), "application/json"),
    }


@dataclass(frozen=True, slots=True)
class _Representation:
    """A representation of a document with its own entity tag (RFC 9110, 8.8.3.3)."""

    body: bytes
    headers: dict[str, str]

    def answer(self, request: web.Request) -> web.Response:
        if etag_matches(self.headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=self.headers)
        return web.Response(body=self.body, headers=self.headers)


def _fixed(body: bytes, media_type: str) -> Handler:
    headers: dict[str, str] = {
        hdrs.CONTENT_TYPE: media_type,
        hdrs.CACHE_CONTROL: "public, max-age=300",
        hdrs.CONTENT_SECURITY_POLICY: CONTENT_SECURITY_POLICY,
        hdrs.REFERRER_POLICY: "no-referrer",
    }
    tag = sha256(body).hexdigest()[:16]
    plain = _Representation(body, {**headers, ETAG: f'"{tag}"'})
    # Without a timestamp all processes produce the same bytes.
    compressed = _Representation(
        gzip.compress(body, mtime=0),
        {**headers, ETAG: f'"{tag}.gzip"', hdrs.CONTENT_ENCODING: "gzip"},
    )

    async def answer(request: web.Request) -> web.Response:
        accepted = ",".join(request.headers.getall(hdrs.ACCEPT_ENCODING, ()))
        return (compressed if accepts_gzip(accepted) else plain).answer(request)

    return answer


def _redirect(location: str) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={hdrs.LOCATION: location})

    return answer
