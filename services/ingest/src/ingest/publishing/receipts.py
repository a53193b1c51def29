"""Republishes events that the broker lost, until the dispatcher has stored a receipt."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pymongo.read_concern import ReadConcern

from common.contracts.events import RECEIPTS
from common.mongo import Database, translated_errors
from ingest.publishing.outbox import (
    BY_COMPANY,
    EVENT_FIELDS,
    Depth,
    EventReader,
    WaitingEvent,
    depth_of,
)
from ingest.publishing.publisher import BATCH, EventBus, publish_in_order
from register_store.documents import OUTBOX

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

    async def overdue(self) -> Depth:
        """Number of events whose receipt is overdue, and the publication time of the oldest."""
        return await self.unconfirmed.depth(at=self.now())

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
