"""Deliveries recorded a second, and the dispatcher's memory while very many are due."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from bench.deliveries.environment import (
    FAN_OUT,
    WEBHOOKS,
    Environment,
    environment,
    filters_by_company,
)
from bench.events import vat_of
from bench.figures import Figure, at_least, at_most
from bench.processes import megabytes, processor_seconds
from bench.scale import Scale
from bench.setup import Servers
from common.contracts.events import EventType, encode_event
from common.contracts.webhooks import DeliveryId
from webhook_store.collections import DELIVERIES, EVENTS
from webhook_store.collections import WEBHOOKS as STORED
from webhook_store.deliveries import NewDelivery, new_document
from webhook_store.events import SETTLING
from webhook_store.indexes import make_indexes

_RETENTION = timedelta(days=30)
#: The age of deliveries whose tasks were lost with the broker's data.
_AGE = timedelta(minutes=10)
#: Deliveries of one insert.
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Throughput:
    per_second: float
    #: Milliseconds of the dispatchers' processor time for each delivery.
    processor_ms: float


async def measure(own: Servers, scale: Scale) -> AsyncIterator[Figure]:
    """Yields the rates of deliveries, that of one dispatcher first."""
    name = "deliveries recorded"
    rounds = [await _recorded(own, scale.deliveries) for _ in range(scale.rounds)]
    rate = median(one.per_second for one in rounds)
    yield at_least(f"{name}, one dispatcher", rate, "/s", 1_800)
    processor_ms = median(one.processor_ms for one in rounds)
    yield at_most("processor time of the dispatcher for a delivery", processor_ms, "ms", 0.35)
    for fan_out in (1, WEBHOOKS):
        other = await _recorded(own, scale.deliveries // 2, fan_out=fan_out)
        label = f"{name}, each event for {fan_out} of the webhooks"
        yield Figure(label, other.per_second, "/s")
    two = await _recorded(own, scale.deliveries, dispatchers=2)
    yield Figure(f"{name}, two dispatchers", two.per_second, "/s")
    yield Figure(f"{name}, two dispatchers over one", two.per_second / rate, "×")


async def _recorded(
    own: Servers, deliveries: int, *, fan_out: int = FAN_OUT, dispatchers: int = 1
) -> Throughput:
    """Returns the throughput of a backlog of events that is fanned out, posted and recorded."""
    async with environment(own) as env:
        await env.subscribe(filters_by_company(fan_out))
        companies = [number % (WEBHOOKS // fan_out) for number in range(deliveries // fan_out)]
        await env.publish_all([env.event(vat_of(company)) for company in companies])
        names = [f"dispatcher-{number}" for number in range(dispatchers)]
        services = await asyncio.gather(*map(env.start_dispatcher, names))
        count = len(companies) * fan_out
        await env.until_recorded(count)
        used = sum(processor_seconds(service.process.pid) for service in services)
        return Throughput(count / await _duration(env), used / count * 1000)


async def _duration(env: Environment) -> float:
    """Returns the seconds from the first event's record to that of the last delivery."""
    first = await env.db[EVENTS].find_one({}, sort=[("review_at", 1)])
    last = await env.db[DELIVERIES].find_one({}, sort=[("expires_at", -1)])
    assert first is not None
    assert last is not None
    duration: timedelta = last["expires_at"] - (first["review_at"] - SETTLING)
    return duration.total_seconds()


async def measure_memory(own: Servers, scale: Scale) -> AsyncIterator[Figure]:
    async with environment(own) as env:
        await env.subscribe(filters_by_company(FAN_OUT))
        service = await env.start_dispatcher()
        # The baseline is the memory of a dispatcher that has been busy.
        await env.publish_all([env.event(vat_of(number % FAN_OUT)) for number in range(500)])
        await env.until_recorded(500 * FAN_OUT)
        before = megabytes(service.process.pid)
    async with environment(own) as env:
        await env.subscribe(filters_by_company(FAN_OUT))
        await _insert_due(env, scale.due_deliveries)
        service = await env.start_dispatcher()
        await env.until_recorded(100)
        recorded = await env.attempts()
        await asyncio.sleep(scale.delivery_seconds)
        rate = (await env.attempts() - recorded) / scale.delivery_seconds
        after = megabytes(service.process.pid)
    name = f"{scale.due_deliveries:,} deliveries due"
    yield Figure("memory of the dispatcher with no deliveries due", before, "MB")
    yield Figure(f"memory of the dispatcher with {name}", after, "MB")
    yield at_most(f"memory with {name} over memory with none", after / before, "×", 1.25)
    yield Figure(f"deliveries recorded with {name}", rate, "/s")


async def _insert_due(env: Environment, count: int) -> None:
    """Inserts overdue deliveries of one event."""
    event, at = env.event(vat_of(0)), datetime.now(UTC) - _AGE
    await env.db[EVENTS].insert_one(
        {"_id": event.id, "type": event.type, "company": None, "body": encode_event(event)}
    )
    webhooks = await env.db[STORED].find({}, {"generation": 1}).to_list(None)
    await env.db[DELIVERIES].drop_indexes()
    for first in range(0, count, _BATCH):
        batch = [
            NewDelivery(
                id=DeliveryId(str(uuid.UUID(int=number))),
                webhook_id=webhooks[number % WEBHOOKS]["_id"],
                generation=webhooks[number % WEBHOOKS]["generation"],
                event_id=event.id,
                event_type=EventType.COMPANY_UPDATED,
                occurred_at=at,
            )
            for number in range(first, min(first + _BATCH, count))
        ]
        documents = [
            new_document(one, at=at, grace=timedelta(), retention=_RETENTION) for one in batch
        ]
        await env.db[DELIVERIES].insert_many(documents, ordered=False)
    await make_indexes(env.db)
