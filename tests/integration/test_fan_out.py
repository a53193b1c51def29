"""An event becomes a delivery for each webhook that it is for; its first attempt begins at once."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType, encode_event
from common.contracts.failures import Unavailable
from common.contracts.watchlists import WatchlistId
from common.contracts.webhooks import WebhookFilter, WebhookId, WebhookStatus, encode_for
from common.mongo import Database
from common.runtime.tasks import running
from dispatcher.fan_out import NotAnEvent
from tests.builders.deliveries import VAT, an_event
from tests.builders.webhooks import NOON
from tests.delivery.dispatching import NO_SLOTS, ONE, Dispatching
from tests.delivery.waiting import SOON
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
from webhook_store.watchlists import Members

pytestmark = pytest.mark.integration

WH1, WH2 = WebhookId("wh_1"), WebhookId("wh_2")
A_TEST: dict[str, Any] = {
    "type": EventType.WEBHOOK_TEST,
    "country": None,
    "vat": None,
    "revision": None,
}


@pytest.fixture(name="empty")
async def _empty(empty_webhooks_db: Database) -> AsyncIterator[Dispatching]:
    """No first attempt begins: each is queued."""
    empty = Dispatching(empty_webhooks_db, limits=NO_SLOTS)
    async with running(*empty.store.batchers):
        yield empty


@pytest.fixture(name="fanning")
async def _fanning(empty: Dispatching) -> Dispatching:
    """Two webhooks match every event."""
    await empty.subscribe(WH1, WH2)
    return empty


@pytest.fixture(name="one")
async def _one(empty_webhooks_db: Database) -> AsyncIterator[Dispatching]:
    """A webhook matches every event, and has one slot."""
    one = Dispatching(empty_webhooks_db, limits=ONE)
    async with running(*one.store.batchers):
        await one.subscribe(WH1)
        async with one.attempts.running():
            yield one


async def test_an_event_is_stored_once_with_a_row_and_a_queued_delivery_per_webhook(
    fanning: Dispatching,
) -> None:
    event = an_event()
    norwegian = WebhookFilter(countries=(Country.NO,))
    await fanning.subscribe(WebhookId("wh_3"), filter=norwegian)

    await fanning.happens(event)

    assert (await fanning.stored("events"))[event.id]["body"] == encode_event(event)
    rows = await fanning.stored("deliveries")
    assert set(rows) == {delivery_id(event.id, WH1), delivery_id(event.id, WH2)}
    assert set(fanning.woken) == set(rows)
    assert not any(retries for _, retries in fanning.delivery_queue.enqueued)


async def test_a_repeated_event_creates_nothing_twice(fanning: Dispatching) -> None:
    event = an_event()

    await fanning.happens(event)
    await fanning.happens(event)

    assert len(await fanning.stored("deliveries")) == 2
    assert len(await fanning.stored("events")) == 1


async def test_an_event_with_a_receipt_does_not_reach_webhooks_that_subscribed_later(
    empty: Dispatching,
) -> None:
    event = an_event()
    await empty.happens(event)
    await empty.subscribe(WH1)

    await empty.happens(event)

    assert await empty.stored("deliveries") == {}


async def test_a_change_of_a_watchlist_applies_to_the_next_event_of_every_dispatcher(
    empty: Dispatching,
) -> None:
    members, watchlist = Members(empty.database), WatchlistId("wl_1")
    limits = WebhookFilter(watchlists=(watchlist,), companies=(CompanyKey(Country.NO, VAT),))
    await empty.subscribe(WH1, filter=limits)
    before, during, later, after = map(an_event, range(1, 5))

    another = Dispatching(empty.database, limits=NO_SLOTS)
    async with running(*another.store.batchers):
        await empty.happens(before)
        await members.add(watchlist, [CompanyKey(Country.DK, VAT)])
        await empty.happens(during)
        await another.happens(later)
        await members.remove(watchlist, [CompanyKey(Country.DK, VAT)])
        await another.happens(after)

    rows = await empty.stored("deliveries")
    assert set(rows) == {delivery_id(during.id, WH1), delivery_id(later.id, WH1)}


@pytest.mark.parametrize("subscribed", [(), (WH1,)])
async def test_every_event_gets_a_receipt(empty: Dispatching, subscribed: tuple[WebhookId]) -> None:
    event = an_event()
    await empty.subscribe(*subscribed)

    await empty.happens(event)

    assert set(await empty.stored("receipts")) == {event.id}


async def test_without_a_broker_the_event_is_not_done_and_its_rows_are_kept(
    fanning: Dispatching,
) -> None:
    fanning.delivery_queue.broker.away = True

    with pytest.raises(Unavailable):
        await fanning.happens(an_event())

    assert len(await fanning.stored("deliveries")) == 2
    assert await fanning.stored("receipts") == {}


async def test_for_a_disabled_webhook_the_delivery_is_kept_as_cancelled(empty: Dispatching) -> None:
    event = an_event()
    await empty.subscribe(WH1)
    await empty.subscribe(WH2, status=WebhookStatus.DISABLED)

    await empty.happens(event)

    row = (await empty.stored("deliveries"))[delivery_id(event.id, WH2)]
    assert (row["state"], row["reason"]) == (
        DeliveryState.CANCELLED,
        CancelReason.WEBHOOK_DISABLED,
    )
    assert empty.woken == [delivery_id(event.id, WH1)]


async def test_an_event_without_a_matching_webhook_is_not_stored(empty: Dispatching) -> None:
    await empty.happens(an_event())

    assert await empty.stored("events") == {}


async def test_a_test_event_reaches_only_its_webhook_and_does_not_name_it(
    fanning: Dispatching,
) -> None:
    event = an_event(**A_TEST)

    await fanning.fan_out(encode_for(WH2, event))

    assert fanning.woken == [delivery_id(event.id, WH2)]
    assert (await fanning.stored("events"))[event.id]["body"] == encode_event(event)


async def test_a_test_event_of_a_deleted_webhook_does_nothing(fanning: Dispatching) -> None:
    await fanning.fan_out(encode_for(WebhookId("wh_gone"), an_event(**A_TEST)))

    assert await fanning.stored("deliveries") == {}


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"[]",
        b'{"id":"no type"}',
        encode_event(an_event(type=EventType.WEBHOOK_TEST, country=None, vat=None)),
        encode_event(an_event(id="no-uuid")),
        orjson.dumps({**orjson.loads(encode_event(an_event())), "occurred_at": "yesterday"}),
    ],
)
async def test_an_invalid_event_is_refused(fanning: Dispatching, message: bytes) -> None:
    with pytest.raises(NotAnEvent):
        await fanning.fan_out(message)

    assert await fanning.stored("events") == {}


class TestAfterACompanyWasRemoved:
    """Its register ordered it: nothing of it is sent any more but the removal itself."""

    async def test_its_events_are_deleted_and_their_waiting_deliveries_cancelled(
        self, fanning: Dispatching
    ) -> None:
        before, removal = an_event(1), an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(before)

        await fanning.happens(removal)

        assert list(await fanning.stored("events")) == [removal.id]
        rows = (await fanning.stored("deliveries")).values()
        states = {row["event_id"]: row.get("reason") for row in rows}
        assert states == {before.id: CancelReason.COMPANY_REMOVED, removal.id: None}

    async def test_a_late_event_is_not_sent(self, fanning: Dispatching) -> None:
        late, removal = an_event(1), an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(removal)

        await fanning.happens(late)

        assert list(await fanning.stored("events")) == [removal.id]
        assert set(await fanning.stored("receipts")) == {removal.id, late.id}
        rows = (await fanning.stored("deliveries")).values()
        assert {row["event_id"] for row in rows} == {removal.id}

    async def test_a_removal_without_subscribers_is_stored(self, empty: Dispatching) -> None:
        await empty.happens(an_event(2, type=EventType.COMPANY_REMOVED))

        assert len(await empty.stored("events")) == 1


async def first_row(one: Dispatching) -> dict[str, Any]:
    return (await one.stored("deliveries"))[ROW]


LEASE = timedelta(seconds=30)
ROW = delivery_id(an_event().id, WH1)


class Interfering(Deliveries):
    """Deliveries between whose insert and its answer something happens."""

    def __init__(self, one: Dispatching) -> None:
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


async def test_it_is_stored_as_claimed_and_posted_without_a_message(one: Dispatching) -> None:
    one.sender.gate.clear()
    await one.happens(an_event())
    stored = await first_row(one)
    one.sender.gate.set()
    await one.attempts.drain(SOON)

    assert (stored["state"], stored["attempts"]) == (DeliveryState.WAITING, 0)
    assert (stored["lease_until"], stored["wake_at"]) == (NOON + LEASE, NOON + LEASE)
    [post] = one.posts
    assert post.headers["X-Delivery-Id"] == ROW
    assert one.woken == []
    assert (await first_row(one))["state"] == DeliveryState.SUCCEEDED
    assert len(await one.stored("attempts")) == 1


async def test_over_a_limit_it_is_queued(one: Dispatching) -> None:
    one.sender.gate.clear()
    later = an_event(2)

    await one.happens(an_event())
    await one.happens(later)

    assert one.woken == [delivery_id(later.id, WH1)]
    one.sender.gate.set()


async def test_its_slot_is_free_after_its_post(one: Dispatching) -> None:
    for revision in (1, 2, 3):
        await one.happens(an_event(revision))
        await one.until_recorded(revision)

    assert one.woken == []


async def test_a_delivery_that_an_interrupted_fan_out_left_waiting_is_posted_once(
    one: Dispatching,
) -> None:
    before = Dispatching(one.database, limits=NO_SLOTS)
    before.delivery_queue.broker.away = True
    async with running(*before.store.batchers):
        with pytest.raises(Unavailable):
            await before.happens(an_event())

    await one.happens(an_event())
    await one.attempts.drain(SOON)

    assert len(one.posts) == 1
    assert (await first_row(one))["state"] == DeliveryState.SUCCEEDED


async def test_a_delivery_that_another_process_has_claimed_is_left_to_it(one: Dispatching) -> None:
    another = Dispatching(one.database, limits=ONE)
    another.sender.gate.clear()
    async with running(*another.store.batchers), another.attempts.running():
        await another.happens(an_event())
        await one.database["receipts"].delete_many({})

        await one.happens(an_event())
        await one.happens(an_event(2))

        await one.attempts.drain(SOON)
        another.sender.gate.set()
        await another.attempts.drain(SOON)

    # The second event's, for which the slot is free again.
    assert len(one.posts) == 1
    assert (await first_row(one))["state"] == DeliveryState.SUCCEEDED


async def test_an_insert_without_an_answer_is_made_again(one: Dispatching) -> None:
    deliveries = Interfering(one)
    deliveries.answer.away = True
    with pytest.raises(Unavailable):
        await one.happens(an_event())
    stored = await first_row(one)
    deliveries.answer.away = False

    await one.happens(an_event())
    await one.attempts.drain(SOON)

    # Only this process knows that nobody attempts it.
    assert stored["lease_until"] == NOON + LEASE
    assert len(one.posts) == 1
    assert (await first_row(one))["state"] == DeliveryState.SUCCEEDED


async def test_an_insert_that_fails_releases_its_slot(one: Dispatching) -> None:
    deliveries = Interfering(one)
    deliveries.fault = ValueError("crashed")
    with pytest.raises(ValueError, match="crashed"):
        await one.happens(an_event())
    deliveries.fault = None

    await one.happens(an_event())
    await one.attempts.drain(SOON)

    assert one.woken == []
    assert len(one.posts) == 1


async def test_of_a_company_that_is_removed_meanwhile_nothing_is_posted(one: Dispatching) -> None:
    Interfering(one).purged = True

    await one.happens(an_event())
    await one.attempts.drain(SOON)

    assert one.posts == []
    assert (await first_row(one))["reason"] == CancelReason.COMPANY_REMOVED


def after_the_match(one: Dispatching, happens: Callable[[Dispatching], Awaitable[None]]) -> None:
    """Lets something happen to the webhook before its present state is read."""
    sendables = one.store.sendables

    async def read(ids: Sequence[WebhookId]) -> Sequence[Sendable | None]:
        await happens(one)
        return await sendables(ids)

    vars(one.store)["sendables"] = read


@pytest.mark.parametrize("fields", [{"status": WebhookStatus.DISABLED}, {"generation": 3}])
async def test_a_webhook_that_was_disabled_since_the_match_receives_nothing(
    one: Dispatching, fields: dict[str, Any]
) -> None:
    after_the_match(one, partial(Dispatching.change_webhook, **fields))

    await one.happens(an_event())
    await one.attempts.drain(SOON)

    assert one.posts == []
    assert (await first_row(one))["reason"] == CancelReason.WEBHOOK_DISABLED


async def test_that_of_a_webhook_deleted_since_the_match_is_queued(one: Dispatching) -> None:
    after_the_match(one, Dispatching.delete_webhook)

    await one.happens(an_event())

    # Its message cancels it.
    assert one.woken == [ROW]


async def test_during_an_orderly_end_it_stays_for_the_requeue_job(one: Dispatching) -> None:
    await one.attempts.drain(0)

    await one.happens(an_event())

    assert one.posts == []
    assert (await first_row(one))["state"] == DeliveryState.WAITING
