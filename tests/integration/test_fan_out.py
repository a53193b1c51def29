"""An event becomes a delivery for each webhook that it is for."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType, encode_event
from common.contracts.failures import Unavailable
from common.contracts.watchlists import WatchlistId
from common.contracts.webhooks import WebhookFilter, WebhookId, WebhookStatus, encode_for
from common.mongo import Database
from dispatcher.batcher import running
from dispatcher.fan_out import NotAnEvent
from tests.builders.deliveries import VAT, a_store, an_event
from tests.delivery.fanning import Fanning
from webhook_store.deliveries import CancelReason, DeliveryState, delivery_id
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
async def _empty(empty_webhooks_db: Database) -> AsyncIterator[Fanning]:
    store = a_store(empty_webhooks_db)
    async with running(*store.batchers):
        yield Fanning(empty_webhooks_db, store)


@pytest.fixture(name="fanning")
async def _fanning(empty: Fanning) -> Fanning:
    """Two webhooks match every event."""
    await empty.subscribe(WH1, WH2)
    return empty


async def test_an_event_is_stored_once_with_a_row_and_a_queued_delivery_per_webhook(
    fanning: Fanning,
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


async def test_a_repeated_event_creates_nothing_twice(fanning: Fanning) -> None:
    event = an_event()

    await fanning.happens(event)
    await fanning.happens(event)

    assert len(await fanning.stored("deliveries")) == 2
    assert len(await fanning.stored("events")) == 1


async def test_an_event_with_a_receipt_does_not_reach_webhooks_that_subscribed_later(
    empty: Fanning,
) -> None:
    event = an_event()
    await empty.happens(event)
    await empty.subscribe(WH1)

    await empty.happens(event)

    assert await empty.stored("deliveries") == {}


async def test_a_change_of_a_watchlist_applies_to_the_next_event_of_every_dispatcher(
    empty: Fanning,
) -> None:
    other = a_store(empty.database)
    members, watchlist = Members(empty.database), WatchlistId("wl_1")
    limits = WebhookFilter(watchlists=(watchlist,), companies=(CompanyKey(Country.NO, VAT),))
    await empty.subscribe(WH1, filter=limits)
    before, during, later, after = map(an_event, range(1, 5))

    async with running(*other.batchers):
        another = Fanning(empty.database, other, empty.delivery_queue)
        await empty.happens(before)
        await members.add(watchlist, [CompanyKey(Country.DK, VAT)])
        await empty.happens(during)
        await another.happens(later)
        await members.remove(watchlist, [CompanyKey(Country.DK, VAT)])
        await another.happens(after)

    rows = await empty.stored("deliveries")
    assert set(rows) == {delivery_id(during.id, WH1), delivery_id(later.id, WH1)}


@pytest.mark.parametrize("subscribed", [(), (WH1,)])
async def test_every_event_gets_a_receipt(empty: Fanning, subscribed: tuple[WebhookId]) -> None:
    event = an_event()
    await empty.subscribe(*subscribed)

    await empty.happens(event)

    assert set(await empty.stored("receipts")) == {event.id}


async def test_without_a_broker_the_event_is_not_done_and_its_rows_are_kept(
    fanning: Fanning,
) -> None:
    fanning.delivery_queue.broker.away = True

    with pytest.raises(Unavailable):
        await fanning.happens(an_event())

    assert len(await fanning.stored("deliveries")) == 2
    assert await fanning.stored("receipts") == {}


async def test_for_a_disabled_webhook_the_delivery_is_kept_as_cancelled(empty: Fanning) -> None:
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


async def test_an_event_without_a_matching_webhook_is_not_stored(empty: Fanning) -> None:
    await empty.happens(an_event())

    assert await empty.stored("events") == {}


async def test_a_test_event_reaches_only_its_webhook_and_does_not_name_it(
    fanning: Fanning,
) -> None:
    event = an_event(**A_TEST)

    await fanning.fan_out(encode_for(WH2, event))

    assert fanning.woken == [delivery_id(event.id, WH2)]
    assert (await fanning.stored("events"))[event.id]["body"] == encode_event(event)


async def test_a_test_event_of_a_deleted_webhook_does_nothing(fanning: Fanning) -> None:
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
async def test_an_invalid_event_is_refused(fanning: Fanning, message: bytes) -> None:
    with pytest.raises(NotAnEvent):
        await fanning.fan_out(message)

    assert await fanning.stored("events") == {}


class TestAfterACompanyWasRemoved:
    """Its register ordered it: nothing of it is sent any more but the removal itself."""

    async def test_its_events_are_deleted_and_their_waiting_deliveries_cancelled(
        self, fanning: Fanning
    ) -> None:
        before, removal = an_event(1), an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(before)

        await fanning.happens(removal)

        assert list(await fanning.stored("events")) == [removal.id]
        rows = (await fanning.stored("deliveries")).values()
        states = {row["event_id"]: row.get("reason") for row in rows}
        assert states == {before.id: CancelReason.COMPANY_REMOVED, removal.id: None}

    async def test_a_late_event_is_not_sent(self, fanning: Fanning) -> None:
        late, removal = an_event(1), an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(removal)

        await fanning.happens(late)

        assert list(await fanning.stored("events")) == [removal.id]
        assert set(await fanning.stored("receipts")) == {removal.id, late.id}
        rows = (await fanning.stored("deliveries")).values()
        assert {row["event_id"] for row in rows} == {removal.id}

    async def test_a_removal_without_subscribers_is_stored(self, empty: Fanning) -> None:
        await empty.happens(an_event(2, type=EventType.COMPANY_REMOVED))

        assert len(await empty.stored("events")) == 1
