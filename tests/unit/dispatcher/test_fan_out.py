"""An event becomes a delivery for each webhook that it is for."""

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.events import EventType, RegistryEvent, encode_event
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId, encode_for
from dispatcher.events.fan_out import FanOut, NotAnEvent
from tests.builders.deliveries import VAT, a_match, an_event
from tests.fakes.dispatcher import (
    FakeDeliveryQueue,
    FakeEvents,
    FakeReceipts,
    FakeRows,
    FakeWebhooks,
)
from webhook_store.deliveries.models import CancelReason, DeliveryState
from webhook_store.webhooks.models import Match, delivery_id

WH1, WH2 = WebhookId("wh_1"), WebhookId("wh_2")


class Fanning:
    """The use case over fakes; two webhooks match every event."""

    def __init__(self) -> None:
        self.webhooks = FakeWebhooks([a_match(WH1), a_match(WH2)])
        self.events = FakeEvents()
        self.rows = FakeRows()
        self.delivery_queue = FakeDeliveryQueue()
        self.receipts = FakeReceipts()
        self.fan_out = FanOut(
            self.webhooks, self.events, self.receipts, self.rows, self.delivery_queue
        )

    async def happens(self, event: RegistryEvent) -> None:
        await self.fan_out(encode_event(event))

    @property
    def woken(self) -> list[str]:
        return [task.delivery_id for task, _ in self.delivery_queue.enqueued]


async def test_an_event_is_stored_once_with_a_row_and_a_queued_delivery_per_webhook() -> None:
    fanning, event = Fanning(), an_event()

    await fanning.happens(event)

    assert fanning.webhooks.asked == [(EventType.COMPANY_UPDATED, Country.DK, VAT)]
    assert fanning.events.stored[event.id].body == encode_event(event)
    assert set(fanning.rows.rows) == {delivery_id(event.id, WH1), delivery_id(event.id, WH2)}
    assert fanning.woken == list(fanning.rows.rows)
    assert not any(retries for _, retries in fanning.delivery_queue.enqueued)


async def test_a_repeated_event_creates_nothing_twice() -> None:
    fanning, event = Fanning(), an_event()

    await fanning.happens(event)
    await fanning.happens(event)

    assert len(fanning.rows.rows) == 2
    assert len(fanning.events.stored) == 1


async def test_an_event_with_a_receipt_does_not_reach_webhooks_that_subscribed_later() -> None:
    fanning, event = Fanning(), an_event()
    fanning.webhooks.matches = []
    await fanning.happens(event)
    fanning.webhooks.matches = [a_match(WH1)]

    await fanning.happens(event)

    assert fanning.rows.rows == {}


@pytest.mark.parametrize("matches", [[], [a_match(WH1)]])
async def test_every_event_gets_a_receipt(matches: list[Match]) -> None:
    fanning, event = Fanning(), an_event()
    fanning.webhooks.matches = matches

    await fanning.happens(event)

    assert fanning.receipts.received == {event.id}


async def test_without_a_broker_the_event_is_not_done_and_its_rows_are_kept() -> None:
    fanning = Fanning()
    fanning.delivery_queue.broker.away = True

    with pytest.raises(Unavailable):
        await fanning.happens(an_event())

    assert len(fanning.rows.rows) == 2
    assert fanning.receipts.received == set()


async def test_for_a_disabled_webhook_the_delivery_is_kept_as_cancelled() -> None:
    fanning, event = Fanning(), an_event()
    fanning.webhooks.matches = [a_match(WH1), a_match(WH2, enabled=False)]

    await fanning.happens(event)

    row = fanning.rows.rows[delivery_id(event.id, WH2)]
    assert (row.state, row.reason) == (DeliveryState.CANCELLED, CancelReason.WEBHOOK_DISABLED)
    assert fanning.woken == [delivery_id(event.id, WH1)]


async def test_an_event_without_a_matching_webhook_is_not_stored() -> None:
    fanning = Fanning()
    fanning.webhooks.matches = []

    await fanning.happens(an_event())

    assert fanning.events.stored == {}


async def test_a_test_event_reaches_only_its_webhook_and_does_not_name_it() -> None:
    fanning = Fanning()
    event = an_event(type=EventType.WEBHOOK_TEST, country=None, vat=None, revision=None)

    await fanning.fan_out(encode_for(WH2, event))

    assert fanning.woken == [delivery_id(event.id, WH2)]
    assert fanning.events.stored[event.id].body == encode_event(event)


async def test_a_test_event_of_a_deleted_webhook_does_nothing() -> None:
    fanning = Fanning()
    event = an_event(type=EventType.WEBHOOK_TEST, country=None, vat=None, revision=None)

    await fanning.fan_out(encode_for(WebhookId("wh_gone"), event))

    assert fanning.rows.rows == {}


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
async def test_an_invalid_event_is_refused(message: bytes) -> None:
    fanning = Fanning()

    with pytest.raises(NotAnEvent):
        await fanning.fan_out(message)

    assert fanning.events.stored == {}


class TestAfterACompanyWasRemoved:
    """Its register ordered it: nothing of it is sent any more but the removal itself."""

    async def test_its_events_are_deleted_and_their_waiting_deliveries_cancelled(self) -> None:
        fanning, before = Fanning(), an_event(1)
        removal = an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(before)

        await fanning.happens(removal)

        assert list(fanning.events.stored) == [removal.id]
        states = {row.new.event_id: row.reason for row in fanning.rows.rows.values()}
        assert states == {before.id: CancelReason.COMPANY_REMOVED, removal.id: None}

    async def test_a_late_event_is_not_sent(self) -> None:
        fanning, late = Fanning(), an_event(1)
        removal = an_event(2, type=EventType.COMPANY_REMOVED)
        await fanning.happens(removal)

        await fanning.happens(late)

        assert list(fanning.events.stored) == [removal.id]
        assert fanning.receipts.received == {removal.id, late.id}
        assert {row.new.event_id for row in fanning.rows.rows.values()} == {removal.id}

    async def test_a_removal_without_subscribers_is_stored(self) -> None:
        fanning = Fanning()
        fanning.webhooks.matches = []

        await fanning.happens(an_event(2, type=EventType.COMPANY_REMOVED))

        assert len(fanning.events.stored) == 1
