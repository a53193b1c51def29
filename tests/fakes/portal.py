"""A portal over an API whose responses a test sets."""

import asyncio
import io
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any, Final

import httpx
from aiohttp import ClientResponse, CookieJar, FormData, web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from common.runtime.public_port.rates import Rate, RateLimiter
from portal.adapters.http.application import application, refusals
from portal.adapters.http.context import (
    Budgets,
    Dependencies,
    FormLimits,
    HttpMetrics,
    Links,
    LiveReaders,
    Registries,
)
from portal.adapters.http.ended_sessions import EndedSessions, Replicas
from portal.adapters.http.sessions import SessionPolicy, ended_sessions
from portal.adapters.reading import Reader
from portal.adapters.spreadsheets import Spreadsheets
from portal.adapters.uploads import Uploads
from tests.fakes.public_server import PublicServer

KEY: Final = "id.secret"
OTHER_KEY: Final = "other.secret"
SESSION_KEY: Final = "c2Vzc2lvbi1rZXktb2YtMzItYnl0ZXMtZm9yLXRlc3Q="

_NOW: Final = {"Retry-After": "0"}
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')

#: The time of the pages: five minutes after that of the documents.
NOW: Final = datetime(2026, 3, 2, 12, 5, tzinfo=UTC)

ME: Final = {
    "key_id": "id",
    "name": "tests",
    "owner": "acme",
    "scopes": ["lookup", "webhooks", "events"],
    "created_at": "2026-03-02T12:00:00Z",
    "expires_at": None,
    "rate": {"count": 1200, "window_seconds": 60, "remaining": 1199, "reset_seconds": 60},
}


@dataclass
class Api:
    """The public API: the answer to each path, or `POST <path>`, and the requests that came."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)
    #: Parts of the query strings of all of them.
    queries: list[str] = field(default_factory=list)
    #: Paths whose next request is beyond the rate limit of a window that has just ended.
    limited: set[str] = field(default_factory=set)
    #: Paths that are not answered.
    held: set[str] = field(default_factory=set)
    #: Headers of the answers to a path.
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Bodies of the requests that had one.
    bodies: list[Any] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        self.queries += request.query_string.split("&")
        self.requests.append((request.method, request.path, request.headers))
        if request.can_read_body:
            self.bodies.append(await request.json())
        if request.headers.get("Authorization") not in (f"Bearer {KEY}", f"Bearer {OTHER_KEY}"):
            return _problem(401, "unauthorized")
        if request.path in self.held:
            await asyncio.Event().wait()
        if request.path in self.limited:
            self.limited.remove(request.path)
            return web.json_response({"code": "rate_limited"}, status=429, headers=_NOW)
        by_method = self.answers.get(f"{request.method} {request.path}")
        status, body = by_method or self.answers.get(request.path, (404, None))
        if body is None:
            return _problem(404, "not_found")
        return web.json_response(body, status=status, headers=self.headers.get(request.path))

    def give(self, path: str, body: Any, status: int = 200) -> None:
        self.answers[path] = (status, body)

    def fail(self, path: str, status: int, code: str, **members: Any) -> None:
        self.give(path, {"code": code, "detail": f"it is {code}", **members}, status)


def _problem(status: int, code: str) -> web.Response:
    return web.json_response({"code": code, "detail": f"it is {code}"}, status=status)


@dataclass
class Portal:
    """A browser without scripts in front of the portal."""

    client: TestClient[web.Request, web.Application]
    api: Api
    uploads: Uploads
    ended: EndedSessions

    async def get(self, path: str, **options: Any) -> ClientResponse:
        return await self.client.get(path, allow_redirects=False, **options)

    async def shown(self, path: str) -> str:
        """The text of a page."""
        return await (await self.get(path)).text()

    async def post(
        self, path: str, fields: Mapping[str, str] | None = None, **options: Any
    ) -> ClientResponse:
        """Sends a form as our pages do, with their token."""
        form = {"csrf": await self.token(), **(fields or {})}
        return await self.client.post(path, data=form, allow_redirects=False, **options)

    async def token(self) -> str:
        page = await self.client.get("/")
        found = _TOKEN.search(await page.text())
        assert found is not None
        return found[1]

    async def upload(self, content: bytes | str, name: str = "kunder.csv") -> ClientResponse:
        """Sends a file of customers."""
        form = FormData()
        form.add_field("csrf", await self.token())
        data = io.BytesIO(content.encode() if isinstance(content, str) else content)
        form.add_field("file", data, filename=name, content_type="application/octet-stream")
        return await self.client.post("/customers/upload", data=form, allow_redirects=False)

    async def sign_in(self, key: str = KEY, **fields: str) -> ClientResponse:
        return await self.post("/sign-in", {"key": key, **fields})


@asynccontextmanager
async def portal(
    *,
    lifetime: timedelta = timedelta(hours=1),
    is_secure: bool = False,
    timeout: float = 5,
    live_readers: int = 5,
    live_readers_per_key: int = 5,
    session_keys: str = SESSION_KEY,
    body_timeout: float = 10,
    file_idle_timeout: float = 1800,
    peers: str = "",
    session_rate: Rate = Rate(10_000, 60),  # noqa: B008 (immutable)
    address_rate: Rate = Rate(10_000, 60),  # noqa: B008 (immutable)
    links: Links = Links(),  # noqa: B008 (immutable)
    registry_url: str = "",
) -> AsyncIterator[Portal]:
    """A portal for the body's time; `registry_url` is of an API in place of the fake one."""
    api = Api({"/api/me": (200, ME), "/api/event-types": (200, {"event_types": []})})
    api.give("/api/watchlists", {"watchlists": []})
    api.give("/api/webhooks", {"webhooks": []})
    api.give("/api/registers", {"sources": []})
    upstream = web.Application()
    upstream.router.add_route("*", "/{path:.*}", api.handle)
    metrics = HttpMetrics(CollectorRegistry())
    async with TestServer(upstream) as server, httpx.AsyncClient() as http:
        sessions = SessionPolicy(
            keys=SecretStr(session_keys),
            is_secure=is_secure,
            idle_timeout=timedelta(minutes=30),
            lifetime=lifetime,
        )
        ended = ended_sessions(sessions, now=lambda: 0.0)
        dependencies = Dependencies(
            registries=Registries(
                registry_url or str(server.make_url("")).rstrip("/"), http, timeout=timeout
            ),
            sessions=sessions,
            ended=ended,
            replicas=Replicas(ended, http, peers),
            budgets=Budgets(
                session=RateLimiter("session", session_rate, clock=lambda: 0.0),
                address=RateLimiter("address", address_rate, clock=lambda: 0.0),
                trusted_proxies=(ip_network("127.0.0.0/8"),),
                metrics=metrics,
            ),
            forms=FormLimits(),
            live=LiveReaders(live_readers, live_readers_per_key, metrics),
            spreadsheets=Spreadsheets(),
            reader=Reader(lambda: 0.0),
            uploads=Uploads(
                metrics.customer_files, clock=lambda: 0.0, idle_timeout=file_idle_timeout
            ),
            metrics=metrics,
            links=links,
            clock=lambda: 0.0,
            now=lambda: NOW,
            new_id=lambda: "request-1",
        )
        # The jar takes cookies of an address, and sends none that need HTTPS.
        jar = CookieJar(unsafe=True)
        server_of_pages = PublicServer(
            application(dependencies),
            refusals(dependencies.new_id),
            handler_cancellation=True,
            body_timeout=body_timeout,
        )
        async with TestClient(server_of_pages, cookie_jar=jar) as client:
            yield Portal(client, api, dependencies.uploads, ended)
