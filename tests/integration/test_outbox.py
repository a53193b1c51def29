"""From the outbox to the broker: nothing lost, in order per company, by one process at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import aio_pika
import pytest
import structlog
from prometheus_client import REGISTRY

from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE, FAN_OUT_QUEUE, FEED_EXCHANGE
from common.leases import StoredLeases
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.publisher import Broadcaster, Publisher
from common.messaging.queues import LONG_QUEUE, QueueProbe, Topology
from common.runtime.tasks import background
from dispatcher.queues import delivery_topology
from ingest.publishing.outbox import MAX_UNREADABLE, Depth, StoredOutbox
from ingest.publishing.publisher import BATCH
from ingest.publishing.worker import BrokerBus, NoQueueBound, OutboxWorker
from register_store.documents import EXPIRY_MARGIN, OUTBOX
from tests.builders.outbox import NOON, RETENTION, Outbox
from tests.delivery.waiting import SOON, eventually, until_connected
from tests.fakes.ingest import FakeBus

pytestmark = pytest.mark.integration

UNREADABLE = {"$set": {"type": "company.teleported"}}


def working(outbox: Outbox, leases: StoredLeases, *, number: int = 1) -> OutboxWorker:
    return OutboxWorker(
        outbox.publisher(), outbox.confirm, leases, random=Random(number), now=outbox.clock
    )


async def test_pending_events_are_published_once_and_by_revision(outbox: Outbox) -> None:
    for event, revision in {"c": 3, "a": 1, "b": 2}.items():
        await outbox.store(event, revision=revision)
    publish = outbox.publisher()

    counts = [await publish(), await publish()]

    assert counts == [3, 0]
    assert outbox.bus.taken == ["a", "b", "c"]


async def test_a_published_event_expires_after_the_retention(outbox: Outbox) -> None:
    await outbox.published("a")

    [event] = await outbox.register[OUTBOX].find().to_list(None)
    assert event["expires_at"] == NOON + RETENTION + EXPIRY_MARGIN


async def test_an_unpublished_event_delays_only_events_of_its_company(outbox: Outbox) -> None:
    outbox.bus.refused = frozenset({"dk:1"})
    await outbox.store("a", "b", company="dk:1")
    await outbox.published("c", company="dk:2")

    assert outbox.bus.taken == ["c"]
    assert await outbox.unpublished() == ["a", "b"]


async def test_publishing_none_of_the_events_is_an_outage_and_loses_none(outbox: Outbox) -> None:
    outbox.bus.refused = frozenset({"dk:1"})

    with pytest.raises(Unavailable):
        await outbox.published("a", company="dk:1")

    assert await outbox.unpublished() == ["a"]


async def test_unreadable_events_wait_for_another_release_while_others_are_published(
    outbox: Outbox,
) -> None:
    await outbox.store(*(f"unreadable-{n}" for n in range(BATCH + 1)), company="dk:1")
    await outbox.register[OUTBOX].update_many({}, UNREADABLE)
    companies = {"b": "dk:1", "c": "dk:2", "a": "dk:0", "d": "se:1"}
    for event, company in companies.items():
        await outbox.store(event, company=company, revision=9999)
    await outbox.register[OUTBOX].update_one({"_id": "a"}, {"$unset": {"body": ""}})
    publish = outbox.publisher()
    before = REGISTRY.get_sample_value("outbox_events_unreadable_total") or 0

    with structlog.testing.capture_logs() as logs:
        counts = [await publish(), await publish()]

    reported = [line["event_id"] for line in logs if line["event"] == "outbox.unreadable"]
    left = {*await outbox.unpublished()}
    assert counts == [2, 0]
    assert outbox.bus.taken == ["b", "c"]
    assert left == {"a", "d", *(f"unreadable-{n}" for n in range(BATCH + 1))}
    assert await outbox.register[OUTBOX].distinct("position") == [1, 2]
    assert sorted(reported) == sorted(left)
    assert REGISTRY.get_sample_value("outbox_events_unreadable_total") == before + len(left)


async def test_a_thousand_unreadable_events_and_more_do_not_block_the_others(
    outbox: Outbox,
) -> None:
    await outbox.store(*map(str, range(MAX_UNREADABLE + BATCH + 1)), company="dk:1")
    await outbox.register[OUTBOX].update_many({}, UNREADABLE)
    publish = outbox.publisher()

    await outbox.store("a", company="dk:2")
    counts = [await publish(), await publish()]
    await outbox.store("b", company="dk:2", revision=2)
    counts.append(await publish())

    assert counts == [1, 0, 1]
    assert outbox.bus.taken == ["a", "b"]


async def test_of_two_processes_one_publishes_and_the_other_takes_over(outbox: Outbox) -> None:
    processes = [Outbox(outbox.register) for _ in range(2)]
    workers = [
        working(process, StoredLeases(outbox.register, holder=f"process-{n}"), number=n)
        for n, process in enumerate(processes)
    ]

    async def published(mark: str, revision: int) -> None:
        for n in range(50):
            await outbox.store(f"{mark}{n}", company=f"dk:{n}", revision=revision)
        await eventually(outbox.unpublished, lambda left: not left)

    async with background(workers[1].run()):
        async with background(workers[0].run()):
            await published("a", 1)
        first = [len(process.bus.taken) for process in processes]
        await published("b", 2)

    assert sorted(first) == [0, 50]
    assert sum(len(process.bus.taken) for process in processes) == 100


async def _pending() -> float | None:
    return REGISTRY.get_sample_value("outbox_events_pending")


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
            # It measures beside publishing.
            self.measured = await eventually(_pending, lambda pending: pending == 1)
            self.lost.set()
        return self.taken == 1

    async def give_up(self, *_: object) -> None: ...


async def test_a_process_that_lost_the_lease_measures_an_empty_outbox(outbox: Outbox) -> None:
    outbox.bus = FakeBus(refused=frozenset({"dk:1"}))  # A lease may expire during an outage.
    await outbox.store("a", company="dk:1")
    lease = ShortLease()

    async with background(working(outbox, lease).run()), asyncio.timeout(SOON):
        await lease.lost.wait()
        # By now it stands by: between the two it waits for nothing.
        told = [
            REGISTRY.get_sample_value(name)
            for name in ("outbox_events_pending", "outbox_oldest_pending_age_seconds")
        ]

    assert lease.measured == 1
    assert told == [0, 0]


class Uncounted(StoredOutbox):
    """An outbox whose counts never end."""

    async def depth(self) -> Depth:
        await asyncio.Event().wait()
        raise AssertionError


async def test_publishing_waits_for_no_count_of_the_outbox(outbox: Outbox) -> None:
    await outbox.store("a")
    uncounted = Uncounted(outbox.register, retention=RETENTION)
    leases = StoredLeases(outbox.register, holder="one")
    worker = OutboxWorker(
        outbox.publisher(uncounted), outbox.confirm, leases, random=Random(1), now=outbox.clock
    )

    async with background(worker.run()):
        await eventually(outbox.unpublished, lambda events: events == [])

    assert outbox.bus.taken == ["a"]


async def test_a_position_is_repeated_once_it_is_known(outbox: Outbox) -> None:
    publish = outbox.publisher()
    await publish.repeat_notice()
    unknown = [*outbox.bus.notices]
    await outbox.store("a")
    await publish()

    await publish.repeat_notice()

    assert unknown == []
    assert [notice.position for notice in outbox.bus.notices] == [1, 1]


@asynccontextmanager
async def publishing_to(
    amqp_url: str, topology: Topology, probe: QueueProbe
) -> AsyncIterator[tuple[SupervisedConnection, Publisher, BrokerBus]]:
    """A connection, its publisher, which is not added yet, and a bus of both."""
    async with supervised(amqp_url, name="events", random=Random(1)) as connection:
        publisher = Publisher(connection, topology=topology, timeout=timedelta(seconds=SOON))
        bus = BrokerBus(publisher, probe, Broadcaster(connection, FEED_EXCHANGE))
        yield connection, publisher, bus


async def test_events_wait_in_the_outbox_until_a_queue_is_bound(
    outbox: Outbox, amqp_url: str
) -> None:
    await outbox.store("a", company="dk:1")
    exchange = Topology(topic_exchanges=(EVENTS_EXCHANGE,))
    async with (
        publishing_to(amqp_url, exchange, QueueProbe()) as (connection, publisher, bus),
        await aio_pika.connect(amqp_url) as client,
    ):
        await connection.add(publisher)
        await until_connected(connection)
        publish = outbox.publisher(bus=bus)
        with pytest.raises(NoQueueBound):
            await publish()
        channel = await client.channel()
        queue = await channel.declare_queue(
            "all", arguments={"x-queue-type": "quorum"}, durable=True
        )
        await queue.bind(EVENTS_EXCHANGE, "#")

        count = await publish()
        message = await queue.get(timeout=SOON)
        await message.ack()

    assert (count, message.body) == (1, b"a")


async def keep(_message: object) -> None:
    """Leaves a message unacked."""


async def test_repeats_wait_for_a_dispatcher_that_has_few_events_to_do(amqp_url: str) -> None:
    probe = QueueProbe()
    async with (
        publishing_to(amqp_url, delivery_topology(), probe) as (connection, publisher, bus),
        await aio_pika.connect(amqp_url) as dispatcher,
    ):
        await connection.add(probe)
        await until_connected(connection)
        without_queue = await bus.takes_repeats()
        await connection.add(publisher)
        without_dispatcher = await bus.takes_repeats()
        channel = await dispatcher.channel()
        await channel.set_qos(1)
        await (await channel.get_queue(FAN_OUT_QUEUE)).consume(keep)
        with_dispatcher = await eventually(bus.takes_repeats, bool)
        # One of them is in the consumer's hands, which takes no second one.
        for _ in range(LONG_QUEUE + 1):
            await publisher.publish(b"{}", routing_key=FAN_OUT_QUEUE)
        with_backlog = await eventually(bus.takes_repeats, lambda takes: not takes)

    assert (without_queue, without_dispatcher) == (False, False)
    assert (with_dispatcher, with_backlog) == (True, False)
