"""Attempts over MongoDB: messages, posts, results and backlogs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from common.contracts.failures import Unavailable
from common.contracts.topology import DeliveryTask, encode_tasks
from common.contracts.webhooks import DisabledReason, WebhookId
from common.mongo import Database
from dispatcher import attempts
from dispatcher.outcomes import Cause, NoResponse, Response
from dispatcher.slots import ConcurrencyLimits, LimitKey
from dispatcher.telemetry import DeferReason
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_task
from tests.builders.webhooks import OWNER, URL
from tests.delivery.dispatching import BODY, DELAYS, LIMIT_KEY, ONE, Dispatching, dispatching, until
from tests.delivery.waiting import SOON
from webhook_store.deliveries import CancelReason, DeliveryState

pytestmark = pytest.mark.integration

ROW = a_delivery_id()
OTHER = WebhookId("wh_2")
OTHER_KEY = LimitKey(OTHER, LIMIT_KEY.host, OWNER)

Made = Callable[..., AbstractAsyncContextManager[Dispatching]]


@pytest.fixture(name="made")
def _made(empty_webhooks_db: Database) -> Made:
    return partial(dispatching, empty_webhooks_db)


@pytest.fixture(name="one")
async def _one(made: Made) -> AsyncIterator[Dispatching]:
    """With one delivery that waits."""
    async with made() as one:
        await one.keep(1)
        yield one


@pytest.fixture(name="slow")
async def _slow(made: Made) -> AsyncIterator[Dispatching]:
    """With one post of a webhook at a time; its attempts run."""
    async with made(limits=ONE) as slow, slow.attempts.running():
        yield slow


async def test_a_due_delivery_is_posted_signed_and_recorded(one: Dispatching) -> None:
    await one.wake_and_finish()

    [post] = one.posts
    assert post.body == BODY
    assert post.headers["X-Delivery-Id"] == ROW
    assert post.headers["X-Timestamp"] == "1772452800"
    assert post.headers["Content-Type"] == "application/json"
    assert (await one.row())["state"] == DeliveryState.SUCCEEDED
    assert one.telemetry.results[0].response_code == 204


async def test_the_duration_of_an_attempt_is_never_negative(one: Dispatching) -> None:
    one.sender.gate.clear()

    async with one.attempts.running():
        await one.wake()
        await one.until_in_flight(1)
        # As a more precise reading of the database's clock does.
        one.time.pass_by(timedelta(milliseconds=-3))
        one.sender.gate.set()
        await one.attempts.drain(SOON)

    assert one.telemetry.results[0].duration == timedelta()


async def test_a_delivery_that_fails_is_retried_and_told_of_and_then_disables_its_webhook(
    one: Dispatching,
) -> None:
    notices = []
    for attempt, delay in enumerate((*DELAYS, timedelta()), start=1):
        one.sender.outcomes.append(NoResponse(Cause.TIMEOUT) if attempt == 1 else Response(500))
        await one.wake_and_finish(a_task(attempt=attempt))
        due = await one.store.notices.due(limit=5)
        notices.append([event.type.value for notice in due for event in notice.events])
        one.time.pass_by(delay)

    first, *_, last = one.telemetry.results
    webhook = (await one.stored("webhooks"))[WEBHOOK]
    assert (first.error, first.response_code) == ("timeout", None)
    assert first.next_attempt_at == first.at + DELAYS[0]
    assert first.disables_at == first.at + sum(DELAYS, timedelta())
    assert one.delivery_queue.scheduled == [
        (a_task(attempt=attempt), delay) for attempt, delay in enumerate(DELAYS, start=2)
    ]
    assert notices[:3] == [[], [], ["webhook.failing"]]
    assert notices[3] == ["webhook.failing", "webhook.disabled"]
    assert (last.disable, last.next_attempt_at) == (DisabledReason.DELIVERY_FAILED, None)
    assert (await one.row())["state"] == DeliveryState.FAILED
    assert (webhook["status"], webhook["disabled_reason"]) == ("disabled", "delivery_failed")


async def test_a_hanging_receiver_holds_no_message(one: Dispatching) -> None:
    one.sender.gate.clear()
    async with one.attempts.running():
        await one.wake()

        assert "claim" in await one.row()
        one.sender.gate.set()
        await one.attempts.drain(SOON)

    assert one.done == 1


async def test_a_message_without_a_claim_releases_its_slot(made: Made) -> None:
    async with made(limits=ONE) as one:
        await one.wake_and_finish(7)
        await one.keep(1)

        await one.wake_and_finish()

    assert len(one.posts) == 1


async def test_a_failed_claim_releases_its_slot_and_fails_the_message(made: Made) -> None:
    async with made(limits=ONE) as one:
        await one.keep(1)
        one.store.crashing.add(ROW)
        with pytest.raises(ValueError, match="crashed"):
            await one.wake_and_finish()
        one.store.crashing.clear()

        await one.wake_and_finish()

    assert one.done == 1


@pytest.mark.parametrize("status", [204, 500])
async def test_a_repeated_message_posts_once(one: Dispatching, status: int) -> None:
    one.sender.outcomes.append(Response(status))

    await one.wake_and_finish(1, 1)
    await one.wake_and_finish(1)

    assert len(one.posts) == 1


async def purge(one: Dispatching) -> None:
    await one.database["events"].delete_many({})


@pytest.mark.parametrize(
    "change, reason",
    [
        (Dispatching.delete_webhook, CancelReason.WEBHOOK_DELETED),
        (partial(Dispatching.change_webhook, status="disabled"), CancelReason.WEBHOOK_DISABLED),
        # Disabled and enabled again: what waited then does not come back by itself.
        (partial(Dispatching.change_webhook, generation=3), CancelReason.WEBHOOK_DISABLED),
        (purge, CancelReason.COMPANY_REMOVED),
    ],
    ids=["deleted", "disabled", "enabled-again", "purged"],
)
async def test_a_delivery_that_its_webhook_must_not_receive_is_cancelled(
    one: Dispatching, change: Callable[[Dispatching], Awaitable[None]], reason: CancelReason
) -> None:
    await change(one)

    await one.wake_and_finish()

    assert one.posts == []
    row = await one.row()
    assert (row["state"], row["reason"]) == (DeliveryState.CANCELLED, reason)
    assert [each.reason for each in one.telemetry.cancellations] == [reason]


@pytest.mark.parametrize(
    "fields, fault, reason",
    [
        ({}, "key", DeferReason.DECRYPTION_FAILED),
        ({}, "sockets", DeferReason.OUTAGE),
        # A post might outlast it.
        ({"lease": timedelta(seconds=9)}, "", DeferReason.LEASE),
    ],
)
async def test_a_delivery_that_cannot_be_attempted_is_deferred_and_charged_no_attempt(
    made: Made, fields: dict[str, Any], fault: str, reason: DeferReason
) -> None:
    async with made(**fields) as one:
        await one.keep(1)
        if fault == "key":
            await one.delete_webhook()
            await one.subscribe(WEBHOOK, key="k9")
        if fault == "sockets":
            one.sender.outcomes.append(Unavailable("no more sockets"))

        await one.wake_and_finish()

        assert ((await one.row())["attempts"], one.telemetry.results) == (0, [])
    assert one.telemetry.deferrals == [(ROW, reason)]


async def read_late(
    one: Dispatching, meanwhile: Callable[[Dispatching], Awaitable[None]] | None = None
) -> None:
    """Claims a delivery, whose event is read after the lease."""
    one.store.reading.clear()
    async with one.attempts.running():
        await one.wake()
        one.time.pass_by(one.lease)
        if meanwhile is not None:
            await meanwhile(one)
        one.store.reading.set()
        await one.attempts.drain(SOON)


async def test_a_delivery_whose_event_was_read_late_is_posted_under_a_new_lease(
    one: Dispatching,
) -> None:
    await read_late(one)

    row = await one.row()
    assert (row["state"], row["settled_by"]) == (DeliveryState.SUCCEEDED, "claim-2")
    assert one.telemetry.deferrals == []


async def test_a_delivery_that_another_process_claimed_meanwhile_is_not_posted(
    one: Dispatching,
) -> None:
    later = one.time.now() + 2 * one.lease
    await read_late(one, partial(Dispatching.change_row, claim="another", lease_until=later))

    assert one.telemetry.deferrals == [(ROW, DeferReason.LEASE)]
    assert one.posts == []


async def test_a_webhook_that_was_deleted_meanwhile_receives_nothing(one: Dispatching) -> None:
    await read_late(one, Dispatching.delete_webhook)

    assert (await one.row())["reason"] == CancelReason.WEBHOOK_DELETED
    assert one.posts == []


async def test_a_database_outage_fails_the_message(one: Dispatching) -> None:
    one.store.mongo.away = True

    with pytest.raises(Unavailable):
        await one.wake_and_finish()

    assert one.posts == []


async def test_a_failed_claim_does_not_cancel_others_of_its_message(one: Dispatching) -> None:
    await one.keep(2)
    one.store.crashing.add(ROW)

    with pytest.raises(ValueError, match="crashed"):
        await one.wake_and_finish(1, 2)

    assert (await one.row(2))["state"] == DeliveryState.SUCCEEDED


async def test_without_a_broker_a_failed_attempt_is_recorded_for_the_requeue_job(
    one: Dispatching,
) -> None:
    one.sender.outcomes.append(Response(500))
    one.delivery_queue.broker.away = True

    await one.wake_and_finish()

    assert (await one.row())["attempts"] == 1
    assert one.telemetry.unpublished == [a_task(attempt=2)]


async def test_a_notice_that_cannot_be_stored_leaves_the_retry(one: Dispatching) -> None:
    await one.change_row(attempts=2, retries=2)
    one.sender.outcomes.append(Response(500))
    one.sender.gate.clear()

    async with one.attempts.running():
        await one.wake(a_task(attempt=3))
        await one.until_in_flight(1)
        one.store.mongo.away = True
        one.sender.gate.set()
        await one.attempts.drain(SOON)

    assert one.delivery_queue.scheduled == [(a_task(attempt=4), DELAYS[2])]
    assert one.telemetry.details == [f"{WEBHOOK} away"]


async def test_a_result_after_the_lease_is_ignored(one: Dispatching) -> None:
    one.sender.gate.clear()
    one.sender.outcomes.append(Response(500))

    async with one.attempts.running():
        await one.wake()
        await one.until_in_flight(1)
        await one.change_row(claim="another-claim")
        one.sender.gate.set()
        await one.attempts.drain(SOON)

    [written] = one.telemetry.written
    assert not written.held
    assert one.delivery_queue.scheduled == []


async def test_all_of_a_slow_webhooks_deliveries_are_made_four_at_a_time(made: Made) -> None:
    async with made() as slow, slow.attempts.running():
        await slow.keep(*range(20))
        slow.sender.gate.clear()
        await slow.wake(*range(20))
        await slow.until_in_flight(4)
        slow.sender.gate.set()
        await slow.until_done(20)
        await until(lambda: slow.attempts.throttled == 0)

    assert slow.sender.most_in_flight == 4


async def test_a_message_over_the_limit_is_acked_before_its_delivery(slow: Dispatching) -> None:
    await slow.keep(1, 2)
    slow.sender.gate.clear()
    await slow.wake(1)
    await slow.wake(2)

    assert slow.telemetry.deferrals == [(a_delivery_id(2), DeferReason.THROTTLED)]
    assert "claim" not in await slow.row(2)
    slow.sender.gate.set()


async def test_a_full_backlog_loses_nothing_and_makes_first_attempts_before_retries(
    slow: Dispatching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "MAX_BUFFERED", 4)
    many = range(9)
    await slow.keep(*many)
    await slow.change_row(0, retries=1, attempts=1)
    slow.crowd(a_task(0, attempt=2), *many[1:])
    await slow.until_done(len(many))
    await until(lambda: slow.attempts.throttled == 0)

    assert slow.telemetry.results[-1].delivery.id == a_delivery_id(0)


async def test_buffered_first_attempts_are_made_in_order_before_retries(slow: Dispatching) -> None:
    await slow.keep(1, 2, 3)
    await slow.change_row(2, retries=1, attempts=1)
    slow.crowd(a_task(2, attempt=2), 1, 3)
    await slow.until_done(3)

    ids = [result.delivery.id for result in slow.telemetry.results]
    assert ids == [a_delivery_id(number) for number in (1, 3, 2)]


async def test_deliveries_without_messages_are_read_when_a_message_says_so(made: Made) -> None:
    async with made() as one, one.attempts.running():
        await one.keep(*range(40))
        [message] = encode_tasks([a_task(1), a_task(2)], more=True)
        await one.attempts.handle(message)
        await one.until_done(40)


async def test_a_delivery_that_arrives_while_the_store_is_read_is_attempted(
    slow: Dispatching, monkeypatch: pytest.MonkeyPatch
) -> None:
    await slow.keep(1)
    read, arrived = slow.store.due, list[int]()

    async def due(webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        found = await read(webhook_id, limit=limit)
        if not arrived:
            arrived.append(2)
            await slow.keep(2)
            slow.crowd(2)
        return found

    monkeypatch.setattr(slow.store, "due", due)
    slow.attempts.scan(LIMIT_KEY)

    await slow.until_done(2)


async def test_a_rescan_finds_deliveries_without_messages(slow: Dispatching) -> None:
    await slow.keep(1, 2, 3)
    slow.sender.gate.clear()
    without = slow.attempts.rescan(WEBHOOK)
    slow.crowd(1, 2)
    await slow.until_in_flight(1)
    with_backlog = slow.attempts.rescan(WEBHOOK)
    slow.sender.gate.set()
    await slow.until_done(3)

    assert (without, with_backlog) == (False, True)


async def test_slots_are_released_before_posts_are_recorded_unless_the_database_is_slow(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "MAX_RECORDING", 5)
    async with made(limits=ONE) as slow, slow.attempts.running():
        await slow.keep(*range(10))
        slow.store.writing.clear()
        slow.attempts.scan(LIMIT_KEY)
        await until(lambda: len(slow.posts) == 6)
        await slow.until_overtaken()
        posted = len(slow.posts) - 1
        slow.store.writing.set()
        await slow.until_done(11)

    assert posted == 6


async def test_simultaneous_timeouts_do_not_start_as_many_posts_at_once(made: Made) -> None:
    async with made(limits=ConcurrencyLimits(owner=2)) as slow, slow.attempts.running():
        await slow.keep(*range(4))
        slow.sender.outcomes.extend([NoResponse(Cause.TIMEOUT)] * 4)
        await slow.wake(*range(4))
        await until(lambda: len(slow.telemetry.results) == 3)
        await slow.until_overtaken()

        assert len(slow.posts) == 3 + 1


async def test_a_hanging_webhook_delays_no_other(made: Made) -> None:
    async with made() as one, one.attempts.running():
        await one.subscribe(OTHER, url="https://hooks.example.com/other")
        one.sender.hanging = URL
        await one.keep(*range(8))
        await one.keep(9, webhook_id=OTHER)
        await one.wake(*range(8))
        await one.until_in_flight(4)

        await one.wake(a_task(9, webhook_id=OTHER))
        await one.until_done(1)

        assert (await one.row(9))["state"] == DeliveryState.SUCCEEDED
        assert one.sender.in_flight == 4


async def test_a_delivery_added_while_a_backlog_ends_is_not_lost(made: Made) -> None:
    async with made() as one, one.attempts.running():
        one.crowd(2)
        await asyncio.sleep(0)
        await one.keep(1)
        one.crowd(1)
        await one.until_done(1)


async def test_a_backlog_survives_crashed_attempts_and_claims(slow: Dispatching) -> None:
    await slow.keep(1, 2)
    # An id of a wrong width cannot be signed: an internal error.
    await slow.keep(3, id="short")
    slow.store.crashing.add(a_delivery_id(1))
    slow.crowd(a_task(3).model_copy(update={"delivery_id": "short"}), 1, 2)
    await slow.until_done(1)
    await until(lambda: len(slow.telemetry.failures) == 2)

    assert set(slow.telemetry.failures) == {("short", WEBHOOK), (a_delivery_id(1), WEBHOOK)}


async def test_a_crashed_backlog_does_not_affect_others(slow: Dispatching) -> None:
    await slow.subscribe(OTHER)
    await slow.keep(1)
    await slow.keep(2, webhook_id=OTHER)
    slow.store.crashing.add(WEBHOOK)
    slow.sender.gate.clear()
    slow.attempts.add(OTHER_KEY, a_task(2, webhook_id=OTHER))
    await slow.until_in_flight(1)
    slow.attempts.scan(LIMIT_KEY)
    assert slow.attempts.rescan(WEBHOOK)
    await until(lambda: not slow.attempts.rescan(WEBHOOK))
    slow.sender.gate.set()
    await slow.until_done(1)

    slow.store.crashing.clear()
    slow.attempts.scan(LIMIT_KEY)  # as a requeued message does
    await slow.until_done(2)

    assert slow.telemetry.failed_backlogs == [WEBHOOK]


async def test_a_backlog_of_a_deleted_webhook_cancels_its_deliveries(one: Dispatching) -> None:
    await one.keep(*range(2, 8))
    await one.delete_webhook()
    async with one.attempts.running():
        one.crowd(*range(1, 8))
        await until(lambda: len(one.telemetry.cancellations) == 7)

    assert one.posts == []


async def test_a_drain_finishes_posts_in_flight_and_starts_none(slow: Dispatching) -> None:
    await slow.keep(1, 2)
    slow.sender.gate.clear()
    slow.crowd(1, 2)
    await slow.until_in_flight(1)
    stopping = asyncio.create_task(slow.attempts.drain(SOON))
    await asyncio.sleep(0)
    slow.sender.gate.set()
    await stopping
    slow.crowd(2)

    assert (slow.done, len(slow.posts), slow.attempts.throttled) == (1, 1, 0)


async def test_a_backlog_waits_out_an_outage(made: Made) -> None:
    async with made() as one, one.attempts.running():
        await one.keep(1, 2)
        one.store.mongo.away = True
        one.crowd(1, 2)
        await until(lambda: one.store.refused > 1)
        one.store.mongo.away = False
        await one.until_done(2)

    assert len(one.posts) == 2
    assert one.telemetry.deferrals == []


async def test_a_backlog_that_waits_for_the_database_does_not_delay_the_end(
    one: Dispatching,
) -> None:
    one.store.mongo.away = True
    async with one.attempts.running():
        one.crowd(1)
        await until(lambda: one.store.refused > 0)
        async with asyncio.timeout(SOON):
            await one.attempts.drain(10 * SOON)

    assert (await one.row())["attempts"] == 0
    assert one.posts == []


async def test_a_drain_is_bounded(made: Made) -> None:
    async with made() as one, one.attempts.running():
        await one.keep(*range(8))
        one.sender.gate.clear()
        one.crowd(*range(8))
        await one.until_in_flight(4)

        await one.attempts.drain(0)
        await until(lambda: one.sender.in_flight == 0)

    # Deliveries in flight and those waiting for a slot are not lost: both are still waiting rows.
    rows = (await one.stored("deliveries")).values()
    assert [row["state"] for row in rows] == [DeliveryState.WAITING] * 8
