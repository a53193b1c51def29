"""The outbox: events that wait, events about webhooks, and what follows a restore."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import structlog
from prometheus_client import Counter
from pymongo import UpdateMany
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import DuplicateKeyError

from common.contracts.company import CompanyKey
from common.contracts.contract import TRACEPARENT, TRACESTATE, TraceContext, read
from common.contracts.events import (
    EventType,
    OwnerEvent,
    OwnerEventStored,
    RegistryEvent,
    encode_event,
    routing_key,
)
from common.contracts.failures import Failure
from common.messaging.rpc import Result, RpcRequest
from common.mongo import Database, translated_errors
from common.runtime import tracing
from register_store.documents import (
    COMPANIES,
    EXPIRY_MARGIN,
    OUTBOX,
    REVISIONS,
    TOMBSTONES,
    Document,
)
from register_store.events import OutboxEvent, outbox_document
from register_store.feed import Batch, EventLog, Superseded

#: Events counted; a longer outbox counts as this long.
_MAX_COUNTED = 100_000
EVENT_FIELDS = {"company": 1, "type": 1, "owner": 1, "body": 1, TRACEPARENT: 1, TRACESTATE: 1}
BY_COMPANY = [("company", 1), ("revision", 1)]
#: Unreadable events that are left out of later reads; further ones are read and passed over.
MAX_UNREADABLE = 1000

#: Events whose positions one statement gives: it looks for each among their ids, one by one.
_TOGETHER = 125

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
        """The key of the event in the exchange of registry events."""
        return routing_key(self.type, None if self.company is None else self.company.country)


class Depth(NamedTuple):
    """A number of events, and the time of the oldest."""

    events: int
    since: datetime | None


class EventReader:
    """Reads events, and passes over those of another release that this one cannot read."""

    def __init__(self) -> None:
        self._unreadable: set[str] = set()

    def others(self) -> dict[str, Any]:
        """Returns the condition of events that are not known to be unreadable."""
        return {"_id": {"$nin": list(self._unreadable)}} if self._unreadable else {}

    def event(self, document: Mapping[str, Any]) -> WaitingEvent | None:
        """Returns the event; None for an unreadable one, which is reported once."""
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
        self._reading = EventReader()
        #: The last batch, complete; None while it may be another process' or incomplete.
        self._newest: Batch | None = None

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        """Returns the first unpublished events, grouped by company and ordered by revision.

        Events that this release cannot read are passed over and stay unpublished.
        """
        # After a mark that failed the newest batch may be another process', and have these events.
        if self._newest is None:
            await self._resume()
        waiting = {"published_at": None, **self._reading.others()}
        events: list[WaitingEvent] = []
        # Without a limit, which unreadable events could fill.
        with translated_errors():
            async with self._outbox.find(
                waiting, EVENT_FIELDS, sort=BY_COMPANY, batch_size=limit
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

        Returns the position of the last one. The events must be those of the last call of
        `waiting`.
        """
        if self._newest is None:
            raise Superseded("the newest batch is not known")
        newest, self._newest = self._newest, None
        batch = await self._log.append(newest, events, at=at, again_at=again_at)
        self._newest = await self._completed(batch)
        return batch.last

    @property
    def position(self) -> int | None:
        """The newest position; None while it is not known, as during a mark."""
        return None if self._newest is None else self._newest.last

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
        fields = {
            "published_at": batch.at,
            "again_at": batch.again_at,
            "publications": 1,
            "expires_at": batch.at + self._retention + EXPIRY_MARGIN,
        }
        marks = [
            _positions(batch.ids[start : start + _TOGETHER], batch.first + start, fields)
            for start in range(0, len(batch.ids), _TOGETHER)
        ]
        if marks:
            with translated_errors():
                await self._outbox.bulk_write(marks, ordered=False)
        return await self._log.complete(batch)

    async def depth(self) -> Depth:
        """Number of unpublished events, and the time at which the oldest occurred."""
        return await depth_of(self._outbox, {"published_at": None}, "occurred_at")

    async def drop_expired(self, *, at: datetime) -> int:
        """Deletes events that could not be published within the retention; returns their number."""
        if self._newest is not None:
            await self._log.prune(self._newest, before=at - self._retention - EXPIRY_MARGIN)
        expired = {"published_at": None, "occurred_at": {"$lte": at - self._retention}}
        with translated_errors():
            return (await self._outbox.delete_many(expired)).deleted_count


def _positions(ids: Sequence[str], first: int, fields: Document) -> UpdateMany:
    """One statement for many events: half the work of the server for one each (ADR 0071)."""
    place = {"$add": [first, {"$indexOfArray": [{"$literal": list(ids)}, "$_id"]}]}
    return UpdateMany(
        {"_id": {"$in": list(ids)}, "published_at": None},
        [{"$set": {"position": place, **fields}}],
    )


async def depth_of(outbox: AsyncCollection[Document], query: Document, time: str) -> Depth:
    """Returns the number of matching rows, up to a maximum, and their oldest `time`."""
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
    """Raises ValueError for a country that this release does not know."""
    key = CompanyKey.parse(company)
    return CompanyKey(key.country, key.number)


class StoreOwnerEvents:
    """Adds events to the outbox, once for each id; raises `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._outbox = database[OUTBOX]

    async def __call__(self, requests: Sequence[OwnerEvent]) -> list[OwnerEventStored]:
        await asyncio.gather(*(self._add(each.owner, each.event) for each in requests))
        return [OwnerEventStored() for _ in requests]

    async def _add(self, owner: str, event: RegistryEvent) -> None:
        at = datetime.fromisoformat(event.occurred_at)
        stored = OutboxEvent(event.id, None, 0, event.type, None, at, encode_event(event), owner)
        document = outbox_document(stored, tracing.CURRENT.get())
        with translated_errors(), suppress(DuplicateKeyError):
            await self._outbox.insert_one(document)


def report(
    asked: Sequence[RpcRequest[OwnerEvent]], results: Sequence[Result], _seconds: float
) -> None:
    """One line per event."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "owner_event.stored",
            **item.ids,
            event_id=item.request.event.id,
            type=item.request.event.type,
            result=result.code if isinstance(result, Failure) else "ok",
        )


async def skip_ahead(register: Database, by: int, *, retention: timedelta, at: datetime) -> int:
    """Raises the revision of each company and the newest position; returns the companies.

    Repeating it skips once more, which does no harm. Raises `Unavailable`.
    """
    await StoredOutbox(register, retention=retention).skip(by, at=at)
    with translated_errors():
        # Companies that were stored after the backup begin behind the revisions that they had.
        await register[REVISIONS].update_one(
            {"_id": "companies"}, {"$inc": {"skipped": by}}, upsert=True
        )
        # Revision 0 has only what belongs to a company that is not stored yet.
        raised = await register[COMPANIES].update_many(
            {"revision": {"$gt": 0}}, {"$inc": {"revision": by}}
        )
    return raised.modified_count


async def remove_owner(register: Database, owner: str, *, dry_run: bool) -> int:
    """Deletes the events about an owner's webhooks; returns their number. Raises `Unavailable`."""
    # No company has them, as the index of companies says.
    of_owner = {"company": None, "owner": owner}
    with translated_errors():
        if dry_run:
            return await register[OUTBOX].count_documents(of_owner)
        return (await register[OUTBOX].delete_many(of_owner)).deleted_count


async def removed(register: Database) -> AsyncIterator[tuple[str, str]]:
    """Country and number of each removed company, the latest last.

    Removed units are not included: the register's own feed removes them again.
    """
    companies = {"is_unit": {"$ne": True}}
    with translated_errors():
        async for tombstone in register[TOMBSTONES].find(
            companies, sort=[("removed_at", 1), ("_id", 1)]
        ):
            key = CompanyKey.parse(tombstone["_id"])
            yield key.country, key.number
