"""Browsers of other sites may look companies up (WHATWG Fetch, section 3.3)."""

from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

ALLOWED_METHODS = "GET, HEAD, OPTIONS"

#: Without this list a script sees none of them.
EXPOSED = "ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"

#: Seconds for which a browser need not ask again; Chromium's own limit.
PREFLIGHT_MAX_AGE = "7200"


def cors_headers(origin: str) -> dict[str, str]:
    """What every answer carries for scripts of `origin` (`*`: of any); "" allows none."""
    if not origin:
        return {}
    headers: dict[str, str] = {
        hdrs.ACCESS_CONTROL_ALLOW_ORIGIN: origin,
        hdrs.ACCESS_CONTROL_EXPOSE_HEADERS: EXPOSED,
    }
    return headers if origin == "*" else {**headers, hdrs.VARY: hdrs.ORIGIN}


def options_handler(origin: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Answers what may be asked of a path, for a browser before it asks and for anybody else."""
    headers: dict[str, str] = {hdrs.ALLOW: ALLOWED_METHODS}
    if origin:
        headers |= {
            hdrs.ACCESS_CONTROL_ALLOW_METHODS: ALLOWED_METHODS,
            hdrs.ACCESS_CONTROL_ALLOW_HEADERS: (
                "Authorization, If-None-Match, X-API-Key, X-Request-Id"
            ),
            hdrs.ACCESS_CONTROL_MAX_AGE: PREFLIGHT_MAX_AGE,
        }

    async def options(_request: web.Request) -> web.Response:
        return web.Response(status=204, headers=headers)

    return options
