"""Events from the outbox to the broker: their rate, cost and delay."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.events import key_of, publishing, renamed, vat_of
from bench.figures import Figure, at_least, at_most, percentile_99
from bench.processes import Used
from bench.scale import Scale
from bench.setup import empty_system, pids_of
from common.contracts.events import encode_event
from common.leases import StoredLeases
from common.mongo import Database, connected, database
from local_stack.system import System
from register_store.documents import EVENT_BATCHES, OUTBOX
from register_store.events.event import OutboxEvent, outbox_document

#: Events a second: from a backlog, and at a steady rate.
_GOAL, _STEADY = 2_000, 500
#: Events of one insert, as an import stores them.
_STORED = 1_000
#: Seconds between two inserts at a steady rate, and of the first ones, which do not count: the
#: publisher is idle when they begin.
_EVERY = 0.02
_WARM_UP = 1.0
_TIMEOUT = timedelta(seconds=60)


def measure(scale: Scale) -> list[Figure]:
    """Returns the figures of publishing to the dispatcher's queue without a consumer."""
    with empty_system() as system:
        return asyncio.run(_figures(system, scale))


async def _figures(system: System, scale: Scale) -> list[Figure]:
    async with (
        connected(system.mongo_url, name="bench", operation_timeout=_TIMEOUT) as client,
        publishing(system.amqp_url),
    ):
        register = database(client, "register")
        backlog = await _backlog(system, register, scale.published_events)
        delays = await _delays(register, rate=_STEADY, seconds=scale.publishing_seconds)
    return [
        at_least("events published from a backlog", backlog.rate, "/s", _GOAL),
        *(
            Figure(f"processor time of an event, {process}", each, "µs")
            for process, each in backlog.used.items()
        ),
        at_most(f"from the commit to the broker at {_STEADY}/s, p99", delays, "ms", 200),
    ]


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events a second, and the processor time of each in microseconds by process."""

    rate: float
    used: Mapping[str, float]


async def _backlog(system: System, register: Database, count: int) -> Backlog:
    """Returns the figures of a backlog: another process has the lease until all is stored."""
    lease = StoredLeases(register, holder="bench")
    await lease.take("outbox", span=timedelta(hours=1))
    await asyncio.to_thread(system.start("ingest").wait_until_ready)
    events = outbox_rows(range(count), revision=1)
    for first in range(0, count, _STORED):
        await register[OUTBOX].insert_many(events[first : first + _STORED], ordered=False)
    used = Used(pids_of(system))
    await lease.give_up("outbox")
    await _until_published(register)
    costs = {name: each / count * 1e6 for name, each in used.seconds().items()}
    batches = await register[EVENT_BATCHES].find(sort=[("_id", 1)]).to_list(None)
    seconds = (batches[-1]["at"] - batches[0]["at"]).total_seconds()
    return Backlog((count - batches[0]["count"]) / seconds, costs)


async def _delays(register: Database, *, rate: int, seconds: float) -> float:
    """Returns the 99th percentile in milliseconds, from the insert's reply to the confirm."""
    inserts, uncounted = int((_WARM_UP + seconds) / _EVERY), int(_WARM_UP / _EVERY)
    size = int(rate * _EVERY)
    rows = [outbox_rows(range(n * size, (n + 1) * size), revision=n + 2) for n in range(inserts)]
    stored: dict[int, datetime] = {}
    started = time.monotonic()
    for number, documents in enumerate(rows):
        await asyncio.sleep(started + number * _EVERY - time.monotonic())
        await register[OUTBOX].insert_many(documents, ordered=False)
        stored[number + 2] = datetime.now(UTC)
    await _until_published(register)
    found = register[OUTBOX].find(
        {"revision": {"$gt": 1 + uncounted}}, {"revision": 1, "published_at": 1}
    )
    delays = [(one["published_at"] - stored[one["revision"]]) async for one in found]
    return percentile_99([max(0.0, each.total_seconds() * 1000) for each in delays])


async def _until_published(register: Database) -> None:
    # Polled seldom: each poll costs processor time that is measured.
    while await register[OUTBOX].find_one({"published_at": None}, {"_id": 1}):  # noqa: ASYNC110
        await asyncio.sleep(0.25)


def outbox_rows(companies: Sequence[int], *, revision: int) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    documents = []
    for company in companies:
        event = renamed(vat_of(company), revision, now)
        key, body = key_of(company), encode_event(event)
        row = OutboxEvent(event.id, key, revision, event.type, None, now, body)
        documents.append(outbox_document(row, None))
    return documents
