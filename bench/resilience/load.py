"""The load during the faults: lookups, events, and the receiver of their webhooks."""

import asyncio
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson
import trustme
from aiohttp import web

from bench.resilience.cluster import PROJECT, run
from common.runtime.tasks import background
from register_samples.server.serving import listening

#: Seconds until a client gives up, and for the first event.
_CLIENT_TIMEOUT, _FIRST_EVENT = 10.0, 180.0
_SOURCE = Path(__file__).with_name("source.py")
_MONGO_URL = "mongodb://mongodb-1:27017,mongodb-2:27017,mongodb-3:27017/?replicaSet=rs0"
_CONTAINER = f"{PROJECT}_events"
#: The containers whose image has the driver of MongoDB, and the contracts.
_LOOKUP = (f"project={PROJECT}", "service=lookup")


@dataclass(frozen=True, slots=True)
class Load:
    #: A second.
    lookups: float
    events: float
    #: Of each event.
    webhooks: int

    def __str__(self) -> str:
        return (
            f"{self.lookups:g} lookups a second, {self.events:g} events a second "
            f"to {self.webhooks} webhooks each"
        )


@dataclass(frozen=True, slots=True)
class Lookup:
    #: Seconds by the monotonic clock.
    at: float
    seconds: float
    #: None without a response.
    status: int | None
    #: How often the balancer sent it again.
    repeats: int = 0
    #: True if the response said when to try again.
    may_retry: bool = False
    #: True for a problem document.
    is_problem: bool = False


@dataclass
class Lookups:
    """Sends `rate` lookups a second, without waiting for earlier ones."""

    base_url: str
    key: str
    paths: Sequence[str]
    rate: float
    done: list[Lookup] = field(default_factory=list)

    async def run(self) -> None:
        """Runs until cancelled."""
        async with (
            aiohttp.ClientSession(
                self.base_url,
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=_CLIENT_TIMEOUT),
                headers={"X-API-Key": self.key},
            ) as session,
            asyncio.TaskGroup() as group,
        ):
            start = time.monotonic()
            number = 0
            while True:
                group.create_task(self._look_up(session, self.paths[number % len(self.paths)]))
                number += 1
                await asyncio.sleep(max(0.0, start + number / self.rate - time.monotonic()))

    async def _look_up(self, session: aiohttp.ClientSession, path: str) -> None:
        at, status = time.monotonic(), None
        headers: Mapping[str, str] = {}
        try:
            async with session.get(path) as response:
                await response.read()
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, TimeoutError):
            pass
        repeats = int(headers.get("X-Retries", "0").lstrip("+"))
        seconds = time.monotonic() - at
        is_problem = headers.get("Content-Type", "").startswith("application/problem+json")
        self.done.append(Lookup(at, seconds, status, repeats, "Retry-After" in headers, is_problem))


@dataclass
class Events:
    """Ids of events in the order in which the database had them, with the time of each."""

    at: dict[str, float] = field(default_factory=dict)
    _first: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ids(self) -> list[str]:
        return list(self.at)

    async def read(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            self.at[line.decode().strip()] = time.monotonic()
            self._first.set()
        raise RuntimeError("the events ended")

    async def until_first(self) -> None:
        async with asyncio.timeout(_FIRST_EVENT):
            await self._first.wait()


@asynccontextmanager
async def storing_events(rate: float) -> AsyncIterator[Events]:
    """A container of the cluster puts `rate` events a second into the outbox."""
    container = ("--rm", f"--name={_CONTAINER}", f"--network={PROJECT}_database")
    options = (f"--env=MONGO_URL={_MONGO_URL}", f"--volume={_SOURCE}:/source.py:ro")
    labels = [f"--filter=label=com.docker.compose.{each}" for each in _LOOKUP]
    image, *_ = (await run("docker", "ps", *labels, "--format={{.Image}}")).split()
    command = ("--entrypoint=python", image, "/source.py", str(rate))
    process = await asyncio.create_subprocess_exec(
        "docker", "run", *container, *options, *command, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    events = Events()
    try:
        async with background(events.read(process.stdout)):
            yield events
    finally:
        await run("docker", "rm", "--force", _CONTAINER)
        await process.wait()


@dataclass
class Received:
    """Deliveries by event, path and delivery id."""

    _counts: dict[str, Counter[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    #: Time at which an event reached the last of its webhooks so far.
    completed: dict[str, float] = field(default_factory=dict)

    def add(self, event: str, path: str, delivery_id: str) -> None:
        deliveries = self._counts[event]
        if (path, delivery_id) not in deliveries:
            self.completed[event] = time.monotonic()
        deliveries[path, delivery_id] += 1

    def count(self, events: Sequence[str]) -> int:
        """The number of received deliveries of these events."""
        return sum(len(self._counts[event]) for event in events)

    def repeated(self, events: Sequence[str]) -> int:
        """The number of repeated deliveries of these events."""
        return sum(self._counts[event].total() for event in events) - self.count(events)

    async def until(self, events: Sequence[str], due: int, *, timeout: float) -> None:
        """Waits for `due` deliveries of these events, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self.count(events) < due and time.monotonic() < deadline:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(1)


@asynccontextmanager
async def receiving(authority: trustme.CA, address: str, port: int) -> AsyncIterator[Received]:
    """HTTPS on an address of this machine that containers can reach."""
    received = Received()

    async def receive(request: web.Request) -> web.Response:
        event = orjson.loads(await request.read())["id"]
        received.add(event, request.path, request.headers["X-Delivery-Id"])
        return web.Response(status=204)

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(address).configure_cert(tls)
    app = web.Application()
    app.router.add_post("/{path:.*}", receive)
    async with listening(app, host=address, port=port, tls=tls):
        yield received
