"""Requeueing of overdue deliveries."""

from datetime import timedelta

import pytest

from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from common.messaging.queues import LONG_QUEUE
from common.mongo import Database
from dispatcher.requeue import BATCH_SIZE, OverdueRequeuer, RequeueCounts
from dispatcher.store import Store
from tests.builders.deliveries import a_delivery_id, a_new_delivery, a_store, a_task
from tests.fakes.dispatcher import FakeDeliveryQueue, Time
from webhook_store.collections import DELIVERIES
from webhook_store.deliveries import GRACE, NewDelivery

pytestmark = pytest.mark.integration

PAUSE = timedelta(minutes=10)


class Overdue:
    """The use case over MongoDB, with a queue that records."""

    def __init__(self, webhooks_db: Database) -> None:
        self.time = Time()
        self.rows = a_store(webhooks_db, Store).deliveries
        self.delivery_queue = FakeDeliveryQueue()
        self.throttled: set[WebhookId] = set()
        self.looked_at: list[WebhookId] = []
        self.requeue = OverdueRequeuer(
            self.rows,
            self.delivery_queue,
            pause=PAUSE,
            rescan=self.rescan,
            now=self.time.now,
        )

    def rescan(self, webhook_id: WebhookId) -> bool:
        self.looked_at.append(webhook_id)
        return webhook_id in self.throttled

    async def with_overdue(self, *new: NewDelivery) -> None:
        await self.rows.insert(new, at=self.time.now())
        self.time.pass_by(GRACE)


@pytest.fixture(name="overdue")
def _overdue(empty_webhooks_db: Database) -> Overdue:
    return Overdue(empty_webhooks_db)


async def test_a_delivery_without_a_message_is_requeued_and_then_postponed(
    overdue: Overdue,
) -> None:
    await overdue.with_overdue(a_new_delivery(0))

    first, again = await overdue.requeue(), await overdue.requeue()
    overdue.time.pass_by(PAUSE)
    later = await overdue.requeue()

    assert (first, again, later) == (RequeueCounts(lost=1), RequeueCounts(), RequeueCounts(lost=1))
    assert overdue.delivery_queue.enqueued == [(a_task(0), False)] * 2


async def test_a_delivery_that_waits_for_a_slot_is_left_to_its_backlog(overdue: Overdue) -> None:
    slow = WebhookId("wh_slow")
    throttled = [a_new_delivery(number, webhook_id=slow) for number in range(50)]
    await overdue.with_overdue(*throttled, a_new_delivery(50))
    overdue.throttled.add(slow)

    found, again = await overdue.requeue(), await overdue.requeue()

    assert (found, again) == (RequeueCounts(lost=1, throttled=50), RequeueCounts())
    assert overdue.delivery_queue.enqueued == [(a_task(50), False)]
    assert overdue.looked_at.count(slow) == 1


def test_deliveries_in_backlogs_count_towards_another_pass() -> None:
    assert RequeueCounts(lost=1, throttled=BATCH_SIZE - 1).may_be_more


async def test_retries_are_requeued_in_the_retry_queue(
    overdue: Overdue, empty_webhooks_db: Database
) -> None:
    await overdue.with_overdue(a_new_delivery(0), a_new_delivery(1))
    retried = {"$set": {"retries": 1, "attempts": 1}}
    await empty_webhooks_db[DELIVERIES].update_one({"_id": a_delivery_id(0)}, retried)

    await overdue.requeue()

    assert overdue.delivery_queue.enqueued == [(a_task(1), False), (a_task(0, attempt=2), True)]


async def test_a_pass_requeues_at_most_a_thousand(overdue: Overdue) -> None:
    await overdue.with_overdue(*map(a_new_delivery, range(BATCH_SIZE + 1)))

    passes = [await overdue.requeue() for _ in range(3)]

    assert passes == [RequeueCounts(lost=BATCH_SIZE), RequeueCounts(lost=1), RequeueCounts()]
    assert [one.may_be_more for one in passes] == [True, False, False]


async def test_a_long_queue_receives_no_requeued_deliveries(overdue: Overdue) -> None:
    await overdue.with_overdue(a_new_delivery(0))
    overdue.delivery_queue.depth = LONG_QUEUE

    assert await overdue.requeue() == RequeueCounts()


async def test_unpublished_deliveries_are_requeued_by_the_next_pass(overdue: Overdue) -> None:
    await overdue.with_overdue(a_new_delivery(0))
    overdue.delivery_queue.broker.away = True
    with pytest.raises(Unavailable):
        await overdue.requeue()
    overdue.delivery_queue.broker.away = False

    assert await overdue.requeue() == RequeueCounts(lost=1)
