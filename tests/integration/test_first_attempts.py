"""A first attempt whose slot is free begins when its delivery is stored, without a message."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import eq
from typing import Any

import pytest

from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId, WebhookStatus
from common.mongo import Database
from dispatcher.batcher import running
from dispatcher.slots import ConcurrencyLimits
from tests.builders.deliveries import a_store, an_event
from tests.builders.webhooks import NOON
from tests.delivery.fanning import Fanning
from tests.delivery.waiting import SOON, eventually
from tests.fakes.dispatcher import Switch
from webhook_store.deliveries import (
    CancelReason,
    ClaimedDelivery,
    Deliveries,
    DeliveryState,
    DeliveryTimes,
    NewDelivery,
    delivery_id,
)
from webhook_store.sending import Sendable

pytestmark = pytest.mark.integration

WH1 = WebhookId("wh_1")
LEASE = timedelta(seconds=30)
EVENT = an_event()
ROW = delivery_id(EVENT.id, WH1)
#: Of which a webhook has one post at a time.
ONE = ConcurrencyLimits(webhook=1)


@pytest.fixture(name="one")
async def _one(empty_webhooks_db: Database) -> AsyncIterator[Fanning]:
    """A webhook matches every event, and has one slot."""
    store = a_store(empty_webhooks_db)
    async with running(*store.batchers):
        one = Fanning(empty_webhooks_db, store, limits=ONE)
        await one.subscribe(WH1)
        async with one.throttled.running():
            yield one


async def row(one: Fanning) -> dict[str, Any]:
    return (await one.stored("deliveries"))[ROW]


class Interfering(Deliveries):
    """Deliveries between whose insert and its answer something happens."""

    def __init__(self, one: Fanning) -> None:
        super().__init__(one.database, DeliveryTimes(lease=LEASE))
        one.store.deliveries = self
        self.answer = Switch()
        self.store, self.purged = one.store, False
        self.fault: Exception | None = None

    async def insert(
        self, new: Sequence[NewDelivery], *, at: datetime, token: str = ""
    ) -> list[ClaimedDelivery]:
        if self.fault is not None:
            raise self.fault
        claimed = await super().insert(new, at=at, token=token)
        if self.purged:
            await self.store.purge([one.event_id for one in new])
        self.answer.check()
        return claimed


async def test_it_is_stored_as_claimed_and_posted_without_a_message(one: Fanning) -> None:
    one.sender.gate.clear()
    await one.happens(EVENT)
    stored = await row(one)
    one.sender.gate.set()
    await one.throttled.drain(SOON)

    assert (stored["state"], stored["attempts"]) == (DeliveryState.WAITING, 0)
    assert (stored["lease_until"], stored["wake_at"]) == (NOON + LEASE, NOON + LEASE)
    [post] = one.sender.posts
    assert post.headers["X-Delivery-Id"] == ROW
    assert one.woken == []
    assert (await row(one))["state"] == DeliveryState.SUCCEEDED
    assert len(await one.stored("attempts")) == 1


async def test_over_a_limit_it_is_queued(one: Fanning) -> None:
    one.sender.gate.clear()
    later = an_event(2)

    await one.happens(EVENT)
    await one.happens(later)

    assert one.woken == [delivery_id(later.id, WH1)]
    one.sender.gate.set()


async def test_its_slot_is_free_after_its_post(one: Fanning) -> None:
    for revision in (1, 2, 3):
        await one.happens(an_event(revision))
        await eventually(one.recorded, partial(eq, revision))

    assert one.woken == []


async def test_a_delivery_that_an_interrupted_fan_out_left_waiting_is_posted_once(
    one: Fanning,
) -> None:
    before = Fanning(one.database, a_store(one.database))
    before.delivery_queue.broker.away = True
    async with running(*before.store.batchers):
        with pytest.raises(Unavailable):
            await before.happens(EVENT)

    await one.happens(EVENT)
    await one.throttled.drain(SOON)

    assert len(one.sender.posts) == 1
    assert (await row(one))["state"] == DeliveryState.SUCCEEDED


async def test_a_delivery_that_another_process_has_claimed_is_left_to_it(one: Fanning) -> None:
    another = Fanning(one.database, a_store(one.database), limits=ONE)
    another.sender.gate.clear()
    async with running(*another.store.batchers), another.throttled.running():
        await another.happens(EVENT)
        await one.database["receipts"].delete_many({})

        await one.happens(EVENT)
        await one.happens(an_event(2))

        await one.throttled.drain(SOON)
        another.sender.gate.set()
        await another.throttled.drain(SOON)

    # The second event's, for which the slot is free again.
    assert len(one.sender.posts) == 1
    assert (await row(one))["state"] == DeliveryState.SUCCEEDED


async def test_an_insert_without_an_answer_is_made_again(one: Fanning) -> None:
    deliveries = Interfering(one)
    deliveries.answer.away = True
    with pytest.raises(Unavailable):
        await one.happens(EVENT)
    stored = await row(one)
    deliveries.answer.away = False

    await one.happens(EVENT)
    await one.throttled.drain(SOON)

    # Only this process knows that nobody attempts it.
    assert stored["lease_until"] == NOON + LEASE
    assert len(one.sender.posts) == 1
    assert (await row(one))["state"] == DeliveryState.SUCCEEDED


async def test_an_insert_that_fails_releases_its_slot(one: Fanning) -> None:
    deliveries = Interfering(one)
    deliveries.fault = ValueError("crashed")
    with pytest.raises(ValueError, match="crashed"):
        await one.happens(EVENT)
    deliveries.fault = None

    await one.happens(EVENT)
    await one.throttled.drain(SOON)

    assert one.woken == []
    assert len(one.sender.posts) == 1


async def test_of_a_company_that_is_removed_meanwhile_nothing_is_posted(one: Fanning) -> None:
    Interfering(one).purged = True

    await one.happens(EVENT)
    await one.throttled.drain(SOON)

    assert one.sender.posts == []
    assert (await row(one))["reason"] == CancelReason.COMPANY_REMOVED


async def change(one: Fanning, **fields: Any) -> None:
    await one.database["webhooks"].update_one({"_id": WH1}, {"$set": fields})


async def delete(one: Fanning) -> None:
    await one.database["webhooks"].delete_one({"_id": WH1})


def after_the_match(one: Fanning, happens: Callable[[Fanning], Awaitable[None]]) -> None:
    """Lets something happen to the webhook before its present state is read."""
    sendables = one.store.sendables

    async def read(ids: Sequence[WebhookId]) -> Sequence[Sendable | None]:
        await happens(one)
        return await sendables(ids)

    vars(one.store)["sendables"] = read


@pytest.mark.parametrize("fields", [{"status": WebhookStatus.DISABLED}, {"generation": 3}])
async def test_a_webhook_that_was_disabled_since_the_match_receives_nothing(
    one: Fanning, fields: dict[str, Any]
) -> None:
    after_the_match(one, partial(change, **fields))

    await one.happens(EVENT)
    await one.throttled.drain(SOON)

    assert one.sender.posts == []
    assert (await row(one))["reason"] == CancelReason.WEBHOOK_DISABLED


async def test_that_of_a_webhook_deleted_since_the_match_is_queued(one: Fanning) -> None:
    after_the_match(one, delete)

    await one.happens(EVENT)

    # Its message cancels it.
    assert one.woken == [ROW]


async def test_during_an_orderly_end_it_stays_for_the_requeue_job(one: Fanning) -> None:
    await one.throttled.drain(0)

    await one.happens(EVENT)

    assert one.sender.posts == []
    assert (await row(one))["state"] == DeliveryState.WAITING
