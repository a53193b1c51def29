"""Hostile receivers do not affect the deliveries to others."""

import asyncio
import functools
import gzip
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: A post limit that no test waits for: what hangs does so until it is released.
PATIENT = {
    "webhook_retry_delays": "PT1H",
    "webhook_post_timeout": "PT10M",
    "webhook_lease": "PT11M",
    "shutdown_grace": "PT1S",
}


@dataclass
class Hanging:
    """Hangs until released."""

    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, _received: Received) -> int:
        await self.released.wait()
        return 500


async def drip(received: Received) -> web.StreamResponse:
    response = web.StreamResponse(status=500)
    await response.prepare(received.request)
    with suppress(ConnectionError):
        while True:
            await response.write(b".")
            await asyncio.sleep(1)
    return response


async def pour(received: Received) -> web.StreamResponse:
    response = web.StreamResponse(status=500)
    await response.prepare(received.request)
    with suppress(ConnectionError):
        while True:
            await response.write(bytes(100_000))
            # A write on a lost connection neither fails nor yields before the loop has noticed.
            await asyncio.sleep(0)
    return response


async def continue_for_ever(received: Received) -> int:
    transport = received.request.transport
    assert transport is not None
    while not transport.is_closing():
        transport.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        await asyncio.sleep(0.001)
    return 500


@functools.cache
def a_bomb() -> bytes:
    """Made once: packing takes a quarter of a second, which the loop is held for."""
    return gzip.compress(bytes(50_000_000))


async def bomb(_received: Received) -> web.StreamResponse:
    return web.Response(status=500, body=a_bomb(), headers={"Content-Encoding": "gzip"})


async def redirect(_received: Received) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "https://169.254.169.254/latest/"})


async def busy(_received: Received) -> web.StreamResponse:
    return web.Response(status=429, headers={"Retry-After": "1"})


async def reset(received: Received) -> int:
    assert received.request.transport is not None
    received.request.transport.abort()
    return 200


#: Path, behaviour, and the error and response code listed for the first attempt.
RECEIVERS: dict[
    str, tuple[Callable[[Received], Awaitable[int | web.StreamResponse]], str, int | None]
] = {
    "/drips": (drip, "http_status", 500),
    "/continues": (continue_for_ever, "invalid_response", None),
    "/pours": (pour, "http_status", 500),
    "/bombs": (bomb, "http_status", 500),
    "/redirects": (redirect, "redirect", 302),
    "/is-busy": (busy, "http_status", 429),
    "/resets": (reset, "connection_reset", None),
}


async def test_each_failure_has_its_cause_and_delays_no_other_webhook(pipe: Pipeline) -> None:
    a_bomb()
    bad = dict(zip(RECEIVERS, await pipe.webhooks(list(RECEIVERS)), strict=True))
    for path, (behaviour, _, _) in RECEIVERS.items():
        pipe.receiver.answer(path, behaviour)
    await pipe.webhook("/hangs")
    hanging = Hanging()
    pipe.receiver.answer("/hangs", hanging)
    good = await pipe.webhook("/good", owner="other-owner")
    await pipe.dispatcher(**PATIENT)
    events = [an_event(number) for number in range(20)]

    await pipe.publish(*events)
    for event in events:
        await pipe.until_row(event, good, state="succeeded")
    hanging.released.set()

    for path, (_, error, status) in RECEIVERS.items():
        await pipe.until_row(events[0], bad[path], attempts=1)
        attempts = pipe.webhooks_db["attempts"].find({"webhook_id": bad[path].id})
        assert {(one["error"], one["response_code"]) async for one in attempts} == {(error, status)}


async def test_a_hanging_receiver_with_a_long_backlog_delays_no_other(
    pipe: Pipeline,
) -> None:
    slow = await pipe.webhook("/hangs", events=("production_unit.*",))
    good = await pipe.webhook("/good", events=("company.*",), owner="other-owner")
    hanging = Hanging()
    pipe.receiver.answer("/hangs", hanging)
    service = await pipe.dispatcher(**PATIENT)
    rows = pipe.webhooks_db["deliveries"]
    await pipe.publish(*(an_event(number, type="production_unit.updated") for number in range(300)))
    await eventually(lambda: rows.count_documents({"webhook_id": slow.id}), lambda n: n == 300)

    events = [an_event(number) for number in range(30)]
    await pipe.publish(*events)

    for event in events:
        await pipe.until_row(event, good, state="succeeded")
    assert service.is_ready()
    hanging.released.set()
