"""Events without the dispatcher's receipt are published again, at its pace."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

import aio_pika
import pytest

from common.contracts.topology import EVENTS_QUEUE, FEED_EXCHANGE
from common.messaging.broadcast import Broadcaster
from common.messaging.connection import supervised
from common.messaging.depth import LONG_QUEUE, QueueProbe
from common.messaging.publisher import Publisher
from common.mongo import Database
from dispatcher.queues import delivery_topology
from lookup.commands import main
from lookup.events.outbox import StoredOutbox
from lookup.events.publisher import PublishOutbox
from lookup.events.receipts import Confirmed, ConfirmEvents, StoredReceipts, StoredUnconfirmedEvents
from lookup.events.worker import BrokerBus
from lookup.store.documents import OUTBOX
from tests.builders.companies import an_outbox_row
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON, eventually, until_connected
from tests.fakes.lookup import FakeBus
from webhook_store.deliveries.events import Receipts

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
RETENTION = timedelta(days=30)
TIMEOUT = timedelta(minutes=2)


@dataclass
class Outbox:
    """An outbox whose clock the test moves, and the dispatcher that it publishes to."""

    register: Database
    receipts: Receipts
    webhooks: Database
    dispatcher: FakeBus = field(default_factory=FakeBus)
    now: datetime = NOON

    def __post_init__(self) -> None:
        self.stored = StoredOutbox(self.register, retention=RETENTION)
        self.unconfirmed = StoredUnconfirmedEvents(self.register, receipt_timeout=TIMEOUT)
        self.publish = PublishOutbox(self.stored, self.dispatcher, self.clock, TIMEOUT)
        self.confirm = ConfirmEvents(
            self.unconfirmed,
            StoredReceipts(self.webhooks),
            self.dispatcher,
            self.clock,
            TIMEOUT,
        )

    def clock(self) -> datetime:
        return self.now

    async def published(self, *ids: str, company: str = "dk:1") -> None:
        """Stores events and publishes them."""
        await self.register[OUTBOX].insert_many(
            an_outbox_row(one, company=company, revision=number, occurred_at=self.now)
            for number, one in enumerate(ids)
        )
        await self.publish()
        self.dispatcher.taken.clear()

    async def received(self, *ids: str) -> None:
        await self.receipts.add(ids, at=self.now)

    async def after(self, passed: timedelta) -> Sequence[str]:
        """The events that a pass at this time publishes again."""
        self.now += passed
        self.dispatcher.taken.clear()
        await self.confirm()
        return self.dispatcher.taken


@pytest.fixture
def outbox(register_db: Database, webhooks_db: Database) -> Outbox:
    return Outbox(register_db, Receipts(webhooks_db, retention=RETENTION), webhooks_db)


async def test_only_events_without_a_receipt_are_published_again(outbox: Outbox) -> None:
    await outbox.published("a", "b", "c")
    await outbox.received("b")

    again = await outbox.after(TIMEOUT)

    assert again == ["a", "c"]


async def test_an_event_is_not_published_again_before_its_receipt_is_due(outbox: Outbox) -> None:
    await outbox.published("a")

    again = await outbox.after(TIMEOUT - timedelta(milliseconds=1))

    assert again == []


async def test_a_confirmed_event_is_never_due_again(outbox: Outbox) -> None:
    await outbox.published("a")
    await outbox.received("a")
    await outbox.confirm()

    await outbox.after(TIMEOUT)
    await outbox.webhooks["receipts"].delete_many({})
    again = await outbox.after(timedelta(days=1))

    assert again == []
    assert await outbox.unconfirmed.depth(at=outbox.now) == (0, None)


async def test_each_repeat_waits_twice_as_long_as_the_one_before(outbox: Outbox) -> None:
    await outbox.published("a")
    await outbox.after(TIMEOUT)

    early = list(await outbox.after(2 * TIMEOUT - timedelta(milliseconds=1)))
    again = await outbox.after(timedelta(milliseconds=1))

    assert (early, again) == ([], ["a"])


async def test_while_events_wait_for_the_dispatcher_none_is_published_again(
    outbox: Outbox,
) -> None:
    await outbox.published("a")
    outbox.dispatcher.has_short_queue = False

    during = list(await outbox.after(timedelta(hours=2)))
    outbox.dispatcher.has_short_queue = True
    after = await outbox.after(timedelta(0))

    assert (during, after) == ([], ["a"])


async def test_receipts_are_noted_while_events_wait_for_the_dispatcher(outbox: Outbox) -> None:
    await outbox.published("a", "b")
    await outbox.received("a")
    outbox.dispatcher.has_short_queue = False
    outbox.now += TIMEOUT

    result = await outbox.confirm()

    assert result == Confirmed(confirmed=1)
    assert await outbox.unconfirmed.depth(at=outbox.now) == (1, NOON)


async def test_events_of_a_company_that_was_removed_meanwhile_are_not_published_again(
    outbox: Outbox,
) -> None:
    await outbox.published("a")
    await outbox.register[OUTBOX].delete_many({"company": "dk:1"})

    assert await outbox.after(TIMEOUT) == []


async def test_an_event_that_could_not_be_published_is_dropped_after_the_retention(
    outbox: Outbox,
) -> None:
    await outbox.published("published")
    await outbox.register[OUTBOX].insert_one(
        {"_id": "a", "company": "dk:1", "occurred_at": NOON, "published_at": None}
    )

    early = await outbox.stored.drop_expired(at=NOON + RETENTION - timedelta(milliseconds=1))
    late = await outbox.stored.drop_expired(at=NOON + RETENTION)

    assert (early, late) == (0, 1)
    assert [one["_id"] async for one in outbox.register[OUTBOX].find()] == ["published"]


async def test_republishing_by_hand_brings_back_events_whose_receipts_were_lost(
    outbox: Outbox,
    mongo_url: str,
    database_names: DatabaseNames,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox.now = NOON - timedelta(hours=1)
    await outbox.published("older")
    outbox.now = NOON
    await outbox.published("lost", "kept")
    await outbox.received("older", "lost", "kept")
    await outbox.after(TIMEOUT)
    await outbox.webhooks["receipts"].delete_many({"_id": {"$in": ["older", "lost"]}})
    monkeypatch.setenv("MONGO_URL", mongo_url)
    monkeypatch.setenv("REGISTER_DB", database_names.register)

    with pytest.raises(SystemExit) as ended:
        await asyncio.to_thread(main, ["republish", "--since", NOON.isoformat()])
    outbox.now = datetime.now(UTC) + timedelta(minutes=1)
    again = await outbox.after(timedelta(0))

    assert ended.value.code == 0
    assert again == ["lost"]


async def test_events_are_found_by_an_index(outbox: Outbox) -> None:
    await outbox.published("a")
    query = {"published_at": {"$lte": NOON}, "again_at": {"$lte": NOON}}

    plan = await outbox.register[OUTBOX].find(query, sort=[("published_at", 1)]).explain()

    assert "unconfirmed" in str(plan["queryPlanner"]["winningPlan"])


async def keep(_message: object) -> None:
    """Leaves a message unacked."""


async def test_repeats_wait_for_a_dispatcher_that_has_few_events_to_do(amqp_url: str) -> None:
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(
            supervised(amqp_url, name="test", random=Random(1))
        )
        probe = QueueProbe()
        publisher = Publisher(
            connection,
            topology=delivery_topology(),
            timeout=timedelta(seconds=SOON),
        )
        await connection.add(probe)
        await until_connected(connection)
        queue = BrokerBus(publisher, probe, Broadcaster(connection, FEED_EXCHANGE))
        without_queue = await queue.takes_repeats()
        await connection.add(publisher)
        without_dispatcher = await queue.takes_repeats()
        dispatcher = await stack.enter_async_context(await aio_pika.connect(amqp_url))
        channel = await dispatcher.channel()
        await channel.set_qos(1)
        consumed = await channel.get_queue(EVENTS_QUEUE)
        await consumed.consume(keep)
        with_dispatcher = await eventually(queue.takes_repeats, bool)
        # One of them is in the consumer's hands, which takes no second one.
        for _ in range(LONG_QUEUE + 1):
            await publisher.publish(b"{}", routing_key=EVENTS_QUEUE)
        with_backlog = await eventually(queue.takes_repeats, lambda takes: not takes)

    assert (without_queue, without_dispatcher) == (False, False)
    assert (with_dispatcher, with_backlog) == (True, False)
