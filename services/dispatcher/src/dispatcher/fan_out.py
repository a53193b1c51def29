"""Fan-out of an event: one row per matching webhook, whose first attempt begins or is queued.

A first attempt with a free slot begins at once: the write that stores its delivery claims it, too.
It needs neither the claim nor the message that others need (ADR 0067).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import AddressedEvent, DeliveryId, decode_addressed
from dispatcher.attempts import Attempts
from dispatcher.queues import DeliveryQueue
from dispatcher.slots import LimitKey, Slots
from dispatcher.store import Store
from webhook_store.deliveries import CancelReason, NewDelivery, delivery_id
from webhook_store.events import StoredEvent
from webhook_store.matching import Match, Subject
from webhook_store.sending import Sendable


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
        event, body = _read_event(message)
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
        company = _company_of(event)
        await self.store.store_event(StoredEvent(event.id, event.type, company, body))
        if company is not None:
            if is_removal:
                # The removal is stored before this, and other events check for it after they are
                # stored, so of two concurrent events at least one sees the other.
                await self.store.purge(await self.store.events.of_company(company))
            elif await self.store.is_removed(company):
                await self.store.events.forget([event.id])
                return
        await self.deliver([_delivery_of(event, match) for match in matches])

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


def _read_event(message: bytes) -> tuple[AddressedEvent, bytes]:
    try:
        event, body = decode_addressed(message)
        # Validated first, so that nothing of an invalid event is stored.
        UUID(event.id)
        datetime.fromisoformat(event.occurred_at)
    except ValueError as error:
        raise NotAnEvent(str(error)) from error
    return event, body


def _company_of(event: AddressedEvent) -> CompanyKey | None:
    if event.test or event.country is None or event.vat is None:
        return None
    return CompanyKey(event.country, event.vat)


def _delivery_of(event: AddressedEvent, match: Match) -> NewDelivery:
    return NewDelivery(
        id=delivery_id(event.id, match.webhook_id),
        webhook_id=match.webhook_id,
        generation=match.generation,
        event_id=event.id,
        event_type=event.type,
        occurred_at=datetime.fromisoformat(event.occurred_at),
        cancelled=None if match.enabled else CancelReason.WEBHOOK_DISABLED,
    )


#: Rows written per batch: an event's first deliveries do not wait for its last rows.
CHUNK = 200
#: Seconds for which an attempt is new. An attempt that takes longer waits for its receiver, and no
#: event waits for it.
NEW = 2.0


@dataclass(slots=True)
class AttemptGroup:
    """Attempts that begin together, and how many of them have not ended."""

    at: float
    attempts: int
    is_new: bool = True


class NewAttempts:
    """Holds events back while too many attempts are new.

    Otherwise fan-out runs ahead of the posts of a busy process until no slot is free, and each
    delivery needs a message and a claim. Receivers that hang hold nothing back.
    """

    def __init__(self, most: int, *, seconds: float = NEW) -> None:
        self._most = most
        self._reopens = most * 3 // 4
        self._seconds = seconds
        self._count = 0
        #: Oldest first.
        self._groups: deque[AttemptGroup] = deque()
        self._is_full = False
        self._reopened = asyncio.Event()

    async def wait(self) -> None:
        """Returns while fewer than `most` attempts are new; then when a quarter of them have ended.

        Events that wait continue together, so that they share round trips.
        """
        while self._too_many():
            self._reopened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._groups[0].at + self._seconds - _loop_time()):
                    await self._reopened.wait()

    def begin(self, attempts: int) -> AttemptGroup:
        """Counts attempts as new from now on."""
        group = AttemptGroup(_loop_time(), attempts)
        self._groups.append(group)
        self._count += attempts
        return group

    def end(self, group: AttemptGroup, attempts: int = 1) -> None:
        """Counts attempts of a group no longer."""
        group.attempts -= attempts
        if group.is_new:
            self._count -= attempts
            if self._is_full and not self._too_many():
                self._reopened.set()

    def _too_many(self) -> bool:
        latest = _loop_time() - self._seconds
        while self._groups and (self._groups[0].at <= latest or not self._groups[0].attempts):
            old = self._groups.popleft()
            old.is_new = False
            self._count -= old.attempts
        self._is_full = self._count > self._reopens if self._is_full else self._count >= self._most
        return self._is_full


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class _InSlot(NamedTuple):
    """A slot that is acquired, and for which webhook."""

    limit_key: LimitKey
    webhook: Sendable


@dataclass(frozen=True, slots=True)
class FirstAttempts:
    """Stores the deliveries of an event, and begins or queues their first attempts."""

    store: Store
    slots: Slots
    attempts: Attempts
    delivery_queue: DeliveryQueue
    new: NewAttempts

    async def __call__(self, deliveries: Sequence[NewDelivery]) -> None:
        """Returns when none can be lost; raises `Unavailable` when it must be repeated."""
        await self.new.wait()
        for first in range(0, len(deliveries), CHUNK):
            await self._deliver(deliveries[first : first + CHUNK])

    async def _deliver(self, deliveries: Sequence[NewDelivery]) -> None:
        group = self.new.begin(len(deliveries))
        in_slots: dict[DeliveryId, _InSlot] = {}
        started = 0
        try:
            in_slots |= await self._acquire(deliveries)
            rows = [replace(one, begins=one.id in in_slots) for one in deliveries]
            claimed = await self.store.insert(rows)
            # Read afterwards: of a company that is removed meanwhile nothing is posted.
            body = await self.store.body(deliveries[0].event_id) if claimed else None
            for delivery in claimed:
                limit_key, webhook = in_slots.pop(delivery.id)
                attempt = self.attempts.begin(limit_key, webhook, delivery, body)
                if attempt is not None:
                    attempt.add_done_callback(lambda _: self.new.end(group))
                    started += 1
        finally:
            self.new.end(group, len(deliveries) - started)
            for limit_key, _ in in_slots.values():
                self.slots.release(limit_key)
        # Rows that an interrupted fan-out has stored are claimed, unless they were attempted.
        existing = [_task(one) for one in rows if one.begins and one.id in in_slots]
        await asyncio.gather(*(self.attempts.deliver(one, more=False) for one in existing))
        others = [_task(one) for one in rows if not one.begins and one.cancelled is None]
        if others:
            await self.delivery_queue.enqueue(others, retries=False)

    async def _acquire(self, deliveries: Sequence[NewDelivery]) -> dict[DeliveryId, _InSlot]:
        due = [one for one in deliveries if one.cancelled is None]
        webhooks = await self.store.sendables([one.webhook_id for one in due])
        acquired = {}
        for delivery, webhook in zip(due, webhooks, strict=True):
            # A deleted one's is cancelled by its message.
            if webhook is not None:
                limit_key = LimitKey(webhook.webhook_id, webhook.host, webhook.owner)
                if self.slots.acquire(limit_key):
                    acquired[delivery.id] = _InSlot(limit_key, webhook)
        return acquired


def _task(delivery: NewDelivery) -> DeliveryTask:
    return DeliveryTask(delivery_id=delivery.id, webhook_id=delivery.webhook_id, attempt=1)
