"""From event to receipt, also with a hanging receiver, and the lateness of retries."""

import asyncio
import statistics
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from bench.deliveries.rates import FAN
from bench.deliveries.world import WEBHOOKS, World, groups, vat_of, world
from bench.figures import Figure, at_most, percentile
from bench.servers import Servers

_SEED = 1
_STEADY = 500
_GOAL_MS = 150
_GOAL_BESIDE_A_HANGING_ONE = 2
#: Of the schedule that is measured; the real ones only take longer.
_DELAYS = "PT1S,PT3S"


async def measure(own: Servers, folder: Path, *, half: float, seconds: float) -> list[Figure]:
    """At half of the dispatcher's capacity, and at 500 a second."""
    async with world(own, folder) as around:
        await around.webhooks(groups(FAN))
        await around.dispatcher()
        await paced(around, rate=_STEADY, seconds=2)
        at_half = await paced(around, rate=half, seconds=seconds)
        steady = await paced(around, rate=_STEADY, seconds=seconds)
    name = "event to receipt at"
    return [
        Figure(f"{name} half load ({half:,.0f}/s), p50", statistics.median(at_half), "ms"),
        at_most(
            f"{name} half load ({half:,.0f}/s), p99", percentile(at_half, 0.99), "ms", _GOAL_MS
        ),
        Figure(f"{name} {_STEADY}/s, p50", statistics.median(steady), "ms"),
        at_most(f"{name} {_STEADY}/s, p99", percentile(steady, 0.99), "ms", _GOAL_MS),
    ]


async def beside_a_hanging_one(
    own: Servers, folder: Path, *, seconds: float, rounds: int
) -> list[Figure]:
    """The latency of other webhooks with and without a receiver that never responds."""
    without: list[float] = []
    beside: list[float] = []
    for hanging, ages in ((False, without), (True, beside)) * rounds:
        async with world(own, folder) as around:
            await around.webhooks(groups(FAN))
            if hanging:
                await around.webhooks([None], path="/hangs")
            await around.dispatcher()
            await paced(around, rate=_STEADY, seconds=2)
            ages += await paced(around, rate=_STEADY, seconds=seconds)
    alone, disturbed = percentile(without, 0.99), percentile(beside, 0.99)
    name = "event to receipt beside a hanging receiver, p99"
    return [
        Figure(name, disturbed, "ms"),
        at_most(f"{name} over p99 without", disturbed / alone, "×", _GOAL_BESIDE_A_HANGING_ONE),
    ]


async def paced(around: World, *, rate: float, seconds: float) -> list[float]:
    """Milliseconds from event to receipt, of events at random times at this rate."""
    await around.listener.ages()
    chance = Random(_SEED)
    events = max(int(rate * seconds / FAN), 1)
    due = time.time()
    async with asyncio.TaskGroup() as publishing:
        for number in range(events):
            due += chance.expovariate(rate / FAN)
            await asyncio.sleep(max(due - time.time(), 0))
            # The event's time is when it was due: time spent waiting for this process counts, too.
            at = datetime.fromtimestamp(due, UTC)
            event = around.event(vat_of(number % (WEBHOOKS // FAN)), occurred_at=at)
            publishing.create_task(around.publish(event))
    ages: list[float] = []
    async with asyncio.timeout(60):
        while len(ages) < events * FAN:
            ages += await around.listener.ages()
            await asyncio.sleep(0.2)
    return ages


async def delays(own: Servers, folder: Path) -> list[Figure]:
    """The delay between the due time of a retry and the retry."""
    async with world(own, folder) as around:
        await around.webhooks(groups(1), path="/fails")
        await around.dispatcher(webhook_retry_delays=_DELAYS)
        for number in range(WEBHOOKS):
            await around.publish(around.event(vat_of(number)))
            await asyncio.sleep(0.01)
        await around.recorded(WEBHOOKS * (1 + len(_DELAYS.split(","))))
        late = await _lateness(around)
    return [
        Figure("retries, behind their time, p50", statistics.median(late), "ms"),
        Figure("retries, behind their time, p99", percentile(late, 0.99), "ms"),
    ]


async def _lateness(around: World) -> list[float]:
    """Milliseconds from when each retry was due to when it was made."""
    attempts: defaultdict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    async for one in around.db["attempts"].find():
        attempts[one["delivery_id"]][one["attempt"]] = one
    return [
        (one["attempted_at"] - made[number - 1]["next_attempt_at"]).total_seconds() * 1000
        for made in attempts.values()
        for number, one in made.items()
        if number > 1
    ]
