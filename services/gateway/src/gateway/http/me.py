"""The API key of the request, for its holder."""

from datetime import datetime
from typing import Any

import orjson
from aiohttp import web

from gateway.access.keys import ApiKey
from gateway.access.limits import Quota
from gateway.http.bodies import json_response
from gateway.http.context import REQUEST_CONTEXT

ME_PATH = "/api/me"


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
        "created_at": _rfc3339(key.created_at),
        "expires_at": None if key.expires_at is None else _rfc3339(key.expires_at),
        "rate": {
            "count": quota.rate.count,
            "window_seconds": quota.rate.window,
            "remaining": quota.remaining,
            "reset_seconds": quota.reset,
        },
    }


def _rfc3339(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
