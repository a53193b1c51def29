"""Context of a request, and `/api/me`, which shows it."""

from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import hdrs, web

from common.contracts.events import rfc3339
from gateway.access.keys import ApiKey
from gateway.access.limits import Quota
from gateway.http.responses import json_response
from gateway.problems import Unauthorized

ME_PATH = "/api/me"


@dataclass(slots=True)
class RequestContext:
    """Context of an admitted request."""

    request_id: str
    #: The remaining quota of the client.
    quota: Quota
    #: The verified key; None in anonymous requests.
    key: ApiKey | None = None
    #: The requested search, once the query is read.
    search_type: str = "none"

    @property
    def required_key(self) -> ApiKey:
        """The key, of a route that needs one."""
        if self.key is None:
            raise Unauthorized("an API key is needed")
        return self.key


REQUEST_CONTEXT = web.RequestKey("request_context", RequestContext)


def parameters_of(request: web.BaseRequest) -> dict[str, list[str]]:
    """The query string's parameters, each with all its values."""
    return {name: request.query.getall(name) for name in request.query}


def accept_of(request: web.BaseRequest) -> str:
    """The values of all Accept headers."""
    return ",".join(request.headers.getall(hdrs.ACCEPT, ()))


async def show_key(request: web.Request) -> web.Response:
    """Handles `GET /api/me`; the request counts like any other."""
    context = request[REQUEST_CONTEXT]
    return json_response(orjson.dumps(_document(context.required_key, context.quota)))


def _document(key: ApiKey, quota: Quota) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "owner": key.owner,
        "scopes": sorted(key.scopes),
        "created_at": rfc3339(key.created_at),
        "expires_at": None if key.expires_at is None else rfc3339(key.expires_at),
        "rate": {
            "count": quota.rate.count,
            "window_seconds": quota.rate.window,
            "remaining": quota.remaining,
            "reset_seconds": quota.reset,
        },
    }
