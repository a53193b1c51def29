"""The OpenAPI document, and the page that shows it with Swagger UI; each compressed once."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import distribution, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.runtime.public_port.conditional import fixed

#: Nothing from other hosts, nothing inline, no `eval`. Images inside style sheets are data URLs.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_CSS = "text/css; charset=utf-8"
_JAVASCRIPT = "text/javascript; charset=utf-8"

#: Files of this package, by the path that they are served at.
PAGE = {
    "/docs": ("index.html", "text/html; charset=utf-8"),
    "/docs/page.css": ("page.css", _CSS),
    "/docs/page.js": ("page.js", _JAVASCRIPT),
    "/docs/icon.svg": ("icon.svg", "image/svg+xml"),
}

#: Files of Swagger UI in the package offapi, which is not imported: that would read all its 9 MB.
SWAGGER_UI = {
    "/docs/swagger-ui.css": ("offapi/swagger_style.css", _CSS),
    "/docs/swagger-ui.js": ("offapi/swagger_bundle.js", _JAVASCRIPT),
}


def openapi_document() -> dict[str, Any]:
    """Returns the document of `openapi.yaml` with the package's version, in about 0.1 s."""
    text = (files("gateway.http") / "openapi.yaml").read_text()
    document: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    document["info"]["version"] = version("gateway")
    return document


@cache
def _read_document() -> dict[str, Any]:
    return openapi_document()


def query_parameters() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Returns the names of the query parameters of each described operation, by method and path."""
    document = _read_document()
    shared = document["components"]["parameters"]
    return {
        (method.upper(), path): tuple(
            parameter["name"]
            for parameter in (
                shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
                for each in operation.get("parameters", ())
            )
            if parameter["in"] == "query"
        )
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


@cache
def documentation() -> Mapping[str, Handler]:
    """Returns handlers by path; their responses are compressed once per process."""
    own = files("gateway.http") / "docs"
    library = distribution("offapi")
    return {
        # Relative, so that it works behind any path prefix of a proxy.
        "/": _redirect("docs"),
        "/openapi.json": fixed_page(orjson.dumps(_read_document()), "application/json"),
        **{
            path: fixed_page((own / name).read_bytes(), type_)
            for path, (name, type_) in PAGE.items()
        },
        **{
            path: fixed_page(Path(str(library.locate_file(name))).read_bytes(), type_)
            for path, (name, type_) in SWAGGER_UI.items()
        },
    }


def fixed_page(body: bytes, media_type: str) -> Handler:
    """Returns the handler of a page that loads nothing from elsewhere and runs nothing inline."""
    return fixed(
        body,
        {
            hdrs.CONTENT_TYPE: media_type,
            hdrs.CACHE_CONTROL: "public, max-age=300",
            hdrs.CONTENT_SECURITY_POLICY: CONTENT_SECURITY_POLICY,
            hdrs.REFERRER_POLICY: "no-referrer",
        },
    )


def _redirect(location: str) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={hdrs.LOCATION: location})

    return answer
