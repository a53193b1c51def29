"""Readers of the event feed miss and repeat nothing."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import aio_pika
import pytest

from bench.events import renamed, vat_of
from common.contracts.events import RegistryEvent, encode_event
from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_QUEUE
from common.leases import LEASES
from common.mongo import translated_errors
from ingest.publishing.publisher import BATCH
from local_stack.replica_set import ReplicaSet
from local_stack.system import Service, System
from register_store.documents import OUTBOX
from tests.builders.companies import an_outbox_row_of
from tests.chaos.feed_readers import Faults, Producer, Reader, by_pages, by_stream, producing
from tests.delivery.waiting import SOON, eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

EVENTS = 600
#: Events stored at once, and seconds between two such writes.
BURST, PAUSE = 30, 0.2


#: Of the publisher that is killed: companies, and events of each.
COMPANIES, REVISIONS = 1_000, 6
#: Times that it is killed.
KILLS = 3


@dataclass
class Feed:
    system: System
    producer: Producer
    url: str
    key: str

    async def ingest(self, name: str) -> Service:
        service = self.system.start("ingest", name=name)
        await asyncio.to_thread(service.wait_until_ready)
        return service

    async def produce(self) -> None:
        for first in range(0, EVENTS, BURST):
            numbers = range(first, first + BURST)
            await eventually(partial(self.producer.store, numbers), bool)
            await asyncio.sleep(PAUSE)

    async def expire_the_lease(self) -> None:
        await _until_done(
            lambda: self.producer.register[LEASES].update_one(
                {"_id": "outbox"}, {"$set": {"until": datetime(1970, 1, 1, tzinfo=UTC)}}
            )
        )

    async def messages(self, count: int) -> list[RegistryEvent]:
        """Takes so many messages, or all if there are fewer, from the dispatcher's queue."""
        async with await aio_pika.connect(self.system.amqp_url) as client:
            queue = await (await client.channel()).get_queue(EVENTS_QUEUE)
            taken = [await queue.get(no_ack=True, fail=False) for _ in range(count)]
        return [RegistryEvent.model_validate_json(one.body) for one in taken if one is not None]


async def _until_done(write: Callable[[], Awaitable[object]]) -> None:
    async def is_done() -> bool:
        with suppress(Unavailable), translated_errors():
            await write()
            return True
        return False

    await eventually(is_done, bool)


@pytest.fixture
async def feed(tmp_path: Path, amqp_url: str, three_members: ReplicaSet) -> AsyncIterator[Feed]:
    """A gateway with its lookups, and a broker with a queue that takes the events."""
    mark = uuid.uuid4().hex
    names = {"REGISTER_DB": f"register-{mark}", "ACCESS_DB": f"access-{mark}"}
    settings = {**names, "WEBHOOKS_DB": f"webhooks-{mark}", "KEY_RATE": "100000/second"}
    system = System(tmp_path, amqp_url, three_members.url, settings)
    async with producing(three_members.url, amqp_url, names["REGISTER_DB"]) as producer:
        issue = ("keys", "issue", "--owner", "acme", "--name", "test", "--scope", "events")
        _, key, _ = await asyncio.to_thread(system.run, "gateway", *issue)
        services = [system.start(module) for module in ("lookup", "gateway")]
        try:
            for service in services:
                await asyncio.to_thread(service.wait_until_ready)
            yield Feed(system, producer, f"{system.base_url}/api/events", key.strip())
        finally:
            await asyncio.to_thread(system.close)


async def test_readers_that_restart_have_each_event_once_and_in_order(
    feed: Feed, three_members: ReplicaSet
) -> None:
    """While the publisher is killed, its successor takes over, and the primary steps down."""
    paging = Reader(feed.url, feed.key, Random(1), by_pages)
    streaming = Reader(feed.url, feed.key, Random(2), by_stream)
    readers = (paging, streaming)

    async def until_read(count: int) -> None:
        async def read() -> int:
            return min(len(reader.events) for reader in readers)

        await eventually(read, lambda number: number >= count)

    first = await feed.ingest("first")
    async with asyncio.TaskGroup() as group:
        group.create_task(feed.produce())
        reading = [group.create_task(reader.read_until(EVENTS)) for reader in readers]
        await until_read(1)
        await feed.ingest("second")
        await until_read(EVENTS // 4)
        await asyncio.to_thread(first.process.kill)
        await feed.expire_the_lease()
        await until_read(EVENTS // 2)
        await asyncio.to_thread(three_members.step_down)
        async with asyncio.timeout(SOON):
            await asyncio.gather(*reading)

    order = [event["id"] for event in streaming.events]
    assert Faults.of(paging, feed.producer.stored, order) == Faults(0, 0, 0)
    assert streaming.events == paging.events


async def test_a_publisher_that_is_killed_between_its_batches_loses_nothing_and_keeps_the_order(
    feed: Feed,
) -> None:
    """It has a backlog of several batches, of which it publishes, marks and reads three at once."""
    now = datetime.now(UTC)
    events = [
        renamed(vat_of(company), revision, now)
        for revision in range(1, REVISIONS + 1)
        for company in range(COMPANIES)
    ]
    outbox = feed.producer.register[OUTBOX]
    await outbox.insert_many([an_outbox_row_of(event) for event in events], ordered=False)

    async def positions() -> int:
        return await outbox.count_documents({"position": {"$exists": True}})

    for kill in range(KILLS):
        name, before = f"killed-{kill}", await positions()
        # It publishes before it is ready.
        service = feed.system.start("ingest", name=name)
        await eventually(positions, partial(_exceeds, min(before, len(events) - 1)))
        await asyncio.to_thread(service.process.kill)
        await feed.expire_the_lease()
    await feed.ingest("last")
    await eventually(positions, lambda number: number == len(events))

    messages = await feed.messages(2 * len(events))
    rows = await outbox.find(sort=[("position", 1)]).to_list(None)
    assert {event.id for event in messages} == {event.id for event in events}
    assert len(messages) - len(events) <= KILLS * 2 * BATCH
    first: dict[str, RegistryEvent] = {}
    for event in messages:
        first.setdefault(event.id, event)
    assert _is_in_order([(event.vat, event.revision or 0) for event in first.values()])
    assert [row["position"] for row in rows] == list(range(1, len(events) + 1))
    assert _is_in_order([(row["company"], row["revision"]) for row in rows])
    assert {row["_id"]: bytes(row["body"]) for row in rows} == {
        event.id: encode_event(event) for event in events
    }


def _exceeds(before: int, number: int) -> bool:
    return number > before


def _is_in_order(revisions: Iterable[tuple[str | None, int]]) -> bool:
    newest: dict[str | None, int] = {}
    return all(
        revision == newest.get(company, 0) + 1 and not newest.update({company: revision})
        for company, revision in revisions
    )
