"""Receives the webhooks of a run, and counts each delivery by its id."""

import asyncio
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import trustme
from aiohttp import web


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

    def came(self, events: Sequence[str]) -> int:
        """The number of received deliveries of these events."""
        return sum(len(self._counts[event]) for event in events)

    def repeated(self, events: Sequence[str]) -> int:
        """The number of repeated deliveries of these events."""
        return sum(self._counts[event].total() for event in events) - self.came(events)

    async def until(self, events: Sequence[str], due: int, *, limit: float) -> None:
        """Waits for `due` deliveries of these events, at most `limit` seconds."""
        deadline = time.monotonic() + limit
        while self.came(events) < due and time.monotonic() < deadline:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(1)


@dataclass(frozen=True)
class Authority:
    """The CA of the receiver; senders have to trust `folder`/ca.pem."""

    folder: Path
    _ca: trustme.CA = field(default_factory=trustme.CA)

    def write(self) -> None:
        self._ca.cert_pem.write_to_path(self.folder / "ca.pem")
        self.folder.chmod(0o755)

    def context(self, address: str) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ca.issue_cert(address).configure_cert(context)
        return context


@asynccontextmanager
async def receiving(authority: Authority, address: str, port: int) -> AsyncIterator[Received]:
    """HTTPS on an address of this machine that containers can reach."""
    received = Received()

    async def take(request: web.Request) -> web.Response:
        event = orjson.loads(await request.read())["id"]
        received.add(event, request.path, request.headers["X-Delivery-Id"])
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/{path:.*}", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port, ssl_context=authority.context(address)).start()
        yield received
    finally:
        await runner.cleanup()
