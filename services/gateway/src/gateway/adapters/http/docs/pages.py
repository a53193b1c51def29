"""What is served beside the lookups: the documentation page, its parts and the OpenAPI document."""

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files

import orjson
from aiohttp import hdrs, web

from gateway.adapters.http.docs.page import page
from gateway.adapters.http.openapi.document import openapi_document

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: Nothing from elsewhere, nothing inline, not in a frame.
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
    """The handlers by path; everything they answer with is made here, once."""
    document = openapi_document()
    folder = files("gateway.adapters.http.docs")
    parts = {
        f"/docs/{name}": _fixed((folder / name).read_bytes(), media_type)
        for name, media_type in PARTS.items()
    }
    return {
        # Relative, so that it leads to the right place behind any prefix of a proxy.
        "/": _redirect("docs"),
        "/docs": _fixed(page(document).encode(), "text/html; charset=utf-8"),
        **parts,
        "/openapi.json": _fixed(orjson.dumps(document), "application/json"),
    }


def _fixed(body: bytes, media_type: str) -> Handler:
    headers: Mapping[str, str] = {
        hdrs.CONTENT_TYPE: media_type,
        hdrs.CACHE_CONTROL: "public, max-age=300",
        hdrs.CONTENT_SECURITY_POLICY: CONTENT_SECURITY_POLICY,
        hdrs.REFERRER_POLICY: "no-referrer",
    }

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers=headers)

    return answer


def _redirect(location: str) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={hdrs.LOCATION: location})

    return answer
