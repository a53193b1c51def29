"""The registers on a port: one server speaks for all of them."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
from aiohttp import encode_basic_auth, web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from register_samples.server import brreg_routes, cvr_routes
from register_samples.server.answers import json_answer
from register_samples.server.cvr_routes import CvrRoutes
from register_samples.server.directory_routes import DirectoryRoutes
from register_samples.server.faults import (
    BrokenOff,
    Failure,
    Faults,
    ShardFailed,
    Slow,
    TooManyRequests,
)
from register_samples.server.parameters import BadRequest
from register_samples.server.registers import Registers


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and limits of the registers' interfaces."""

    user: str = "sample"
    password: str = "sample"  # noqa: S105 - guards nothing but invented data
    downloads_a_day: int = 3


@dataclass
class Served:
    """A running server: its address, its requests, and its planned faults."""

    url: URL
    registers: Registers
    faults: Faults
    cvr: CvrRoutes
    #: Method and path with the query, in order.
    requests: list[str] = field(default_factory=list)
    #: The User-Agent of each.
    agents: list[str] = field(default_factory=list)
    #: The maximum of concurrent requests so far.
    most_at_once: int = 0

    @property
    def brreg(self) -> URL:
        return self.url / brreg_routes.PREFIX.lstrip("/")

    @property
    def cvr_permanent(self) -> URL:
        return self.url / cvr_routes.PREFIX.lstrip("/")


@asynccontextmanager
async def serving(
    registers: Registers,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    access: Access | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Served]:
    """Serves the registers while the body runs."""
    access = access or Access()
    cvr = CvrRoutes(registers.dk, encode_basic_auth(access.user, access.password), registers.now)
    exports = DirectoryRoutes(
        registers.directory, downloads_a_day=access.downloads_a_day, now=registers.now
    )
    served = Served(URL(), registers, Faults(), cvr)
    app = web.Application(middlewares=[_watch(served), _refuse, _disturb(served.faults)])
    app.add_routes([*brreg_routes.routes(registers.no), *cvr.routes(), *exports.routes()])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
        scheme = "https" if tls else "http"
        served.url = URL.build(scheme=scheme, host=host, port=runner.addresses[0][1])
        yield served
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
        return web.Response(status=400, body=orjson.dumps(body), content_type="application/json")


def _disturb(faults: Faults) -> Middleware:
    @web.middleware
    async def disturb(request: web.Request, handler: Handler) -> web.StreamResponse:
        match faults.next(request.path):
            case TooManyRequests(retry_after):
                headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
                return web.Response(status=429, headers=headers)
            case Failure(status):
                page = "<html><body>It went wrong.</body></html>"
                return web.Response(status=status, text=page, content_type="text/html")
            case Slow(seconds):
                await asyncio.sleep(seconds)
                return await handler(request)
            case BrokenOff() as fault:
                return await _broken_off(request, await handler(request), fault)
            case ShardFailed():
                return _without_a_shard(await handler(request))
            case None:
                return await handler(request)

    return disturb


def _without_a_shard(answer: web.StreamResponse) -> web.StreamResponse:
    """Every second hit of the answer."""
    whole = answer.body if isinstance(answer, web.Response) else None
    if not isinstance(whole, bytes):
        return answer
    content = orjson.loads(whole)
    content["_shards"] |= {"successful": content["_shards"]["successful"] - 1, "failed": 1}
    content["hits"]["hits"] = content["hits"]["hits"][::2]
    return json_answer(content)


async def _broken_off(
    request: web.Request, answer: web.StreamResponse, fault: BrokenOff
) -> web.StreamResponse:
    whole = answer.body if isinstance(answer, web.Response) else None
    if not isinstance(whole, bytes):
        return answer
    part = whole[: int(len(whole) * fault.share)]
    names = ("ETag", "Last-Modified", "Content-Type")
    headers = {name: answer.headers[name] for name in names if name in answer.headers}
    if not fault.told:
        return web.Response(body=part, headers=headers)
    broken = web.StreamResponse(headers={**headers, "Content-Length": str(len(whole))})
    await broken.prepare(request)
    await broken.write(part)
    if request.transport is not None:
        request.transport.close()
    return broken
