"""Stored outbox: events before their publication, and for some time after it.

`published_at: null` marks an unpublished event: unlike a cursor it misses no late transaction.
`again_at` exists while an event is published and has no receipt. `position` is an event's position
in the feed. `traceparent` and `tracestate` are of an event whose change has a trace.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog
from prometheus_client import Counter
from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.read_concern import ReadConcern

from common.contracts.company import CompanyKey, Country
from common.contracts.events import RECEIPTS, EventType, routing_key
from common.contracts.traces import TRACEPARENT, TRACESTATE, TraceContext, read
from common.mongo import Database, translated_errors
from lookup.ingest.event_log import Batch, EventLog, Superseded
from lookup.store.documents import EXPIRY_MARGIN, OUTBOX, Document

#: Events counted; a longer outbox counts as this long.
_MAX_COUNTED = 100_000
_EVENT = {"company": 1, "type": 1, "owner": 1, "body": 1, TRACEPARENT: 1, TRACESTATE: 1}
_BY_COMPANY = [("company", 1), ("revision", 1)]
#: Unreadable events that are left out of later reads; further ones are read and passed over.
MAX_UNREADABLE = 1000

_UNREADABLE = Counter(
    "outbox_events_unreadable_total", "Events that this release cannot read and leaves unpublished"
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """A stored event that is not yet published."""

    id: str
    #: None for an event about a webhook.
    company: CompanyKey | None
    type: EventType
    body: bytes
    #: The owner of the webhook that the event is about.
    owner: str | None = None
    #: The trace of the change.
    trace: TraceContext | None = None

    @property
    def routing_key(self) -> str:
        return routing_key(self.type, None if self.company is None else self.company.country)


class Unconfirmed(NamedTuple):
    """A published event without a receipt."""

    id: str
    publications: int


class Depth(NamedTuple):
    """A number of events, and the time of the oldest."""

    events: int
    since: datetime | None


class _Reading:
    """Reads events, and passes over those of another release that this one cannot read."""

    def __init__(self) -> None:
        self._unreadable: set[str] = set()

    def others(self) -> dict[str, Any]:
        """The condition of events that are not known to be unreadable."""
        return {"_id": {"$nin": list(self._unreadable)}} if self._unreadable else {}

    def event(self, document: Mapping[str, Any]) -> WaitingEvent | None:
        """The event; None for an unreadable one, which is reported once."""
        try:
            return _event(document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if document["_id"] not in self._unreadable and len(self._unreadable) < MAX_UNREADABLE:
                self._unreadable.add(document["_id"])
                _UNREADABLE.inc()
                log.error("outbox.unreadable", event_id=document["_id"], reason=repr(error))
            return None


class StoredOutbox:
    """Unpublished events. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, *, retention: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._log = EventLog(database)
        self._retention = retention
        self._reading = _Reading()
        #: The last batch, complete; None while it may be another process' or incomplete.
        self._newest: Batch | None = None

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        """The first unpublished events, grouped by company and ordered by revision.

        Events that this release cannot read are passed over and stay unpublished.
        """
        if self._newest is None:
            await self._resume()
        waiting = {"published_at": None, **self._reading.others()}
        events: list[WaitingEvent] = []
        # Without a limit, which unreadable events could fill.
        with translated_errors():
            async with self._outbox.find(
                waiting, _EVENT, sort=_BY_COMPANY, batch_size=limit
            ) as found:
                async for document in found:
                    event = self._reading.event(document)
                    if event is not None:
                        events.append(event)
                        if len(events) == limit:
                            break
        return events

    async def mark(self, events: Sequence[str], *, at: datetime, again_at: datetime) -> int:
        """Notes that these were published, in this order, and are due again unless confirmed.

        Gives the position of the last one. The events must be from the last call of `waiting`.
        """
        if self._newest is None:
            raise Superseded("the newest batch is not known")
        newest, self._newest = self._newest, None
        batch = await self._log.append(newest, events, at=at, again_at=again_at)
        self._newest = await self._completed(batch)
        return batch.last

    async def position(self) -> int:
        """The newest position."""
        if self._newest is None:
            await self._resume()
        return 0 if self._newest is None else self._newest.last

    async def skip(self, positions: int, *, at: datetime) -> None:
        """Leaves a gap behind the newest position, which readers pass."""
        await self._resume()
        if self._newest is not None:
            newest, self._newest = self._newest, None
            behind = replace(newest, count=newest.count + positions)
            self._newest = await self._completed(
                await self._log.append(behind, (), at=at, again_at=at)
            )

    async def _resume(self) -> None:
        """Completes the last batch, whose publisher may have died before it was complete."""
        newest = await self._log.newest()
        self._newest = await self._completed(newest) if newest.ids else newest

    async def _completed(self, batch: Batch) -> Batch:
        """Gives the batch's events their positions; repeating it changes nothing."""
        marks = [
            UpdateOne(
                {"_id": event, "published_at": None},
                {
                    "$set": {
                        "position": position,
                        "published_at": batch.at,
                        "again_at": batch.again_at,
                        "publications": 1,
                        "expires_at": batch.at + self._retention + EXPIRY_MARGIN,
                    }
                },
            )
            for position, event in enumerate(batch.ids, batch.first)
        ]
        if marks:
            with translated_errors():
                await self._outbox.bulk_write(marks, ordered=False)
        return await self._log.complete(batch)

    async def depth(self) -> Depth:
        """Number of unpublished events, and the time at which the oldest occurred."""
        return await _depth(self._outbox, {"published_at": None}, "occurred_at")

    async def drop_expired(self, *, at: datetime) -> int:
        """Deletes events that could not be published within the retention; returns their number."""
        if self._newest is not None:
            await self._log.prune(self._newest, before=at - self._retention - EXPIRY_MARGIN)
        expired = {"published_at": None, "occurred_at": {"$lte": at - self._retention}}
        with translated_errors():
            return (await self._outbox.delete_many(expired)).deleted_count


class StoredUnconfirmedEvents:
    """Published events without a receipt. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, *, receipt_timeout: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._receipt_timeout = receipt_timeout
        self._reading = _Reading()

    async def due(self, *, at: datetime, limit: int) -> Sequence[Unconfirmed]:
        """The events whose receipt is due, in the order of their publication."""
        due = {**self._overdue(at), "again_at": {"$lte": at}, **self._reading.others()}
        with translated_errors():
            found = self._outbox.find(
                due, {"publications": 1}, sort=[("published_at", 1)], limit=limit
            )
            return [Unconfirmed(one["_id"], one["publications"]) async for one in found]

    async def events(self, ids: Collection[str]) -> Sequence[WaitingEvent]:
        """The events with these ids, in the order of publication."""
        with translated_errors():
            found = self._outbox.find({"_id": {"$in": list(ids)}}, _EVENT, sort=_BY_COMPANY)
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
        return await _depth(self._outbox, self._overdue(at), "published_at")

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
        """The ids that have a receipt; raises `Unavailable`."""
        with translated_errors():
            found = self._receipts.find({"_id": {"$in": list(event_ids)}}, {"_id": 1})
            return {document["_id"] async for document in found}


async def _depth(outbox: AsyncCollection[Document], query: Document, time: str) -> Depth:
    with translated_errors():
        count = await outbox.count_documents(query, limit=_MAX_COUNTED)
        oldest = await outbox.find_one(query, {time: 1}, sort=[(time, 1)])
    return Depth(count, None if oldest is None else oldest[time])


def _event(document: Mapping[str, Any]) -> WaitingEvent:
    company = document["company"]
    return WaitingEvent(
        document["_id"],
        None if company is None else _checked(company),
        EventType(document["type"]),
        bytes(document["body"]),
        document.get("owner"),
        read(document),
    )


def _checked(company: str) -> CompanyKey:
    country, _, number = company.partition(":")
    return CompanyKey(Country(country), number)
