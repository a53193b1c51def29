"""The exports of the Peppol Directory: few downloads a day, after a redirect."""

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta

from aiohttp import web

from register_samples.server import parameters
from register_samples.server.answers import conditional
from register_samples.server.directory import Directory

_DAY = timedelta(hours=24)


class DirectoryRoutes:
    def __init__(
        self, directory: Directory, *, downloads_a_day: int, now: Callable[[], datetime]
    ) -> None:
        self._directory = directory
        self._most = downloads_a_day
        self._now = now
        #: Download times of each file by each client address.
        self._downloads: dict[tuple[str, str], deque[datetime]] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/export/{name}", self._export),
            web.get("/stored-exports/{name}", self._stored),
        ]

    async def _export(self, request: web.Request) -> web.StreamResponse:
        parameters.read(request.query, {})
        name = self._name(request)
        known = request.headers.get("If-None-Match") == self._directory.exports[name].etag
        wait = None if known else self._count(request.remote or "", name)
        if wait is not None:
            retry = {"Retry-After": str(int(wait.total_seconds()) + 1)}
            return web.Response(status=429, headers=retry)
        location = request.url.with_path(f"/stored-exports/{name}")
        return web.Response(
            status=302,
            headers={"Location": str(location), "Cache-Control": "max-age=86400"},
        )

    async def _stored(self, request: web.Request) -> web.StreamResponse:
        return conditional(request, self._directory.exports[self._name(request)])

    def _name(self, request: web.Request) -> str:
        name = request.match_info["name"]
        if name not in self._directory.exports:
            raise web.HTTPNotFound
        return name

    def _count(self, address: str, name: str) -> timedelta | None:
        """Counts a download; how long to wait where it is one too many."""
        now = self._now()
        made = self._downloads.setdefault((address, name), deque())
        while made and made[0] <= now - _DAY:
            made.popleft()
        if len(made) >= self._most:
            return made[0] + _DAY - now
        made.append(now)
        return None
