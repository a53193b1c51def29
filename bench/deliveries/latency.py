"""Latency from event to receipt, also while another receiver hangs."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from random import Random

from bench.deliveries.environment import (
    FAN_OUT,
    WEBHOOKS,
    Environment,
    environment,
    filters_by_company,
)
from bench.events import vat_of
from bench.figures import Figure, at_most, latencies, percentile_99
from bench.scale import SEED, Scale
from bench.setup import Servers

_STEADY = 500
_WARM_UP = 2.0


async def measure(own: Servers, scale: Scale, *, half: float) -> AsyncIterator[Figure]:
    """Yields the latency at half of the dispatcher's capacity and at 500 deliveries a second."""
    async with environment(own) as env:
        await env.subscribe(filters_by_company(FAN_OUT))
        await env.start_dispatcher()
        await _latencies(env, rate=_STEADY, seconds=_WARM_UP)
        for label, rate in ((f"half load ({half:,.0f}/s)", half), (f"{_STEADY}/s", _STEADY)):
            found = await _latencies(env, rate=rate, seconds=scale.delivery_seconds)
            for figure in latencies(f"event to receipt at {label}", found, p99=150):
                yield figure


async def measure_with_hanging_receiver(own: Servers, scale: Scale) -> AsyncIterator[Figure]:
    """Yields the latency of other webhooks with and without a receiver that hangs, in turns."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for hangs in (False, True) * scale.rounds:
        async with environment(own) as env:
            await env.subscribe(filters_by_company(FAN_OUT))
            if hangs:
                await env.subscribe([None], path="/hangs")
            await env.start_dispatcher()
            await _latencies(env, rate=_STEADY, seconds=_WARM_UP)
            found[hangs] += await _latencies(env, rate=_STEADY, seconds=scale.delivery_seconds)
    alone, disturbed = percentile_99(found[False]), percentile_99(found[True])
    name = "event to receipt with a hanging receiver, p99"
    yield Figure(name, disturbed, "ms")
    yield at_most(f"{name} over p99 without", disturbed / alone, "×", 2)


async def _latencies(env: Environment, *, rate: float, seconds: float) -> list[float]:
    """Returns milliseconds from event to receipt, of events at random times at this rate."""
    await env.receiver.latencies()
    random = Random(SEED)
    events = max(int(rate * seconds / FAN_OUT), 1)
    due = time.time()
    async with asyncio.TaskGroup() as publishing:
        for number in range(events):
            due += random.expovariate(rate / FAN_OUT)
            await asyncio.sleep(max(due - time.time(), 0))
            # The event's time is when it was due: a late publication counts as latency, too.
            at = datetime.fromtimestamp(due, UTC)
            event = env.event(vat_of(number % (WEBHOOKS // FAN_OUT)), occurred_at=at)
            publishing.create_task(env.publish(event))
    found: list[float] = []
    async with asyncio.timeout(60):
        while len(found) < events * FAN_OUT:
            found += await env.receiver.latencies()
            await asyncio.sleep(0.2)
    return found
