"""Delivery messages, attempts and their retries."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason, WebhookId
from dispatcher.outcomes import Cause, NoResponse, Response
from dispatcher.slots import ConcurrencyLimits
from dispatcher.telemetry import DeferReason
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_sendable, a_task
from tests.delivery.waiting import SOON
from tests.unit.dispatcher.conftest import DELAYS, Dispatching, until
from webhook_store.deliveries import CancelReason, DeliveryState
from webhook_store.sending import Sendable

ROW = a_delivery_id()


@pytest.fixture(name="one")
def _one() -> Dispatching:
    """With one delivery that waits."""
    one = Dispatching()
    one.keep(1)
    return one


async def test_a_due_delivery_is_posted_signed_and_recorded(one: Dispatching) -> None:
    await one.wake_and_finish()

    [post] = one.posts
    assert post.body == b'{"id":"event"}'
    assert post.headers["X-Delivery-Id"] == ROW
    assert post.headers["X-Timestamp"] == "1772452800"
    assert post.headers["Content-Type"] == "application/json"
    assert one.row().state is DeliveryState.SUCCEEDED
    assert one.attempted().response_code == 204


async def test_the_duration_of_an_attempt_is_never_negative(one: Dispatching) -> None:
    one.sender.gate.clear()

    async with one.working():
        await one.wake()
        await one.until_in_flight(1)
        # As a more precise reading of the database's clock does.
        one.time.pass_by(timedelta(milliseconds=-3))
        one.sender.gate.set()
        await one.throttled.drain(SOON)

    assert one.attempted().duration == timedelta()


async def test_a_failed_attempt_is_recorded_and_its_retry_waits(one: Dispatching) -> None:
    one.sender.outcomes.append(NoResponse(Cause.TIMEOUT))

    await one.wake_and_finish()

    result = one.attempted()
    assert (result.error, result.response_code) == ("timeout", None)
    assert result.next_attempt_at == one.time.at + DELAYS[0]
    assert one.delivery_queue.scheduled == [(a_task(attempt=2), DELAYS[0])]


async def test_a_delivery_that_fails_for_good_disables_its_webhook(one: Dispatching) -> None:
    for attempt, delay in enumerate((*DELAYS, timedelta()), start=1):
        one.sender.outcomes.append(Response(500))
        await one.wake_and_finish(a_task(attempt=attempt))
        one.time.pass_by(delay)

    last = one.attempted(2)
    assert (last.disable, last.next_attempt_at) == (DisabledReason.DELIVERY_FAILED, None)
    assert one.row().state is DeliveryState.FAILED
    assert len(one.delivery_queue.scheduled) == 2


async def test_a_hanging_receiver_holds_no_message(one: Dispatching) -> None:
    one.sender.gate.clear()
    async with one.working():
        await one.wake()

        assert one.row().claim is not None
        one.sender.gate.set()
        await one.throttled.drain(SOON)

    assert one.done == 1


async def test_a_message_without_a_claim_releases_its_slot() -> None:
    dispatching = Dispatching(limits=ConcurrencyLimits(webhook=1))
    await dispatching.wake_and_finish(7)
    dispatching.keep(1)

    await dispatching.wake_and_finish()

    assert len(dispatching.posts) == 1


async def test_a_failed_claim_releases_its_slot_and_fails_the_message() -> None:
    dispatching = Dispatching(limits=ConcurrencyLimits(webhook=1))
    dispatching.keep(1)
    dispatching.store.crashing.add(ROW)
    with pytest.raises(ValueError, match="crashed"):
        await dispatching.wake_and_finish()
    dispatching.store.crashing.clear()

    await dispatching.wake_and_finish()

    assert dispatching.done == 1


@pytest.mark.parametrize("status", [204, 500])
async def test_a_repeated_message_posts_once(one: Dispatching, status: int) -> None:
    one.sender.outcomes.append(Response(status))

    await one.wake_and_finish(1, 1)
    await one.wake_and_finish(1)

    assert len(one.posts) == 1


@pytest.mark.parametrize(
    "webhook, event, reason",
    [
        (None, b"{}", CancelReason.WEBHOOK_DELETED),
        (a_sendable(enabled=False), b"{}", CancelReason.WEBHOOK_DISABLED),
        # Disabled and enabled again: what waited then does not come back by itself.
        (a_sendable(generation=3), b"{}", CancelReason.WEBHOOK_DISABLED),
        (a_sendable(), None, CancelReason.COMPANY_REMOVED),
    ],
)
async def test_a_delivery_that_its_webhook_must_not_receive_is_cancelled(
    one: Dispatching, webhook: Sendable | None, event: bytes | None, reason: CancelReason
) -> None:
    one.store.others[WEBHOOK], one.store.stored_body = webhook, event

    await one.wake_and_finish()

    assert one.posts == []
    assert one.row().reason is reason
    assert [each.reason for each in one.telemetry.cancellations] == [reason]


def lose_the_key(one: Dispatching) -> None:
    one.store.others[WEBHOOK] = a_sendable(secrets=None)


def lack_sockets(one: Dispatching) -> None:
    one.sender.outcomes.append(Unavailable("no more sockets"))


def shorten_the_lease(one: Dispatching) -> None:
    """So that a post might outlast it."""
    one.store.lease = timedelta(seconds=9)


@pytest.mark.parametrize(
    "fault, reason",
    [
        (lose_the_key, DeferReason.DECRYPTION_FAILED),
        (lack_sockets, DeferReason.OUTAGE),
        (shorten_the_lease, DeferReason.LEASE),
    ],
)
async def test_a_delivery_that_cannot_be_attempted_is_deferred_and_charged_no_attempt(
    one: Dispatching, fault: Callable[[Dispatching], None], reason: DeferReason
) -> None:
    fault(one)

    await one.wake_and_finish()

    assert (one.row().attempts, one.store.results) == (0, [])
    assert one.telemetry.deferrals == [(ROW, reason)]


async def read_late(one: Dispatching, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Claims a delivery, whose event is read after the lease."""
    one.store.reading.clear()
    async with one.working():
        await one.wake()
        one.time.pass_by(one.store.lease)
        meanwhile()
        one.store.reading.set()
        await one.throttled.drain(SOON)


async def test_a_delivery_whose_event_was_read_late_is_posted_under_a_new_lease(
    one: Dispatching,
) -> None:
    await read_late(one)

    row = one.row()
    assert (row.state, row.attempts, row.settled_by) == (DeliveryState.SUCCEEDED, 1, "claim-2")
    assert one.telemetry.deferrals == []


async def test_a_delivery_that_another_process_claimed_meanwhile_is_not_posted(
    one: Dispatching,
) -> None:
    await read_late(one, lambda: setattr(one.row(), "claim", "another-claim"))

    assert one.telemetry.deferrals == [(ROW, DeferReason.LEASE)]
    assert one.posts == []


async def test_a_webhook_that_was_deleted_meanwhile_receives_nothing(one: Dispatching) -> None:
    await read_late(one, lambda: one.store.others.update({WEBHOOK: None}))

    assert one.row().reason is CancelReason.WEBHOOK_DELETED
    assert one.posts == []


async def test_a_database_outage_fails_the_message(one: Dispatching) -> None:
    one.store.mongo.away = True

    with pytest.raises(Unavailable):
        await one.wake_and_finish()

    assert one.posts == []


async def test_a_failed_claim_does_not_cancel_others_of_its_message(one: Dispatching) -> None:
    other = WebhookId("wh_2")
    one.keep(2, webhook_id=other)
    one.row(2).claim = "another-claim"
    one.sender.outcomes.append(Unavailable("only this one"))

    await one.wake_and_finish(1, a_task(2, webhook_id=other))

    assert one.row(2).state is DeliveryState.SUCCEEDED


async def test_without_a_broker_a_failed_attempt_is_recorded_for_the_requeue_job(
    one: Dispatching,
) -> None:
    one.sender.outcomes.append(Response(500))
    one.delivery_queue.broker.away = True

    await one.wake_and_finish()

    assert one.row().attempts == 1
    assert one.telemetry.unpublished == [a_task(attempt=2)]


async def test_a_result_after_the_lease_is_ignored(one: Dispatching) -> None:
    one.sender.gate.clear()
    one.sender.outcomes.append(Response(500))

    async def lose_the_claim() -> None:
        await until(lambda: one.sender.in_flight == 1)
        one.row().claim = "another-claim"
        one.sender.gate.set()

    await asyncio.gather(one.wake_and_finish(), lose_the_claim())

    [written] = one.telemetry.written
    assert not written.held
    assert one.delivery_queue.scheduled == []
