"""Receives the webhooks of a run, and counts each delivery by its id."""

import asyncio
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
import trustme
from aiohttp import web

from register_samples.server.serving import listening


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
