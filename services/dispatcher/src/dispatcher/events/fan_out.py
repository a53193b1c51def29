"""Fan-out of an event: one row per matching webhook, whose first attempt begins or is queued."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.webhooks import AddressedEvent, decode_addressed
from dispatcher.store import Store
from webhook_store.deliveries.models import CancelReason, NewDelivery, StoredEvent
from webhook_store.webhooks.matching import Subject
from webhook_store.webhooks.models import Match, delivery_id


class NotAnEvent(Exception):
    """The message is not a valid event."""


@dataclass(frozen=True, slots=True)
class FanOut:
    """Safe to repeat at any point: ids derive from the event, and a receipt ends its fan-out."""

    store: Store
    #: Stores the deliveries of an event and begins or queues them; raises `Unavailable`.
    deliver: Callable[[Sequence[NewDelivery]], Awaitable[None]]

    async def __call__(self, message: bytes) -> None:
        """Fans an event out; raises NotAnEvent, or `Unavailable` when it must be retried."""
        event, body = _read(message)
        if await self.store.has_receipt(event.id):
            return
        await self._fan_out(event, body)
        # Last: once a receipt exists, the outbox does not publish the event again.
        await self.store.add_receipt(event.id)

    async def _fan_out(self, event: AddressedEvent, body: bytes) -> None:
        matches = await self._matches(event)
        # A test event is about an invented company.
        is_removal = event.type is EventType.COMPANY_REMOVED and not event.test
        if not matches and not is_removal:
            return
        company = _company(event)
        await self.store.store_event(StoredEvent(event.id, event.type, company, body))
        if company is not None:
            if is_removal:
                # The removal is stored before this, and other events check for it after they are
                # stored, so of two concurrent events at least one sees the other.
                await self.store.purge(await self.store.events.of_company(company))
            elif await self.store.is_removed(company):
                await self.store.events.forget([event.id])
                return
        await self.deliver([_delivery(event, match) for match in matches])

    async def _matches(self, event: AddressedEvent) -> Sequence[Match]:
        if event.webhook_id is not None:
            match = await self.store.webhooks.match_of(event.webhook_id)
            return () if match is None else (match,)
        if event.owner is not None and event.data is not None and event.data.webhook is not None:
            about = event.data.webhook.id
            return await self.store.webhooks.of_owner(event.owner, event.type, other_than=about)
        if event.country is None or event.vat is None:
            raise NotAnEvent(f"event {event.id} is for no webhook and about no company")
        return await self.store.matching(Subject.of(event, event.country, event.vat))


def _read(message: bytes) -> tuple[AddressedEvent, bytes]:
    try:
        event, body = decode_addressed(message)
        # Validated first, so that nothing of an invalid event is stored.
        UUID(event.id)
        datetime.fromisoformat(event.occurred_at)
    except ValueError as error:
        raise NotAnEvent(str(error)) from error
    return event, body


def _company(event: AddressedEvent) -> CompanyKey | None:
    if event.test or event.country is None or event.vat is None:
        return None
    return CompanyKey(event.country, event.vat)


def _delivery(event: AddressedEvent, match: Match) -> NewDelivery:
    return NewDelivery(
        id=delivery_id(event.id, match.webhook_id),
        webhook_id=match.webhook_id,
        generation=match.generation,
        event_id=event.id,
        event_type=event.type,
        occurred_at=datetime.fromisoformat(event.occurred_at),
        cancelled=None if match.enabled else CancelReason.WEBHOOK_DISABLED,
    )
