"""Ports of the use cases."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType, RegistryEvent
from common.contracts.webhooks import DeliveryId, WebhookId
from webhook_store.deliveries.models import (
    Attempted,
    Claimed,
    Due,
    EventBody,
    NewDelivery,
    Result,
    StoredEvent,
    Written,
)
from webhook_store.webhooks.matching import Subject
from webhook_store.webhooks.models import Match, OwnerNotice, Sendable

T = TypeVar("T")


class Retry(Protocol):
    """Repeats an action while the database is unavailable."""

    async def __call__(self, action: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Returns the action's result; `what` names it in the log."""


class Webhooks(Protocol):
    """The webhooks of all owners. Every method may raise `Unavailable`."""

    def matching(self, subject: Subject, /) -> Awaitable[Sequence[Match]]:
        """Returns the webhooks that subscribe to the event, including disabled ones."""

    async def of_owner(self, owner: str, kind: EventType, *, other_than: str) -> Sequence[Match]:
        """Returns an owner's webhooks that subscribe to events about webhooks, except one."""

    async def match_of(self, webhook_id: WebhookId) -> Match | None:
        """Returns one webhook, with any subscription; None when it is deleted."""

    def sendable(self, webhook_id: WebhookId, /) -> Awaitable[Sendable | None]:
        """Returns a webhook's present state; None when it is deleted."""


class Events(Protocol):
    """Stored event bodies. Every method but `body` may raise `Unavailable`."""

    async def store(self, event: StoredEvent) -> None:
        """Stores an event with the current trace; an existing one is left unchanged."""

    def is_removed(self, company: CompanyKey, /) -> Awaitable[bool]:
        """Checks whether the register ordered the company's removal."""

    async def of_company(self, company: CompanyKey) -> Sequence[str]:
        """Returns the ids of a company's events, except its removal."""

    async def forget(self, event_ids: Collection[str]) -> None:
        """Deletes events: they can no longer be sent."""

    async def body(self, event_id: str) -> EventBody | None:
        """Returns the body to post; None when purged. Waits out a database outage."""


class Receipts(Protocol):
    """Receipts of events whose deliveries are stored. Every method may raise `Unavailable`."""

    def has(self, event_id: str, /) -> Awaitable[bool]:
        """Checks whether the event was fanned out before."""

    def add(self, event_id: str, /) -> Awaitable[None]:
        """Records that all deliveries of the event are stored."""


class Rows(Protocol):
    """Stored deliveries.

    `due`, `renew` and `record` wait out an outage; others raise `Unavailable`.
    """

    def insert(self, new: Sequence[NewDelivery], /) -> Awaitable[None]:
        """Stores deliveries; existing ones are left unchanged."""

    def claim(self, task: DeliveryTask, /) -> Awaitable[Claimed | None]:
        """Claims a delivery for the attempt; None when it is no longer available."""

    async def renew(self, claimed: Claimed) -> Claimed | None:
        """Claims a delivery again under a new lease; None when its claim was lost."""

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        """Returns a webhook's due, unclaimed attempts, retries last."""

    async def record(self, result: Result) -> Written:
        """Writes a result and releases its claim."""

    async def purge(self, event_ids: Collection[str]) -> None:
        """Cancels the waiting deliveries of purged events."""


class Notices(Protocol):
    """Notices for owners. Every method may raise `Unavailable`."""

    async def failing(self, attempted: Attempted) -> None:
        """Notes that a delivery fails, once a day for each webhook."""

    async def due(self, *, limit: int) -> Sequence[OwnerNotice]:
        """Returns notices that are not yet in the outbox."""

    async def remove(self, notice: OwnerNotice) -> None:
        """Removes notices."""


class OwnerEvents(Protocol):
    """Outbox of the lookup service, from which events for owners are published."""

    async def store(self, owner: str, event: RegistryEvent) -> None:
        """Returns when the event is stored, once for each id; raises `Unavailable`."""


class OverdueRows(Protocol):
    """Overdue deliveries, for the requeue job. Every method may raise `Unavailable`."""

    async def overdue(self, *, at: datetime, limit: int) -> Sequence[Due]:
        """Returns overdue deliveries, first attempts before retries."""

    async def postpone(self, ids: Collection[DeliveryId], *, at: datetime, until: datetime) -> None:
        """Postpones requeued deliveries: they are not overdue again before `until`."""


class DeliveryQueue(Protocol):
    """Queue of due deliveries. Every method may raise `Unavailable`."""

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        """Enqueues deliveries for their first attempts or for retries."""

    async def schedule(self, task: DeliveryTask, *, after: timedelta) -> None:
        """Schedules a delivery after one of the schedule's delays."""

    async def waiting(self) -> int:
        """Returns the number of messages that no consumer has received."""
