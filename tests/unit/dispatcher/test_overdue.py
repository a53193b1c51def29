"""What was missed is woken."""

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


async def test_a_delivery_is_left_to_its_message_at_first() -> None:
    sweeping = Sweeping()
    await sweeping.rows.insert([a_new_delivery()])

    assert await sweeping.sweep() == Swept()


async def test_a_delivery_whose_message_did_not_come_is_woken_and_then_left_alone() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)

    first, again = await sweeping.sweep(), await sweeping.sweep()
    sweeping.time.pass_by(PAUSE)
    later = await sweeping.sweep()

    assert (first, again, later) == (Swept(lost=1), Swept(), Swept(lost=1))
    assert sweeping.delivery_queue.enqueued == [(a_task(0), False)] * 2


async def test_a_delivery_that_a_dead_process_had_is_woken_when_its_lease_is_over() -> None:
    sweeping = Sweeping()
    await sweeping.rows.insert([a_new_delivery()])
    await sweeping.rows.claim(a_task())
    sweeping.time.pass_by(sweeping.rows.lease - timedelta(seconds=1))
    before = await sweeping.sweep()
    sweeping.time.pass_by(timedelta(seconds=1))

    assert (before, await sweeping.sweep()) == (Swept(), Swept(lost=1))


async def test_what_waits_for_a_slot_is_found_by_its_lane_and_not_woken() -> None:
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


async def test_what_lanes_have_makes_for_another_pass_too() -> None:
    assert Swept(lost=1, over_cap=LIMIT - 1).may_be_more


async def test_retries_are_woken_in_the_queue_of_retries() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(2)
    row = sweeping.rows.rows[a_delivery_id(0)]
    row.retries, row.attempts = 1, 1

    await sweeping.sweep()

    assert sweeping.delivery_queue.enqueued == [(a_task(1), False), (a_task(0, attempt=2), True)]


async def test_a_pass_wakes_a_thousand_at_most() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(LIMIT + 1)

    passes = [await sweeping.sweep() for _ in range(3)]

    assert passes == [Swept(lost=LIMIT), Swept(lost=1), Swept()]
    assert [one.may_be_more for one in passes] == [True, False, False]


async def test_while_the_queue_is_long_nothing_is_added_to_it() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)
    sweeping.delivery_queue.depth = LONG_QUEUE

    assert await sweeping.sweep() == Swept()


async def test_what_could_not_be_published_is_woken_by_the_next_pass() -> None:
    sweeping = Sweeping()
    await sweeping.with_overdue(1)
    sweeping.delivery_queue.broker.away = True
    with pytest.raises(Unavailable):
        await sweeping.sweep()
    sweeping.delivery_queue.broker.away = False

    assert await sweeping.sweep() == Swept(lost=1)
