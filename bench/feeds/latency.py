"""From a change in a register to its receipt by a subscriber, through every process between."""

import asyncio
import ssl
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any

import aiohttp
from aiohttp import web

from bench.feeds.syncing import OFTEN
from bench.figures import Figure, percentile
from local_stack.certificates import Certificates
from local_stack.services import SERVICES, is_ready
from local_stack.system import System
from register_samples.server import Registers, serving

_SEED = 1
#: Polling interval of the sync; on average a change waits half of it.
_INTERVAL, _ASKED = "PT0.1S", "asked every 0.1 s"
#: Changes a second.
_RATE = 4.0
_SOON = 60.0

#: Moments by the changed value, on the clock of `time.monotonic`.
Moments = dict[str, float]


async def measure(
    system: System, certificates: Certificates, key: str, *, changes: int
) -> list[Figure]:
    """Changes occur at random times, one company each."""
    registers = Registers(companies=max(2 * changes, 50))
    received: Moments = {}
    async with (
        _receiving(certificates, received) as url,
        serving(registers, downloads_a_day=OFTEN) as served,
    ):
        for service in [system.start(service.module) for service in SERVICES]:
            # The gateway may be ready before the other services are.
            reaches_all = partial(is_ready, service.admin_port)
            await asyncio.to_thread(service.process.wait_until, reaches_all, seconds=_SOON)
        await _subscribe(system, key, url)
        sync = system.start(
            "lookup",
            name="lookup-sync",
            command=("sync", "no-enheter", "--follow"),
            brreg_url=str(served.brreg),
            sync_interval=_INTERVAL,
        )
        try:
            await asyncio.to_thread(sync.wait_until_ready)
            made = await _changed(registers, changes, received)
        finally:
            await asyncio.to_thread(sync.process.stop)
    ages = [(received[value] - moment) * 1000 for value, moment in made.items()]
    name = f"change in a register ({_ASKED}) to its receipt"
    return [
        Figure(f"{name}, p50", statistics.median(ages), "ms"),
        Figure(f"{name}, p99", percentile(ages, 0.99), "ms"),
    ]


async def _changed(registers: Registers, changes: int, received: Moments) -> Moments:
    """Returns the time of each change, once all of them were received."""
    chance = Random(_SEED)
    entities = registers.no.entities
    numbers = [found["organisasjonsnummer"] for found in entities.standing()]
    # The first event follows once the register has been loaded; then every service is up.
    await _seen(received, _change(registers, numbers.pop()))
    made: Moments = {}
    for number in numbers[:changes]:
        await asyncio.sleep(chance.expovariate(_RATE))
        made[_change(registers, number)] = time.monotonic()
    for value in made:
        await _seen(received, value)
    return made


def _change(registers: Registers, number: str) -> str:
    """Changes a company; returns the new value, which is unique."""
    value = f"post@{number}.example"
    registers.no.entities.change(number, {"epostadresse": value})
    return value


async def _seen(received: Moments, value: str) -> None:
    async with asyncio.timeout(_SOON):
        while value not in received:  # noqa: ASYNC110 (set by the receiver)
            await asyncio.sleep(0.01)


async def _subscribe(system: System, key: str, url: str) -> None:
    body = {"url": url, "events": ["company.updated"]}
    async with (
        aiohttp.ClientSession(system.base_url, headers={"X-API-Key": key}) as session,
        session.post("/api/webhooks", json=body, raise_for_status=True),
    ):
        pass


@asynccontextmanager
async def _receiving(certificates: Certificates, received: Moments) -> AsyncIterator[str]:
    async def take(request: web.Request) -> web.Response:
        event: dict[str, Any] = await request.json()
        received.setdefault(event["data"]["company"]["email"], time.monotonic())
        return web.Response(status=204)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()
