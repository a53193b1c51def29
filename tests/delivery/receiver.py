"""Webhook receiver: an HTTPS server that verifies and counts deliveries."""

import asyncio
import json
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from local_stack.certificates import Certificates
from tests.delivery.verifying import is_genuine
from tests.delivery.waiting import SOON

#: Behaviour of a receiver: returns the response status for a delivery.
Answer = Callable[["Received"], Awaitable[int | web.StreamResponse]]


@dataclass(frozen=True)
class Received:
    """Received delivery."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    genuine: bool
    request: web.Request = field(repr=False, compare=False)

    @property
    def delivery_id(self) -> str:
        return self.headers["X-Delivery-Id"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event


@dataclass
class Receiver:
    """Many receivers in one: each path is one, with a secret and a behaviour of its own."""

    port: int
    ca_file: Path
    received: list[Received] = field(default_factory=list)
    _secrets: dict[str, str] = field(default_factory=dict)
    _answers: dict[str, Answer] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def trust(self, path: str, secret: str) -> None:
        """Sets the secret that signs deliveries to the path."""
        self._secrets[path] = secret

    def answer(self, path: str, answer: Answer | int) -> None:
        """Sets the behaviour of the path; the default is 204."""

        async def same(_received: Received) -> int:
            assert isinstance(answer, int)
            return answer

        self._answers[path] = same if isinstance(answer, int) else answer

    def at(self, path: str) -> list[Received]:
        return [one for one in self.received if one.path == path]

    def counted(self, path: str | None = None) -> Counter[str]:
        """Deliveries per event."""
        return Counter(one.event["id"] for one in self.received if path in (None, one.path))

    async def until(self, condition: Callable[[], bool], *, seconds: float = SOON) -> None:
        """Returns as soon as the received deliveries fulfil the condition."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(condition)

    async def until_count(self, count: int, *, seconds: float = SOON) -> None:
        """Returns as soon as so many deliveries have come."""
        await self.until(lambda: len(self.received) >= count, seconds=seconds)

    async def next(self, path: str, *, number: int = 1, seconds: float = SOON) -> Received:
        """Waits for the path's delivery with this number."""
        await self.until(lambda: len(self.at(path)) >= number, seconds=seconds)
        return self.at(path)[number - 1]

    async def take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name: value for name, value in request.headers.items()}
        secret = self._secrets.get(request.path)
        genuine = secret is not None and is_genuine(headers, body, secret, now=time.time())
        received = Received(
            request.path, headers, body, time.monotonic(), genuine=genuine, request=request
        )
        async with self._changed:
            self.received.append(received)
            self._changed.notify_all()
        answer = self._answers.get(request.path)
        answered = 204 if answer is None else await answer(received)
        return (
            answered if isinstance(answered, web.StreamResponse) else web.Response(status=answered)
        )


@asynccontextmanager
async def receiving(certificates: Certificates) -> AsyncIterator[Receiver]:
    """Receives for the body's time, with the certificate that `make run` makes for a receiver."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    receiver = Receiver(0, certificates.ca_file)
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.take)
    # A receiver that hangs is cut off at the end, and a connection that breaks is no news.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        receiver.port = runner.addresses[0][1]
        yield receiver
    finally:
        await runner.cleanup()
