"""Headers of answers: those of all of them, and CORS (WHATWG Fetch, section 3.3)."""

from collections.abc import Mapping

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

REQUEST_ID = "X-Request-Id"

#: Headers of every answer. The first hides aiohttp's version.
CONSTANT_HEADERS = {hdrs.SERVER: "company-lookup", "X-Content-Type-Options": "nosniff"}

ALLOWED_METHODS = "GET, HEAD, OPTIONS"

#: Response headers exposed to scripts.
EXPOSED = "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"

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


def options_handler(origin: str) -> Handler:
    """Handler of OPTIONS, including a browser's preflight."""
    headers: dict[str, str] = {hdrs.ALLOW: ALLOWED_METHODS}
    if origin:
        headers |= {
            hdrs.ACCESS_CONTROL_ALLOW_METHODS: ALLOWED_METHODS,
            hdrs.ACCESS_CONTROL_ALLOW_HEADERS: (
                "Authorization, If-None-Match, traceparent, tracestate, X-API-Key, X-Request-Id"
            ),
            hdrs.ACCESS_CONTROL_MAX_AGE: PREFLIGHT_MAX_AGE,
        }

    async def options(_request: web.Request) -> web.Response:
        return web.Response(status=204, headers=headers)

    return options


def varying(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """The headers of answers that also depend on the request header `name`."""
    names = [headers[hdrs.VARY], name] if hdrs.VARY in headers else [name]
    return {**headers, hdrs.VARY: ", ".join(names)}
