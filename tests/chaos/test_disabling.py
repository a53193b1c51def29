"""A webhook that is disabled, and enabled again, while its posts are in flight."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from common.contracts.webhooks import DisabledReason, Webhook, WebhookStatus
from tests.builders.webhooks import a_call
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually
from webhook_registry.webhooks.changes import disabled, enabled
from webhook_store.deliveries.models import Recovery
from webhook_store.deliveries.recoveries import Recoveries

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


async def disable_and_enable(pipe: Pipeline, webhook: Webhook) -> Webhook:
    """As its owner would do it, twice in a row."""
    at = datetime.now(UTC)
    after: Webhook | None = None
    for change in (
        lambda one: disabled(one, DisabledReason.OWNER, at=at),
        lambda one: enabled(one, at=at),
    ):
        after = await pipe.registrations.change(webhook.owner, webhook.id, change)
    assert after is not None
    return after


@pytest.mark.parametrize("status", [500, 410])
async def test_deliveries_in_flight_cannot_disable_it_again(pipe: Pipeline, status: int) -> None:
    webhook = await pipe.webhook("/a")
    gate = asyncio.Event()

    async def fail_later(_received: Received) -> int:
        await gate.wait()
        return status

    pipe.receiver.answer("/a", fail_later)
    # Without retries every failure is the last, and would disable.
    await pipe.dispatcher(webhook_retry_delays="")
    events = [an_event(number) for number in range(4)]
    await pipe.publish(*events)
    await pipe.receiver.until_count(len(events))

    again = await disable_and_enable(pipe, webhook)
    gate.set()
    for event in events:
        await pipe.until_row(event, webhook, state="failed")

    state = await pipe.state_of(webhook)
    assert (state["status"], state["generation"]) == (WebhookStatus.ENABLED, again.generation)

    # And what failed then is sent once it is recovered.
    pipe.receiver.answer("/a", 200)
    now = datetime.now(UTC)
    recovery = Recovery(a_call(1), webhook.id, again.generation, now - timedelta(days=1), now)
    recoveries = Recoveries(pipe.webhooks_db, grace=timedelta())
    count = await recoveries.keep(recovery)
    async for _ in recoveries.begin_anew(recovery, now=lambda: now):
        pass
    assert count == len(events)
    for event in events:
        await pipe.until_row(event, webhook, state="succeeded", attempts=2)


async def test_concurrent_failures_disable_it_once(pipe: Pipeline) -> None:
    webhook = await pipe.webhook("/a")
    pipe.receiver.answer("/a", 410)
    await asyncio.gather(pipe.dispatcher("first"), pipe.dispatcher("second"))
    events = [an_event(number) for number in range(30)]

    await pipe.publish(*events)
    rows = pipe.webhooks_db["deliveries"]
    await eventually(
        lambda: rows.count_documents({"state": {"$in": ["failed", "cancelled"]}}),
        lambda ended: ended == len(events),
    )

    state = await pipe.state_of(webhook)
    assert (state["status"], state["disabled_reason"]) == ("disabled", "gone")
    assert state["generation"] == webhook.generation + 1
    posted = len(pipe.receiver.received)
    assert posted < len(events)
    assert await rows.count_documents({"state": "failed"}) == posted
    assert await rows.count_documents({"reason": "webhook_disabled"}) == len(events) - posted
