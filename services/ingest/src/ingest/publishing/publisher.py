"""Events are published in order, and again until the dispatcher has a receipt for them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Protocol

from prometheus_client import Counter
from pymongo.read_concern import ReadConcern

from common.contracts.events import RECEIPTS, FeedNotice, PublishedEvent
from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from ingest.publishing.outbox import (
    BY_COMPANY,
    EVENT_FIELDS,
    Depth,
    EventReader,
    StoredOutbox,
    WaitingEvent,
    depth_of,
)
from register_store.documents import OUTBOX


class EventBus(Protocol):
    """The broker, with the dispatcher and the readers of the feed behind it."""

    async def publish(self, event: WaitingEvent) -> None:
        """Returns after the broker has confirmed the event; raises `Unavailable` otherwise."""

    async def takes_repeats(self) -> bool:
        """Returns True if a dispatcher consumes events and has a short queue; raises `Unavailable`.

        An event that still waits in the queue must not be added to it repeatedly.
        """

    async def notify(self, notice: FeedNotice) -> None:
        """Broadcasts a notice to readers of the feed, if the broker can be reached."""


#: Events per read and per update.
BATCH = 500
#: Seconds after which a pass reads no further batch: the lease must be renewed between passes.
_PASS = 1.0

_PUBLISHED = Counter("outbox_events_published_total", "Events confirmed by the broker")


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    """Publishes waiting events and gives each its position in the feed."""

    outbox: StoredOutbox
    bus: EventBus
    now: Callable[[], datetime]
    #: Time for the dispatcher's receipt before an event is published again.
    receipt_timeout: timedelta

    async def __call__(self) -> int:
        """Runs one pass; returns the number of published events. Raises `Unavailable` if none was.

        Batches follow one another: an event is marked after the broker has confirmed it, and the
        next batch is read after that. After a crash between the two a batch is published again with
        the same ids, and the dispatcher ignores the repeats.
        """
        clock = asyncio.get_running_loop().time
        end_at, count = clock() + _PASS, 0
        while batch := await self._waiting(after=count):
            published = await publish_in_order(self.bus, batch)
            await self._mark(published.events)
            count += len(published.events)
            if published.outage and not count:
                raise published.outage
            if published.outage or len(batch) < BATCH or clock() >= end_at:
                break
        return count

    async def _waiting(self, *, after: int) -> Sequence[WaitingEvent]:
        """Returns the next batch; none if a later one cannot be read, which the next pass reports.

        Raises `Unavailable` for the first.
        """
        with suppress(*(Unavailable,) if after else ()):
            return await self.outbox.waiting(BATCH)
        return ()

    async def _mark(self, events: Sequence[WaitingEvent]) -> None:
        if events:
            now, ids = self.now(), [event.id for event in events]
            position = await self.outbox.mark(ids, at=now, again_at=now + self.receipt_timeout)
            _PUBLISHED.inc(len(events))
            await self.bus.notify(_notice(position, events))

    async def repeat_notice(self) -> None:
        """Sends readers the newest position: a notice is lost if its process ends before it.

        Not while it is not known: a notice of its own follows.
        """
        position = self.outbox.position
        if position is not None:
            await self.bus.notify(FeedNotice(position=position))


def _notice(position: int, events: Sequence[WaitingEvent]) -> FeedNotice:
    return FeedNotice(
        position=position,
        events=tuple(
            PublishedEvent(type=event.type, company=event.company, owner=event.owner)
            for event in events
        ),
    )


@dataclass(frozen=True, slots=True)
class Published:
    """The events of a batch that the broker has confirmed, and why others are not among them."""

    events: Sequence[WaitingEvent] = ()
    outage: Unavailable | None = None


async def publish_in_order(bus: EventBus, events: Sequence[WaitingEvent]) -> Published:
    """Publishes events, which are ordered by company."""

    async def publish(of_company: Sequence[WaitingEvent]) -> Published:
        for number, event in enumerate(of_company):
            try:
                await bus.publish(event)
            except Unavailable as outage:
                # The company's later events wait too, so that none overtakes this one.
                return Published(of_company[:number], outage)
        return Published(of_company)

    companies = [list(group) for _, group in groupby(events, lambda event: event.company)]
    results = await asyncio.gather(*map(publish, companies))
    return Published(
        [event for result in results for event in result.events],
        next((result.outage for result in results if result.outage), None),
    )


#: Maximum wait for the receipt of an event that was published several times. It keeps an event that
#: the dispatcher cannot process from filling its dead letters.
MAX_RECEIPT_TIMEOUT = timedelta(hours=1)


class StoredUnconfirmedEvents:
    """Published events without a receipt. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, *, receipt_timeout: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._receipt_timeout = receipt_timeout
        self._reading = EventReader()

    async def due(self, *, at: datetime, limit: int) -> Mapping[str, int]:
        """Returns the publications of each event whose receipt is due, the oldest first, by id."""
        due = {**self._overdue(at), "again_at": {"$lte": at}, **self._reading.others()}
        with translated_errors():
            found = self._outbox.find(
                due, {"publications": 1}, sort=[("published_at", 1)], limit=limit
            )
            return {one["_id"]: one["publications"] async for one in found}

    async def events(self, ids: Collection[str]) -> Sequence[WaitingEvent]:
        """Returns the events with these ids, in the order of publication."""
        with translated_errors():
            found = self._outbox.find({"_id": {"$in": list(ids)}}, EVENT_FIELDS, sort=BY_COMPANY)
            events = [self._reading.event(document) async for document in found]
        return [event for event in events if event is not None]

    async def confirm(self, ids: Collection[str]) -> None:
        """Records that these have a receipt: they are not republished automatically."""
        with translated_errors():
            await self._outbox.update_many(
                {"_id": {"$in": list(ids)}}, {"$unset": {"again_at": "", "publications": ""}}
            )

    async def postpone(self, ids: Collection[str], *, again_at: datetime) -> None:
        """Records that these were published once more."""
        with translated_errors():
            await self._outbox.update_many(
                {"_id": {"$in": list(ids)}},
                {"$set": {"again_at": again_at}, "$inc": {"publications": 1}},
            )

    async def depth(self, *, at: datetime) -> Depth:
        """Number of events whose receipt is overdue, and the publication time of the oldest."""
        return await depth_of(self._outbox, self._overdue(at), "published_at")

    def _overdue(self, at: datetime) -> dict[str, Any]:
        # In the terms of the index `unconfirmed`, whose newest entries are not due yet.
        return {
            "published_at": {"$lte": at - self._receipt_timeout},
            "again_at": {"$exists": True},
        }


async def republish(register: Database, *, since: datetime, at: datetime) -> int:
    """Makes all published events since `since` due again; returns their number.

    Raises `Unavailable`.
    """
    published = {"occurred_at": {"$gte": since}, "published_at": {"$lte": at}}
    with translated_errors():
        result = await register[OUTBOX].update_many(
            published, {"$set": {"again_at": at, "publications": 1}}
        )
    return result.matched_count


class StoredReceipts:
    """The dispatcher's receipts of events that it has turned into deliveries."""

    def __init__(self, webhooks: Database) -> None:
        # A receipt that a failover may undo confirms nothing.
        self._receipts = webhooks[RECEIPTS].with_options(read_concern=ReadConcern("majority"))

    async def of(self, event_ids: Collection[str]) -> set[str]:
        """Returns the ids that have a receipt; raises `Unavailable`."""
        with translated_errors():
            found = self._receipts.find({"_id": {"$in": list(event_ids)}}, {"_id": 1})
            return {document["_id"] async for document in found}


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The result of a pass over the events whose receipt is due."""

    confirmed: int = 0
    published_again: int = 0

    @property
    def may_be_more(self) -> bool:
        """True if an immediate further pass would find more."""
        return self.confirmed + self.published_again == BATCH


@dataclass(frozen=True, slots=True)
class ConfirmEvents:
    """Confirms events by their receipts, and republishes the others (ADR 0018)."""

    unconfirmed: StoredUnconfirmedEvents
    receipts: StoredReceipts
    bus: EventBus
    now: Callable[[], datetime]
    receipt_timeout: timedelta

    async def __call__(self) -> Confirmed:
        """Runs one pass. Raises `Unavailable`."""
        due = await self.unconfirmed.due(at=self.now(), limit=BATCH)
        if not due:
            return Confirmed()
        received = await self.receipts.of(due)
        if received:
            await self.unconfirmed.confirm(received)
        publications = {one: count for one, count in due.items() if one not in received}
        if not publications or not await self.bus.takes_repeats():
            return Confirmed(confirmed=len(received))
        # Read only now: a company that was removed meanwhile has no events any more.
        events = await self.unconfirmed.events(publications)
        published = await publish_in_order(self.bus, events)
        if published.outage and not published.events:
            raise published.outage
        await self._postpone({event.id: publications[event.id] for event in published.events})
        return Confirmed(confirmed=len(received), published_again=len(published.events))

    async def _postpone(self, publications: dict[str, int]) -> None:
        now = self.now()
        ids_by_count: defaultdict[int, list[str]] = defaultdict(list)
        for event_id, count in publications.items():
            ids_by_count[count].append(event_id)
        for count, ids in ids_by_count.items():
            again_at = now + receipt_timeout(self.receipt_timeout, publications=count + 1)
            await self.unconfirmed.postpone(ids, again_at=again_at)


def receipt_timeout(first: timedelta, *, publications: int) -> timedelta:
    """Returns the receipt timeout: doubled with each publication, up to a maximum."""
    longest = max(first, MAX_RECEIPT_TIMEOUT)
    # The factor is bounded because a timedelta is.
    return min(first * (1 << min(publications - 1, 16)), longest)
