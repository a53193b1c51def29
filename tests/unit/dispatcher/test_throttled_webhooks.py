"""Backlogs of deliveries over their limit."""

import asyncio

from common.contracts.deliveries import encode_tasks
from common.contracts.webhooks import WebhookId
from dispatcher.attempts import MAX_BUFFERED, MAX_RECORDING
from dispatcher.outcomes import Cause, NoResponse, Response
from dispatcher.slots import ConcurrencyLimits, LimitKey
from dispatcher.telemetry import DeferReason
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_sendable, a_task
from tests.delivery.waiting import SOON
from tests.unit.dispatcher.conftest import LIMIT_KEY, Dispatching, until
from webhook_store.deliveries import DeliveryState

#: Of which a webhook has one post at a time.
ONE = ConcurrencyLimits(webhook=1)


async def test_all_of_a_slow_webhooks_deliveries_are_made_four_at_a_time() -> None:
    dispatching = Dispatching()
    dispatching.keep(*range(20))
    dispatching.sender.gate.clear()
    async with dispatching.working():
        await dispatching.wake(*range(20))
        await dispatching.until_in_flight(4)
        dispatching.sender.gate.set()
        await dispatching.until_done(20)
        await until(lambda: dispatching.throttled.count == 0)

    assert dispatching.sender.most_in_flight == 4


async def test_a_message_over_the_limit_is_acked_before_its_delivery() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2)
    dispatching.sender.gate.clear()
    async with dispatching.working():
        await dispatching.wake(1)
        await dispatching.wake(2)

        assert dispatching.telemetry.deferrals == [(a_delivery_id(2), DeferReason.THROTTLED)]
        assert dispatching.row(2).claim is None
        dispatching.sender.gate.set()


async def test_a_full_backlog_loses_nothing_and_keeps_first_attempts_first() -> None:
    dispatching = Dispatching(limits=ONE)
    many = range(2 * MAX_BUFFERED + 1)
    dispatching.keep(*many)
    retry = a_delivery_id(0)
    dispatching.store.rows[retry].retries = dispatching.store.rows[retry].attempts = 1
    async with dispatching.working():
        dispatching.crowd(a_task(0, attempt=2), *many[1:])
        await dispatching.until_done(len(many))
        await until(lambda: dispatching.throttled.count == 0)

    assert dispatching.store.results[-1].delivery.id == retry


async def test_deliveries_without_messages_are_read_when_a_message_says_so() -> None:
    dispatching = Dispatching()
    dispatching.keep(*range(40))
    async with dispatching.working():
        [message] = encode_tasks([a_task(1), a_task(2)], more=True)
        await dispatching.throttled.handle(message)
        await dispatching.until_done(40)


async def test_a_rescan_finds_deliveries_without_messages() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2, 3)
    dispatching.sender.gate.clear()
    async with dispatching.working():
        without = dispatching.throttled.rescan(WEBHOOK)
        dispatching.crowd(1, 2)
        await dispatching.until_in_flight(1)
        with_backlog = dispatching.throttled.rescan(WEBHOOK)
        dispatching.sender.gate.set()
        await dispatching.until_done(3)

    assert (without, with_backlog) == (False, True)


async def test_a_slot_is_released_before_its_post_is_recorded() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(*range(10))
    dispatching.store.writing.clear()
    async with dispatching.working():
        dispatching.crowd(*range(10))
        await until(lambda: len(dispatching.posts) == 10)
        assert dispatching.done == 0
        dispatching.store.writing.set()
        await dispatching.until_done(10)

    assert dispatching.sender.most_in_flight == 1


async def test_posts_wait_for_a_slow_database() -> None:
    dispatching = Dispatching(limits=ONE)
    many = MAX_RECORDING + 10
    dispatching.keep(*range(many))
    dispatching.store.writing.clear()
    async with dispatching.working():
        dispatching.throttled.scan(LIMIT_KEY)
        await until(lambda: len(dispatching.posts) == MAX_RECORDING + 1)
        for _ in range(20):
            await asyncio.sleep(0)
        posted = len(dispatching.posts)
        dispatching.store.writing.set()
        await dispatching.until_done(many)

    assert posted == MAX_RECORDING + 1


async def test_simultaneous_timeouts_do_not_start_as_many_posts_at_once() -> None:
    dispatching = Dispatching(limits=ConcurrencyLimits(owner=2))
    dispatching.keep(*range(4))
    dispatching.sender.outcomes.extend([NoResponse(Cause.TIMEOUT)] * 4)
    async with dispatching.working():
        await dispatching.wake(*range(4))
        await until(lambda: len(dispatching.store.results) == 3)
        for _ in range(20):
            await asyncio.sleep(0)

        assert len(dispatching.posts) == 3


async def test_a_hanging_webhook_delays_no_other() -> None:
    dispatching = Dispatching()
    other = WebhookId("wh_2")
    dispatching.store.others[other] = a_sendable(other, url="https://hooks.example.com/other")
    dispatching.sender.hanging = a_sendable().url
    dispatching.keep(*range(8))
    dispatching.keep(9, webhook_id=other)
    async with dispatching.working():
        await dispatching.wake(*range(8))
        await dispatching.until_in_flight(4)

        await dispatching.wake(a_task(9, webhook_id=other))
        await dispatching.until_done(1)

        assert dispatching.row(9).state is DeliveryState.SUCCEEDED
        assert dispatching.sender.in_flight == 4


async def test_first_attempts_go_before_retries() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2, 3)
    dispatching.row(2).retries = 1
    dispatching.row(2).attempts = 1
    async with dispatching.working():
        dispatching.crowd(a_task(2, attempt=2), 1, 3)
        await dispatching.until_done(3)

    assert [result.delivery.id for result in dispatching.store.results] == [
        a_delivery_id(1),
        a_delivery_id(3),
        a_delivery_id(2),
    ]


async def test_a_delivery_added_while_a_backlog_ends_is_not_lost() -> None:
    dispatching = Dispatching()
    async with dispatching.working():
        dispatching.crowd(2)
        await asyncio.sleep(0)
        dispatching.keep(1)
        dispatching.crowd(1)
        await dispatching.until_done(1)


async def test_a_backlog_survives_a_crashed_attempt() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2)
    dispatching.sender.outcomes.append(Response(204))
    # An id of a wrong width cannot be signed: an internal error.
    dispatching.keep(1, id="short")
    async with dispatching.working():
        dispatching.crowd(a_task(1).model_copy(update={"delivery_id": "short"}))
        dispatching.crowd(1, 2)
        await dispatching.until_done(2)
        await until(lambda: len(dispatching.telemetry.failures) == 1)

    assert dispatching.telemetry.failures == [("short", WEBHOOK)]


async def test_a_backlog_survives_a_crashed_claim() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2)
    dispatching.store.crashing.add(a_delivery_id(1))
    async with dispatching.working():
        dispatching.crowd(1, 2)
        await dispatching.until_done(1)

    assert dispatching.telemetry.failures == [(a_delivery_id(1), WEBHOOK)]


async def test_a_crashed_backlog_does_not_affect_others() -> None:
    dispatching = Dispatching(limits=ONE)
    other = WebhookId("wh_2")
    dispatching.keep(1)
    dispatching.keep(2, webhook_id=other)
    dispatching.store.crashing_backlogs.add(WEBHOOK)
    dispatching.sender.gate.clear()
    async with dispatching.working():
        dispatching.throttled.add(
            LimitKey(other, LIMIT_KEY.host, LIMIT_KEY.owner), a_task(2, webhook_id=other)
        )
        await dispatching.until_in_flight(1)
        dispatching.throttled.scan(LIMIT_KEY)
        assert dispatching.throttled.rescan(WEBHOOK)
        await until(lambda: not dispatching.throttled.rescan(WEBHOOK))
        dispatching.sender.gate.set()
        await dispatching.until_done(1)

        dispatching.store.crashing_backlogs.clear()
        dispatching.throttled.scan(LIMIT_KEY)  # as a requeued message does
        await dispatching.until_done(2)

    assert dispatching.telemetry.failed_backlogs == [WEBHOOK]


async def test_a_backlog_of_a_disabled_webhook_cancels_its_deliveries() -> None:
    dispatching = Dispatching()
    dispatching.store.others[WEBHOOK] = None
    dispatching.keep(*range(10))
    async with dispatching.working():
        dispatching.crowd(*range(10))
        await until(lambda: len(dispatching.telemetry.cancellations) == 10)

    assert dispatching.posts == []


async def test_a_drain_finishes_posts_in_flight_and_starts_none() -> None:
    dispatching = Dispatching(limits=ONE)
    dispatching.keep(1, 2)
    dispatching.sender.gate.clear()
    async with dispatching.working():
        dispatching.crowd(1, 2)
        await dispatching.until_in_flight(1)
        stopping = asyncio.create_task(dispatching.throttled.drain(SOON))
        await asyncio.sleep(0)
        dispatching.sender.gate.set()
        await stopping

    assert dispatching.done == 1
    assert len(dispatching.posts) == 1


async def test_a_backlog_waits_out_an_outage() -> None:
    dispatching = Dispatching()
    dispatching.keep(1, 2)
    dispatching.store.mongo.away = True
    async with dispatching.working():
        dispatching.crowd(1, 2)
        await until(lambda: dispatching.store.refused > 1)
        dispatching.store.mongo.away = False
        await dispatching.until_done(2)

    assert len(dispatching.posts) == 2
    assert dispatching.telemetry.deferrals == []


async def test_a_backlog_that_waits_for_the_database_does_not_delay_the_end() -> None:
    dispatching = Dispatching()
    dispatching.keep(1)
    dispatching.store.mongo.away = True
    async with dispatching.working():
        dispatching.crowd(1)
        await until(lambda: dispatching.store.refused > 0)
        async with asyncio.timeout(SOON):
            await dispatching.throttled.drain(10 * SOON)

    assert dispatching.row().attempts == 0
    assert dispatching.posts == []


async def test_a_drain_is_bounded() -> None:
    dispatching = Dispatching()
    dispatching.keep(*range(8))
    dispatching.sender.gate.clear()
    async with dispatching.working():
        dispatching.crowd(*range(8))
        await dispatching.until_in_flight(4)

        await dispatching.throttled.drain(0)

    # Deliveries in flight and those waiting for a slot are not lost: both are still waiting rows.
    assert dispatching.sender.in_flight == 0
    assert all(row.state is DeliveryState.WAITING for row in dispatching.store.rows.values())


async def test_a_drained_process_starts_no_posts() -> None:
    dispatching = Dispatching()
    dispatching.keep(1)
    async with dispatching.working():
        await dispatching.throttled.drain(1)
        dispatching.crowd(1)
        await asyncio.sleep(0)

    assert dispatching.throttled.count == 0
    assert dispatching.posts == []
