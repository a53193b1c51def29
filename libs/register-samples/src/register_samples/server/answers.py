"""Answers that the registers have in common."""

import orjson
from aiohttp import web

from register_samples.server.snapshots import Snapshot
from register_samples.server.stamps import http_date


def json_answer(content: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, content_type="application/json")


def conditional(request: web.Request, file: Snapshot) -> web.Response:
    """A whole file, or 304 where the client has this one already."""
    headers = {"ETag": file.etag, "Last-Modified": http_date(file.modified)}
    if request.headers.get("If-None-Match") == file.etag:
        return web.Response(status=304, headers=headers)
    return web.Response(body=file.body, headers=headers, content_type=file.content_type)
