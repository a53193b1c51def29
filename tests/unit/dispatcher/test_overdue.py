"""Requeueing of overdue deliveries."""

from datetime import timedelta

import pytest

from common.contracts.webhooks import WebhookId
from common.runtime.outage import Unavailable
from dispatcher.usecases.overdue import LIMIT, LONG_QUEUE, OverdueRequeuer, Swept
from tests.builders.deliveries import a_delivery_id, a_new_delivery, a_task
from tests.fakes.dispatcher import FakeDeliveryQueue, FakeRows, Time

PAUSE = timedelta(minutes=10)


class Sweeping:
    """The use case over fakes."""

    def __init__(self) -> None:
        self.time = Time()
        self.rows = FakeRows(self.time)
        self.delivery_queue = FakeDeliveryQueue()
        self.throttled: set[WebhookId] = set()
        self.looked_at: list[WebhookId] = []
        self.sweep = OverdueRequeuer(
            self.rows,
            self.delivery_queue,
            pause=PAUSE,
            rescan=self.rescan,
            now=self.time.now,
        )

    def rescan(self, webhook_id: WebhookId) -> bool:
        self.looked_at.append(webhook_id)
        return webhook_id in self.throttled

    async def with_overdue(self, count: int) -> None:
        await self.rows.insert([a_new_delivery(number) for number in range(count)])
        self.time.pass_by(self.rows.grace)


async def test_a_delivery_is_not_requeued_within_its_grace() -> None:
    sweeping = Sweeping()
    await sweeping.rows.insert([a_new_delivery()])

    assert await sweeping.sweep() == Swept()


async def test_a_delivery_without_a_message_is_requeued_and_then_postponed() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)

    first, again = await sweeping.sweep(), await sweeping.sweep()
    sweeping.time.pass_by(PAUSE)
    later = await sweeping.sweep()

    assert (first, again, later) == (Swept(lost=1), Swept(), Swept(lost=1))
    assert sweeping.delivery_queue.enqueued == [(a_task(0), False)] * 2


async def test_a_delivery_of_a_crashed_process_is_requeued_after_its_lease() -> None:
    sweeping = Sweeping()
    await sweeping.rows.insert([a_new_delivery()])
    await sweeping.rows.claim(a_task())
    sweeping.time.pass_by(sweeping.rows.lease - timedelta(seconds=1))
    before = await sweeping.sweep()
    sweeping.time.pass_by(timedelta(seconds=1))

    assert (before, await sweeping.sweep()) == (Swept(), Swept(lost=1))


async def test_a_delivery_that_waits_for_a_slot_is_left_to_its_backlog() -> None:
    sweeping = Sweeping()
    slow = WebhookId("wh_slow")
    over_cap = [a_new_delivery(number, webhook_id=slow) for number in range(50)]
    await sweeping.rows.insert([*over_cap, a_new_delivery(50)])
    sweeping.time.pass_by(sweeping.rows.grace)
    sweeping.throttled.add(slow)

    found, again = await sweeping.sweep(), await sweeping.sweep()

    assert (found, again) == (Swept(lost=1, over_cap=50), Swept())
    assert sweeping.delivery_queue.enqueued == [(a_task(50), False)]
    assert sweeping.looked_at.count(slow) == 1


async def test_deliveries_in_backlogs_count_towards_another_pass() -> None:
    assert Swept(lost=1, over_cap=LIMIT - 1).may_be_more


async def test_retries_are_requeued_in_the_retry_queue() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(2)
    row = sweeping.rows.rows[a_delivery_id(0)]
    row.retries, row.attempts = 1, 1

    await sweeping.sweep()

    assert sweeping.delivery_queue.enqueued == [(a_task(1), False), (a_task(0, attempt=2), True)]


async def test_a_pass_requeues_at_most_a_thousand() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(LIMIT + 1)

    passes = [await sweeping.sweep() for _ in range(3)]

    assert passes == [Swept(lost=LIMIT), Swept(lost=1), Swept()]
    assert [one.may_be_more for one in passes] == [True, False, False]


async def test_a_long_queue_receives_no_requeued_deliveries() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)
    sweeping.delivery_queue.depth = LONG_QUEUE

    assert await sweeping.sweep() == Swept()


async def test_unpublished_deliveries_are_requeued_by_the_next_pass() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)
    sweeping.delivery_queue.broker.away = True
    with pytest.raises(Unavailable):
        await sweeping.sweep()
    sweeping.delivery_queue.broker.away = False

    assert await sweeping.sweep() == Swept(lost=1)
