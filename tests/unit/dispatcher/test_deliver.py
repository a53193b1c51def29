"""Delivery messages, attempts and their retries."""

import asyncio
from datetime import timedelta

import pytest

from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason, WebhookId
from dispatcher.deliveries.slots import ConcurrencyLimits
from dispatcher.deliveries.telemetry import DeferReason
from dispatcher.sending.outcome import Answered, Cause, Unanswered
from tests.builders.deliveries import (
    WEBHOOK,
    a_delivery_id,
    a_new_delivery,
    a_sendable,
    a_task,
)
from tests.unit.dispatcher.conftest import DELAYS, Dispatching, until
from webhook_store.deliveries.models import Attempted, CancelReason, DeliveryState

ROW = a_delivery_id()


async def a_dispatching() -> Dispatching:
    """With one delivery that waits."""
    dispatching = Dispatching()
    dispatching.store.keep(a_new_delivery())
    return dispatching


def attempted(dispatching: Dispatching, number: int = 0) -> Attempted:
    result = dispatching.store.results[number]
    assert isinstance(result, Attempted)
    return result


async def test_a_due_delivery_is_posted_signed_and_recorded() -> None:
    dispatching = await a_dispatching()

    await dispatching.wake_and_finish(a_task())

    [post] = dispatching.sender.posts
    assert post.body == b'{"id":"event"}'
    assert post.headers["X-Delivery-Id"] == ROW
    assert post.headers["X-Timestamp"] == "1772452800"
    assert post.headers["Content-Type"] == "application/json"
    assert dispatching.store.rows[ROW].state is DeliveryState.SUCCEEDED
    assert attempted(dispatching).response_code == 204


async def test_the_duration_of_an_attempt_is_never_negative() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.gate.clear()

    async with dispatching.working():
        await dispatching.wake(a_task())
        await until(lambda: dispatching.sender.in_flight == 1)
        # As a more precise reading of the database's clock does.
        dispatching.time.pass_by(timedelta(milliseconds=-3))
        dispatching.sender.gate.set()
        await dispatching.throttled.drain(2)

    assert attempted(dispatching).duration == timedelta()


async def test_a_failed_attempt_is_recorded_and_its_retry_waits_for_its_delay() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.outcomes.append(Unanswered(Cause.TIMEOUT))

    await dispatching.wake_and_finish(a_task())

    result = attempted(dispatching)
    assert (result.error, result.response_code) == ("timeout", None)
    assert result.next_attempt_at == dispatching.time.at + DELAYS[0]
    assert dispatching.delivery_queue.scheduled == [(a_task(attempt=2), DELAYS[0])]


async def test_a_delivery_that_fails_for_good_disables_its_webhook() -> None:
    dispatching = await a_dispatching()
    for attempt, delay in enumerate((*DELAYS, timedelta()), start=1):
        dispatching.sender.outcomes.append(Answered(500))
        await dispatching.wake_and_finish(a_task(attempt=attempt))
        dispatching.time.pass_by(delay)

    last = attempted(dispatching, 2)
    assert last.disable is DisabledReason.DELIVERY_FAILED
    assert last.next_attempt_at is None
    assert dispatching.store.rows[ROW].state is DeliveryState.FAILED
    assert len(dispatching.delivery_queue.scheduled) == 2


async def test_a_hanging_receiver_holds_no_message() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.gate.clear()
    async with dispatching.working():
        await dispatching.wake(a_task())

        assert dispatching.store.rows[ROW].claim is not None
        dispatching.sender.gate.set()
        await dispatching.throttled.drain(2)

    assert dispatching.store.rows[ROW].state is DeliveryState.SUCCEEDED


async def test_a_message_without_a_claim_releases_its_slot() -> None:
    dispatching = Dispatching(limits=ConcurrencyLimits(webhook=1))
    await dispatching.wake_and_finish(a_task(7))
    dispatching.store.keep(a_new_delivery())

    await dispatching.wake_and_finish(a_task())

    assert len(dispatching.sender.posts) == 1


async def test_a_failed_claim_releases_its_slot_and_fails_the_message() -> None:
    dispatching = Dispatching(limits=ConcurrencyLimits(webhook=1))
    dispatching.store.keep(a_new_delivery())
    dispatching.store.crashing.add(ROW)
    with pytest.raises(ValueError, match="crashed"):
        await dispatching.wake_and_finish(a_task())
    dispatching.store.crashing.clear()

    await dispatching.wake_and_finish(a_task())

    assert dispatching.store.rows[ROW].state is DeliveryState.SUCCEEDED


async def test_a_repeated_message_posts_once() -> None:
    dispatching = await a_dispatching()

    await dispatching.wake_and_finish(a_task(), a_task())
    await dispatching.wake_and_finish(a_task())

    assert len(dispatching.sender.posts) == 1


async def test_a_message_for_a_completed_attempt_does_nothing() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.outcomes.append(Answered(500))
    await dispatching.wake_and_finish(a_task())

    await dispatching.wake_and_finish(a_task(attempt=1))

    assert len(dispatching.sender.posts) == 1


async def test_a_message_for_an_unknown_delivery_does_nothing() -> None:
    dispatching = Dispatching()

    await dispatching.wake_and_finish(a_task(7))

    assert dispatching.sender.posts == []


@pytest.mark.parametrize(
    "webhook,reason",
    [
        (None, CancelReason.WEBHOOK_DELETED),
        (a_sendable(enabled=False), CancelReason.WEBHOOK_DISABLED),
        # Disabled and enabled again: what waited then does not come back by itself.
        (a_sendable(generation=3), CancelReason.WEBHOOK_DISABLED),
    ],
)
async def test_a_delivery_that_its_webhook_must_not_receive_is_cancelled(
    webhook: object, reason: CancelReason
) -> None:
    dispatching = await a_dispatching()
    dispatching.store.others[WEBHOOK] = webhook  # type: ignore[assignment]

    await dispatching.wake_and_finish(a_task())

    assert dispatching.sender.posts == []
    assert dispatching.store.rows[ROW].reason is reason
    assert [one.reason for one in dispatching.telemetry.cancellations] == [reason]


async def test_a_delivery_of_a_removed_company_is_cancelled() -> None:
    dispatching = await a_dispatching()
    dispatching.store.stored_body = None

    await dispatching.wake_and_finish(a_task())

    assert dispatching.store.rows[ROW].reason is CancelReason.COMPANY_REMOVED


async def test_a_secret_that_cannot_be_opened_charges_no_attempt() -> None:
    dispatching = await a_dispatching()
    dispatching.store.others[WEBHOOK] = a_sendable(secrets=None)

    await dispatching.wake_and_finish(a_task())

    assert dispatching.store.rows[ROW].attempts == 0
    assert dispatching.telemetry.deferrals == [(ROW, DeferReason.DECRYPTION_FAILED)]


async def test_a_local_failure_charges_no_attempt() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.outcomes.append(Unavailable("no more sockets"))

    await dispatching.wake_and_finish(a_task())

    assert dispatching.store.rows[ROW].attempts == 0
    assert dispatching.telemetry.deferrals == [(ROW, DeferReason.OUTAGE)]


async def test_a_post_that_might_outlast_its_lease_is_not_started() -> None:
    dispatching = await a_dispatching()
    dispatching.store.lease = timedelta(seconds=9)

    await dispatching.wake_and_finish(a_task())

    assert dispatching.sender.posts == []
    assert dispatching.telemetry.deferrals == [(ROW, DeferReason.LEASE)]


async def test_a_delivery_whose_event_was_read_late_is_posted_under_a_new_lease() -> None:
    dispatching = await a_dispatching()
    dispatching.store.reading.clear()

    async with dispatching.working():
        await dispatching.wake(a_task())
        first = dispatching.store.rows[ROW].claim
        dispatching.time.pass_by(dispatching.store.lease)
        dispatching.store.reading.set()
        await until(lambda: dispatching.sender.posts != [])
        await dispatching.throttled.drain(2)

    row = dispatching.store.rows[ROW]
    assert (row.state, row.attempts) == (DeliveryState.SUCCEEDED, 1)
    assert row.settled_by != first
    assert dispatching.telemetry.deferrals == []


async def test_a_delivery_that_another_process_claimed_meanwhile_is_not_posted() -> None:
    dispatching = await a_dispatching()
    dispatching.store.reading.clear()

    async with dispatching.working():
        await dispatching.wake(a_task())
        dispatching.time.pass_by(dispatching.store.lease)
        dispatching.store.rows[ROW].claim = "another-claim"
        dispatching.store.reading.set()
        await until(lambda: dispatching.telemetry.deferrals != [])

    assert dispatching.telemetry.deferrals == [(ROW, DeferReason.LEASE)]
    assert dispatching.sender.posts == []


async def test_a_webhook_that_was_deleted_during_an_outage_receives_nothing() -> None:
    dispatching = await a_dispatching()
    dispatching.store.reading.clear()

    async with dispatching.working():
        await dispatching.wake(a_task())
        dispatching.time.pass_by(dispatching.store.lease)
        dispatching.store.others[WEBHOOK] = None
        dispatching.store.reading.set()
        await until(lambda: dispatching.store.rows[ROW].state is not DeliveryState.WAITING)

    assert dispatching.store.rows[ROW].reason is CancelReason.WEBHOOK_DELETED
    assert dispatching.sender.posts == []


async def test_a_database_outage_fails_the_message() -> None:
    dispatching = await a_dispatching()
    dispatching.store.mongo.away = True

    with pytest.raises(Unavailable):
        await dispatching.wake_and_finish(a_task())

    assert dispatching.sender.posts == []


async def test_a_failed_claim_does_not_cancel_others_of_its_message() -> None:
    dispatching = await a_dispatching()
    other = WebhookId("wh_2")
    dispatching.store.keep(a_new_delivery(2, webhook_id=other))
    dispatching.store.rows[a_delivery_id(2)].claim = "another-claim"
    dispatching.sender.outcomes.append(Unavailable("only this one"))

    await dispatching.wake_and_finish(a_task(), a_task(2, webhook_id=other))

    assert dispatching.store.rows[a_delivery_id(2)].state is DeliveryState.SUCCEEDED


async def test_without_a_broker_a_failed_attempt_is_recorded_for_the_requeue_job() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.outcomes.append(Answered(500))
    dispatching.delivery_queue.broker.away = True

    await dispatching.wake_and_finish(a_task())

    assert dispatching.store.rows[ROW].attempts == 1
    assert dispatching.telemetry.unpublished == [a_task(attempt=2)]


async def test_a_result_after_the_lease_is_ignored() -> None:
    dispatching = await a_dispatching()
    dispatching.sender.gate.clear()
    dispatching.sender.outcomes.append(Answered(500))

    async def lose_the_claim() -> None:
        await until(lambda: dispatching.sender.in_flight == 1)
        dispatching.store.rows[ROW].claim = "another-claim"
        dispatching.sender.gate.set()

    await asyncio.gather(dispatching.wake_and_finish(a_task()), lose_the_claim())

    [written] = dispatching.telemetry.written
    assert not written.held
    assert dispatching.delivery_queue.scheduled == []
