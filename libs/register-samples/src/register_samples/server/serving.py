"""The registers on a port: one server for all of them, its faults, and its command."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from register_samples.server import brreg, cvr, filings, regnskap
from register_samples.server.brreg import NorwegianRegister
from register_samples.server.cvr import DanishRegister
from register_samples.server.filings import FilingRegister
from register_samples.server.messages import BadRequest, Stamps, json_answer
from register_samples.server.peppol import Directory
from register_samples.server.regnskap import NorwegianAccounts


class Fault(Protocol):
    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Returns the faulty answer; `handler` returns the right one."""


@dataclass(frozen=True, slots=True)
class TooManyRequests:
    """429, with Retry-After in seconds if it is given."""

    retry_after: int | None = None

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.Response(status=429, headers=headers)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer with this status and an HTML body, as from a proxy in front of a register."""

    status: int = 500

    async def answer(self, _request: web.Request, _handler: Handler) -> web.StreamResponse:
        page = "<html><body>It went wrong.</body></html>"
        return web.Response(status=self.status, text=page, content_type="text/html")


@dataclass(frozen=True, slots=True)
class Slow:
    """The right answer after a delay."""

    seconds: float

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        await asyncio.sleep(self.seconds)
        return await handler(request)


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The right answer, cut to this share of its bytes.

    It is a whole answer, as from a proxy that lost the rest, unless `told`: then the length is the
    right one and the connection ends before it.
    """

    share: float = 0.5
    told: bool = False

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        answer = await handler(request)
        whole = _body(answer)
        part = whole[: int(len(whole) * self.share)]
        names = ("ETag", "Last-Modified", "Content-Type")
        headers = {name: answer.headers[name] for name in names if name in answer.headers}
        if not self.told:
            return web.Response(body=part, headers=headers)
        broken = web.StreamResponse(headers={**headers, "Content-Length": str(len(whole))})
        await broken.prepare(request)
        await broken.write(part)
        if request.transport is not None:
            request.transport.close()
        return broken


@dataclass(frozen=True, slots=True)
class ShardFailed:
    """An answer of CVR's search with 200 and every second hit, as with a failed shard."""

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        content = orjson.loads(_body(await handler(request)))
        content["_shards"] |= {"successful": content["_shards"]["successful"] - 1, "failed": 1}
        content["hits"]["hits"] = content["hits"]["hits"][::2]
        return json_answer(content)


def _body(answer: web.StreamResponse) -> bytes:
    whole = answer.body if isinstance(answer, web.Response) else None
    if not isinstance(whole, bytes):
        raise TypeError("only an answer with a body can be spoilt")
    return whole


@dataclass
class Faults:
    """The next faults, in order, by the end of the path."""

    _planned: dict[str, deque[Fault]] = field(default_factory=dict)

    def plan(self, path: str, *faults: Fault) -> None:
        """Plans these faults, one for each of the next requests whose path ends with the text."""
        self._planned.setdefault(path, deque()).extend(faults)

    def next(self, path: str) -> Fault | None:
        for ending, faults in self._planned.items():
            if faults and path.endswith(ending):
                return faults.popleft()
        return None

    def clear(self) -> None:
        """Ends all faults."""
        self._planned.clear()

    @property
    def pending(self) -> int:
        """The number of planned faults that have not occurred."""
        return sum(len(faults) for faults in self._planned.values())


#: New companies are counted from 0 again after this many: Denmark has 891,000 sample numbers.
_NEWCOMERS = 500_000


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Registers:
    """The registers; changes by a test take effect in the interfaces immediately."""

    def __init__(
        self,
        *,
        companies: int = 50,
        newcomers: int = 0,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`newcomers` companies are skipped before the first new one."""
        self.now = now
        stamps = Stamps(now)
        self.no = NorwegianRegister(stamps, companies=companies)
        self.no_accounts = NorwegianAccounts(stamps, companies=companies)
        self.dk = DanishRegister(stamps, companies=companies)
        self.dk_filings = FilingRegister(stamps, companies=companies)
        self.directory = Directory(stamps, companies=companies)
        self._next = companies + newcomers % _NEWCOMERS

    def add_companies(self) -> tuple[str, str]:
        """Returns a new company in each register: the Norwegian number and the Danish."""
        index = self._next
        self._next += 1
        return self.no.add_company(index), self.dk.add_company(index)

    def publish(self) -> None:
        """Generates all files again."""
        self.no.publish()
        self.directory.publish()


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
    def norwegian_accounts(self) -> URL:
        return self.url / regnskap.PREFIX.lstrip("/")

    @property
    def cvr_permanent(self) -> URL:
        return self.url / cvr.PREFIX.lstrip("/")

    @property
    def filings(self) -> URL:
        return self.url / filings.PREFIX.lstrip("/")

    @property
    def documents(self) -> URL:
        return self.url / filings.DOCUMENTS.lstrip("/")


@asynccontextmanager
async def serving(
    registers: Registers, *, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    """Serves the registers on this machine while the body runs."""
    served = Served(registers)
    app = web.Application(middlewares=[_watch(served), _refuse, _disturb(served.faults)])
    for register in (
        registers.no,
        registers.no_accounts,
        registers.dk,
        registers.dk_filings,
        registers.directory,
    ):
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
