"""From the outbox to the broker: nothing lost, in order per company, by one process at a time."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

import aio_pika
import pytest
import structlog
from prometheus_client import REGISTRY

from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE, FEED_EXCHANGE
from common.messaging.broadcast import Broadcaster
from common.messaging.connection import supervised
from common.messaging.depth import QueueProbe
from common.messaging.publisher import Publisher
from common.messaging.topology import Queue, Topology
from common.mongo import Database
from common.runtime.tasks import beside
from lookup.events.outbox import MAX_UNREADABLE, StoredOutbox
from lookup.events.publisher import BATCH, EventBus, PublishOutbox
from lookup.events.receipts import ConfirmEvents, StoredReceipts, StoredUnconfirmedEvents
from lookup.events.worker import BrokerBus, NoQueueBound, OutboxWorker
from lookup.store.documents import EXPIRY_MARGIN, OUTBOX
from lookup.store.leases import StoredLeases
from tests.builders.companies import an_outbox_row
from tests.delivery.waiting import SOON, until_connected
from tests.fakes.lookup import FakeBus

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
RETENTION = timedelta(days=30)
TIMEOUT = timedelta(minutes=2)
EXCHANGE = Topology(topic_exchanges=(EVENTS_EXCHANGE,))
EVERYTHING = Topology(
    topic_exchanges=(EVENTS_EXCHANGE,),
    queues=(Queue("all", {"x-queue-type": "quorum"}, EVENTS_EXCHANGE),),
)


async def stored(register_db: Database, *events: tuple[str, str, int]) -> None:
    """Puts events of (id, company, revision) into the outbox."""
    await register_db[OUTBOX].insert_many(
        an_outbox_row(identifier, company=company, revision=revision)
        for identifier, company, revision in events
    )


def publishing(register_db: Database, bus: EventBus) -> PublishOutbox:
    outbox = StoredOutbox(register_db, retention=RETENTION)
    return PublishOutbox(outbox, bus, lambda: NOON, TIMEOUT)


def working(
    register_db: Database, bus: EventBus, leases: StoredLeases, *, number: int = 1
) -> OutboxWorker:
    confirm = ConfirmEvents(
        StoredUnconfirmedEvents(register_db, receipt_timeout=TIMEOUT),
        StoredReceipts(register_db),
        bus,
        lambda: NOON,
        TIMEOUT,
    )
    publish, random = publishing(register_db, bus), Random(number)
    return OutboxWorker(publish, confirm, leases, random=random, now=lambda: NOON)


async def unpublished(register_db: Database) -> list[str]:
    found = await register_db[OUTBOX].find({"published_at": None}, sort=[("_id", 1)]).to_list(None)
    return [event["_id"] for event in found]


async def test_pending_events_are_published_once_and_by_revision(register_db: Database) -> None:
    await stored(register_db, ("c", "dk:1", 3), ("a", "dk:1", 1), ("b", "dk:1", 2))
    bus = FakeBus()
    publish = publishing(register_db, bus)

    counts = [await publish(), await publish()]

    assert counts == [3, 0]
    assert bus.taken == ["a", "b", "c"]


async def test_a_published_event_expires_after_the_retention(register_db: Database) -> None:
    await stored(register_db, ("a", "dk:1", 1))

    await publishing(register_db, FakeBus())()

    [event] = await register_db[OUTBOX].find().to_list(None)
    assert event["expires_at"] == NOON + RETENTION + EXPIRY_MARGIN


async def test_an_event_that_does_not_go_out_holds_up_its_own_company_only(
    register_db: Database,
) -> None:
    await stored(register_db, ("a", "dk:1", 1), ("b", "dk:1", 2), ("c", "dk:2", 1))

    count = await publishing(register_db, FakeBus(refused=frozenset({"dk:1"})))()

    assert count == 1
    assert await unpublished(register_db) == ["a", "b"]


async def test_unreadable_events_wait_for_another_release_while_others_are_published(
    register_db: Database,
) -> None:
    await stored(register_db, *((f"unreadable-{n}", "dk:1", n) for n in range(BATCH + 1)))
    await register_db[OUTBOX].update_many({}, {"$set": {"type": "company.teleported"}})
    await stored(
        register_db, ("b", "dk:1", 9999), ("c", "dk:2", 1), ("a", "dk:0", 1), ("d", "se:1", 1)
    )
    await register_db[OUTBOX].update_one({"_id": "a"}, {"$unset": {"body": ""}})
    bus = FakeBus()
    publish = publishing(register_db, bus)
    before = REGISTRY.get_sample_value("outbox_events_unreadable_total") or 0

    with structlog.testing.capture_logs() as logs:
        counts = [await publish(), await publish()]

    reported = [line["event_id"] for line in logs if line["event"] == "outbox.unreadable"]
    left = {*await unpublished(register_db)}
    positions = await register_db[OUTBOX].distinct("position")
    assert counts == [2, 0]
    assert bus.taken == ["b", "c"]
    assert left == {"a", "d", *(f"unreadable-{n}" for n in range(BATCH + 1))}
    assert positions == [1, 2]
    assert sorted(reported) == sorted(left)
    assert REGISTRY.get_sample_value("outbox_events_unreadable_total") == before + len(left)


async def test_a_thousand_unreadable_events_and_more_do_not_block_the_others(
    register_db: Database,
) -> None:
    await stored(register_db, *((f"{n}", "dk:1", n) for n in range(MAX_UNREADABLE + BATCH + 1)))
    await register_db[OUTBOX].update_many({}, {"$set": {"type": "company.teleported"}})
    await stored(register_db, ("a", "dk:2", 1))
    bus = FakeBus()
    publish = publishing(register_db, bus)

    counts = [await publish(), await publish()]
    await stored(register_db, ("b", "dk:2", 2))
    counts.append(await publish())

    assert counts == [1, 0, 1]
    assert bus.taken == ["a", "b"]


async def test_when_nothing_goes_out_that_is_an_outage_and_nothing_is_lost(
    register_db: Database,
) -> None:
    await stored(register_db, ("a", "dk:1", 1))

    with pytest.raises(Unavailable):
        await publishing(register_db, FakeBus(refused=frozenset({"dk:1"})))()

    assert await unpublished(register_db) == ["a"]


async def test_a_process_that_dies_before_it_marks_publishes_the_same_id_again(
    register_db: Database,
) -> None:
    await stored(register_db, ("a", "dk:1", 1))
    bus = FakeBus()
    waiting = await StoredOutbox(register_db, retention=RETENTION).waiting(10)
    await bus.publish(waiting[0])  # and dies here

    await publishing(register_db, bus)()

    assert bus.taken == ["a", "a"]


async def test_events_wait_in_the_outbox_until_a_queue_is_bound(
    register_db: Database, amqp_url: str
) -> None:
    await stored(register_db, ("a", "dk:1", 1))
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(
            supervised(amqp_url, name="events", random=Random(1))
        )
        publisher = Publisher(
            connection,
            topology=EXCHANGE,
            timeout=timedelta(seconds=SOON),
        )
        await connection.add(publisher)
        await until_connected(connection)
        publish = publishing(
            register_db, BrokerBus(publisher, QueueProbe(), Broadcaster(connection, FEED_EXCHANGE))
        )
        with pytest.raises(NoQueueBound):
            await publish()
        await _declared(amqp_url, EVERYTHING)

        count = await publish()

    assert count == 1
    assert await _bodies(amqp_url, 1) == [b"a"]


async def test_of_two_processes_one_publishes_and_the_other_takes_over(
    register_db: Database,
) -> None:
    buses = [FakeBus(), FakeBus()]
    workers = [
        working(
            register_db, bus, StoredLeases(register_db, holder=f"process-{number}"), number=number
        )
        for number, bus in enumerate(buses)
    ]
    async with beside(workers[1].run()):
        async with beside(workers[0].run()):
            await stored(register_db, *((f"a{n}", f"dk:{n}", 1) for n in range(50)))
            await _until_empty(register_db)
        first = [len(bus.taken) for bus in buses]
        await stored(register_db, *((f"b{n}", f"dk:{n}", 2) for n in range(50)))
        await _until_empty(register_db)

    assert sorted(first) == [0, 50]
    assert sum(len(bus.taken) for bus in buses) == 100


@dataclass
class ShortLease(StoredLeases):
    """Is had once, and is another's from then on."""

    taken: int = 0
    #: Measurements of the outbox by the process while it had the lease.
    measured: float | None = None
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, *_: object, **__: object) -> bool:
        self.taken += 1
        if self.taken > 1:
            self.measured = REGISTRY.get_sample_value("outbox_events_pending")
            self.lost.set()
        return self.taken == 1

    async def give_up(self, *_: object) -> None: ...


async def test_a_process_that_lost_the_lease_measures_an_empty_outbox(
    register_db: Database,
) -> None:
    await stored(register_db, ("a", "dk:1", 1))
    lease = ShortLease()
    # A lease may expire during an outage.
    worker = working(register_db, FakeBus(refused=frozenset({"dk:1"})), lease)

    async with beside(worker.run()), asyncio.timeout(SOON):
        await lease.lost.wait()
        # By now it stands by: between the two it waits for nothing.
        told = [
            REGISTRY.get_sample_value(name)
            for name in ("outbox_events_pending", "outbox_oldest_pending_age_seconds")
        ]

    assert lease.measured == 1
    assert told == [0, 0]


async def _until_empty(register_db: Database) -> None:
    async with asyncio.timeout(SOON):
        while await unpublished(register_db):
            pass


async def _declared(amqp_url: str, topology: Topology) -> None:
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        [queue] = topology.queues
        declared = await channel.declare_queue(queue.name, durable=True, arguments=queue.arguments)
        await declared.bind(EVENTS_EXCHANGE, "#")


async def _bodies(amqp_url: str, count: int) -> Sequence[bytes]:
    async with await aio_pika.connect(amqp_url) as connection:
        queue = await (await connection.channel()).get_queue("all")
        messages = [await queue.get(timeout=SOON) for _ in range(count)]
        for message in messages:
            assert message is not None
            await message.ack()
        return [message.body for message in messages]
