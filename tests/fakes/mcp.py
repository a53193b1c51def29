"""The MCP server over real HTTP, in front of an API that answers from a table."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from company_registry.mcp import Api, Limits, connections, mcp_server
from company_registry.mcp.port import Port, http_server
from company_registry.mcp.server import http_app
from tests.builders.accounts import accounts_of
from tests.builders.answers import a_found_company, a_page, a_problem, a_summary, an_event

DK = a_found_company(match={"type": "name", "score": 95.5})
NO = a_found_company(
    country="no", vat="310345679", name="Alfa AS", match={"type": "name", "score": 80}
)
LIST = {
    "id": "wl_1",
    "name": "Customers",
    "size": 1,
    "created_at": "2026-03-02T12:00:00Z",
    "updated_at": "2026-03-02T12:00:00Z",
}
HISTORY = {
    "history": [{"time": "1999-11-15", "dated": True, "type": "company.created"}],
    "known_from": None,
    "cursor": None,
}
ACCOUNTS = {
    "annual_accounts": [
        accounts_of(
            profit="-400000",
            tax="7",
            audit={"type": "audit", "opinion": "qualified"},
            documents={"pdf": "http://documents.example/a.pdf"},
        ).model_dump(mode="json"),
        accounts_of(scope="group", revenue="12345678").model_dump(mode="json"),
        *(accounts_of(year).model_dump(mode="json") for year in (2024, 2023, 2022)),
    ],
    "accounts_state": "ok",
    "cursor": None,
}
CHANGE = {"added": 1, "present": 0, "removed": 0, "size": 1, "unknown": [], "invalid": []}
EVENT = an_event(
    type="company.updated",
    country="dk",
    vat="12345674",
    revision=2,
    data={"company": DK, "changes": [{"field": "name", "old": "Beta ApS", "new": "Alfa ApS"}]},
)


def a_link(owner: str, owned: str, share: str | None, **fields: Any) -> dict[str, Any]:
    interval = None if share is None else {"min": share, "max": share}
    return {"owner": owner, "owned": owned, "share": interval, "circle": False, **fields}


PERSON = {"name": "Anna Testesen", "type": "person", "vat": None}
#: A person owns a company that owns Alfa, which has a subsidiary.
GROUP: Mapping[str, Any] = {
    "country": "dk",
    "vat": "12345674",
    "companies": [
        {"vat": "12345674", "name": "Alfa ApS", "status": "active", "level": 0},
        {"vat": "12345682", "name": "Beta ApS", "status": "bankrupt", "level": -1},
        {"vat": "12345755", "name": "Gamma ApS", "status": "ended", "level": 1},
    ],
    "holders": [{"id": "12345682/0", **PERSON}],
    "links": [
        a_link("12345682", "12345674", "50"),
        a_link("12345682/0", "12345682", "90", role_text="EJER"),
        a_link("12345674", "12345755", None),
    ],
    "ultimate_owners": [{"owner": "12345682/0", **PERSON, "share": {"min": "45", "max": "45"}}],
    "truncated": False,
    "shareholders_known": True,
}


def _search(request: web.Request, _body: Any) -> dict[str, Any]:
    return DK if request.query["country"] == "dk" else NO


def _batch(_request: web.Request, body: Any) -> dict[str, Any]:
    found = {"12345674": {"company": a_found_company()}}
    missing = {"problem": a_problem("company_not_found", 404)}
    malformed = {"problem": a_problem("invalid_parameter", 400, "vat: it is 8 digits")}
    return {
        "results": [
            found.get(one.get("search", ""), malformed if "vat" in one else missing)
            for one in body["lookups"]
        ]
    }


def _match(_request: web.Request, body: Any) -> dict[str, Any]:
    candidate = {"country": "dk", "vat": "12345674", "name": "Alfa ApS", "status": "active"}
    matched = {"decision": "match", "candidates": [{**candidate, "score": 0.98}]}
    none = {"decision": "none", "candidates": [], "reason": "not_found"}
    return {"results": [matched if "name" in one else none for one in body["records"]]}


def _find(request: web.Request, _body: Any) -> dict[str, Any]:
    counts = {"municipality": [{"value": "0301", "text": "OSLO", "count": 2}]}
    page = {"companies": [DK], "total": 21, "cursor": "next"}
    return page | ({"facets": counts} if "facets" in request.query else {})


#: Answers by method and path.
USUAL: Mapping[tuple[str, str], Callable[[web.Request, Any], Any]] = {
    ("GET", "/api"): _search,
    ("GET", "/api/vat"): lambda _request, _body: DK,
    ("GET", "/api/suggest"): lambda _request, _body: {"suggestions": [a_summary()]},
    ("GET", "/api/companies"): _find,
    ("GET", "/api/companies/dk/12345674/history"): lambda _request, _body: HISTORY,
    ("GET", "/api/companies/dk/12345674/accounts"): lambda _request, _body: ACCOUNTS,
    ("GET", "/api/companies/dk/12345674/group"): lambda _request, _body: GROUP,
    ("POST", "/api/batch"): _batch,
    ("POST", "/api/match"): _match,
    ("GET", "/api/events"): lambda _request, _body: a_page(EVENT, cursor="c2"),
    ("GET", "/api/watchlists"): lambda _request, _body: {"watchlists": [LIST]},
    ("POST", "/api/watchlists"): lambda _request, body: {**LIST, **body, "id": "wl_2"},
    ("GET", "/api/watchlists/*/companies"): lambda _request, _body: {
        "companies": ["dk:12345674"],
        "cursor": None,
    },
    ("PATCH", "/api/watchlists/*/companies"): lambda _request, _body: CHANGE,
}


@dataclass
class Service:
    """An API whose answers can be replaced, refused, or held until the client gives up."""

    url: str = ""
    #: By path: a document, or a function of the request.
    answers: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    is_held: bool = False
    held: asyncio.Event = field(default_factory=asyncio.Event)
    abandoned: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.requests.append(request)
        self.bodies.append(body)
        if self.is_held:
            self.held.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.abandoned.set()
        answer = self.answers.get(request.path)
        if answer is None:
            answer = self._usual(request, body)
        elif callable(answer):
            answer = answer(request)
        if isinstance(answer, str):
            return web.Response(text=answer)
        status = answer["status"] if "code" in answer else 200
        return web.json_response(answer, status=status, headers=self.headers)

    def _usual(self, request: web.Request, body: Any) -> Any:
        path = re.sub("wl_[0-9]", "*", request.path)
        if path.startswith("/guides/"):
            return f"# {path}"
        answer = USUAL.get((request.method, path))
        if answer is None:
            raise web.HTTPNotFound
        return answer(request, body)


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    """Yields an API that listens."""
    running = Service()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", running.handle)
    async with TestServer(application) as server:
        running.url = str(server.make_url("/")).rstrip("/")
        yield running


@asynccontextmanager
async def served(
    url: str,
    hosts: tuple[str, ...] = (),
    *,
    limits: Limits = Limits(),  # noqa: B008 (immutable)
    **options: Any,
) -> AsyncIterator[str]:
    """Yields the URL of an MCP server over HTTP for an API."""
    async with connections(url) as shared:
        api = Api(url, shared, **options)
        app = http_app(mcp_server(api), hosts, limits=limits, known=api.known)
        server = http_server(app, "127.0.0.1", 0, Port(limits.connections, limits.head_timeout))
        # asyncio sends at once only where it knows that the protocol is TCP.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        started = asyncio.Event()
        startup = server.startup

        async def start(sockets: Any = None) -> None:
            await startup(sockets)
            started.set()

        server.startup = start  # type: ignore[method-assign]
        running = asyncio.create_task(server.serve(sockets=[listening]))
        await started.wait()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def agent(url: str, key: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    """Yields a client of an MCP server over HTTP."""
    headers = None if key is None else {"Authorization": f"Bearer {key}"}
    async with create_mcp_http_client(headers) as connections:
        transport = streamable_http_client(url, http_client=connections)
        async with Client(transport, mode=mode) as client:
            yield client
