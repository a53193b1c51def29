"""The registers on a port: one server for all of them."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from register_samples.server import brreg, cvr
from register_samples.server.faults import Faults
from register_samples.server.messages import BadRequest, json_answer
from register_samples.server.registers import Registers


@dataclass
class Served:
    """A running server: its address, its requests, and its planned faults."""

    registers: Registers
    url: URL = field(default_factory=URL)
    faults: Faults = field(default_factory=Faults)
    #: Method and path with the query, in order.
    requests: list[str] = field(default_factory=list)
    #: The User-Agent of each.
    agents: list[str] = field(default_factory=list)
    #: The maximum of concurrent requests so far.
    most_at_once: int = 0

    @property
    def brreg(self) -> URL:
        return self.url / brreg.PREFIX.lstrip("/")

    @property
    def cvr_permanent(self) -> URL:
        return self.url / cvr.PREFIX.lstrip("/")


@asynccontextmanager
async def serving(
    registers: Registers, *, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    """Serves the registers on this machine while the body runs."""
    served = Served(registers)
    app = web.Application(middlewares=[_watch(served), _refuse, _disturb(served.faults)])
    for register in (registers.no, registers.dk, registers.directory):
        app.add_routes(register.routes())
    async with listening(app, port=port, tls=tls) as served.url:
        yield served


@asynccontextmanager
async def listening(
    app: web.Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[URL]:
    """Serves an application; yields its address, on a free port unless one is given."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
        scheme = "https" if tls else "http"
        yield URL.build(scheme=scheme, host=host, port=runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _watch(served: Served) -> Middleware:
    under_way = 0

    @web.middleware
    async def watch(request: web.Request, handler: Handler) -> web.StreamResponse:
        nonlocal under_way
        served.requests.append(f"{request.method} {request.path_qs}")
        served.agents.append(request.headers.get("User-Agent", ""))
        under_way += 1
        served.most_at_once = max(served.most_at_once, under_way)
        try:
            return await handler(request)
        finally:
            under_way -= 1

    return watch


@web.middleware
async def _refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadRequest as error:
        body = {"status": 400, "feil": "Bad Request", "feilmelding": str(error)}
        return json_answer(body, status=400)


def _disturb(faults: Faults) -> Middleware:
    @web.middleware
    async def disturb(request: web.Request, handler: Handler) -> web.StreamResponse:
        fault = faults.next(request.path)
        return await (handler(request) if fault is None else fault.answer(request, handler))

    return disturb
