"""Events of deliveries: their stored bodies, and receipts of those that were fanned out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from common.contracts.company import CompanyKey
from common.contracts.contract import TRACEPARENT, TRACESTATE, TraceContext, read
from common.contracts.events import RECEIPTS, EventType
from common.mongo import Database, translated_errors
from webhook_store.collections import DELIVERIES, EVENTS, Document, insert_new
from webhook_store.deliveries import DeliveryTimes


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """Event whose bytes are stored for its deliveries."""

    id: str
    kind: EventType
    #: None only for `webhook.test`.
    company: CompanyKey | None
    body: bytes
    trace: TraceContext | None = None


class EventBody(NamedTuple):
    """The posted part of a stored event."""

    bytes: bytes
    trace: TraceContext | None = None


#: Margin for the time between the inserts of an event and of its rows.
SETTLING = timedelta(minutes=10)
#: Interval between checks of an expired event that still has rows.
_REVIEW_AGAIN = timedelta(days=1)


_BODY = {"body": 1, TRACEPARENT: 1, TRACESTATE: 1}


class Events:
    """The stored events. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, times: DeliveryTimes) -> None:
        self._events = database[EVENTS]
        self._rows = database[DELIVERIES]
        self._retention = times.retention
        self._body_retention = min(times.body_retention, times.retention)

    async def store(self, events: Sequence[StoredEvent], *, at: datetime) -> None:
        """Stores events; existing ones are left unchanged."""
        documents = [
            {**_event_document(event), "review_at": at + self._kept(event.kind) + SETTLING}
            for event in events
        ]
        await insert_new(self._events, documents)

    async def bodies(self, ids: Collection[str]) -> Mapping[str, EventBody]:
        """Returns the bodies of the events that exist."""
        with translated_errors():
            found = self._events.find({"_id": {"$in": list(ids)}}, _BODY)
            return {one["_id"]: EventBody(one["body"], read(one)) async for one in found}

    async def removed(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies whose removal the register ordered."""
        wanted = {
            "company": {"$in": list(companies)},
            "type": EventType.COMPANY_REMOVED.value,
        }
        with translated_errors():
            found = self._events.find(wanted, {"company": 1})
            return {CompanyKey.parse(document["company"]) async for document in found}

    async def of_company(self, company: CompanyKey) -> list[str]:
        """Returns the ids of a company's events, except its removal."""
        of_company = {
            "company": company,
            "type": {"$ne": EventType.COMPANY_REMOVED.value},
        }
        with translated_errors():
            found = self._events.find(of_company, {"_id": 1})
            return [document["_id"] async for document in found]

    async def forget(self, ids: Collection[str]) -> None:
        """Deletes events."""
        with translated_errors():
            await self._events.delete_many({"_id": {"$in": list(ids)}})

    async def expire(self, *, at: datetime, limit: int) -> int:
        """Deletes expired events that no delivery needs; returns how many.

        A TTL index does not fit: an event with a waiting or recovered delivery must stay. Of a
        delivery that ended so long ago, what it sent is gone, and it is not repeated.
        """
        ended_long_ago = {"$lte": at + self._retention - self._body_retention}
        with translated_errors():
            found = await self._events.find(
                {"review_at": {"$lte": at}}, {"_id": 1}, limit=limit
            ).to_list(None)
            ids = [document["_id"] for document in found]
            of_events = {"event_id": {"$in": ids}}
            # First, so that none of them is retried from now on.
            await self._rows.update_many(
                {**of_events, "expires_at": ended_long_ago}, {"$set": {"purged": True}}
            )
            needed = set(
                await self._rows.distinct("event_id", {**of_events, "purged": {"$ne": True}})
            )
            await self._events.update_many(
                {"_id": {"$in": list(needed)}}, {"$set": {"review_at": at + _REVIEW_AGAIN}}
            )
            gone = await self._events.delete_many({"_id": {"$in": list(set(ids) - needed)}})
        return gone.deleted_count

    def _kept(self, kind: EventType) -> timedelta:
        # A removal is looked up for events of the company that arrive after it.
        is_removal = kind is EventType.COMPANY_REMOVED
        return self._retention if is_removal else self._body_retention


def _event_document(event: StoredEvent) -> Document:
    return {
        "_id": event.id,
        "type": event.kind.value,
        "company": event.company,
        "body": event.body,
        **({} if event.trace is None else event.trace.fields()),
    }


#: Receipts outlive the outbox's copy of their events, which may be published until it expires.
_MARGIN = timedelta(days=1)


class Receipts:
    """The stored receipts. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, *, retention: timedelta) -> None:
        self._receipts = database[RECEIPTS]
        self._retention = retention

    async def add(self, event_ids: Collection[str], *, at: datetime) -> None:
        """Stores receipts; existing ones are left unchanged."""
        expires_at = at + self._retention + _MARGIN
        documents = [{"_id": one, "expires_at": expires_at} for one in set(event_ids)]
        await insert_new(self._receipts, documents)

    async def of(self, event_ids: Collection[str]) -> set[str]:
        """Returns the ids that have a receipt."""
        with translated_errors():
            found = self._receipts.find({"_id": {"$in": list(event_ids)}}, {"_id": 1})
            return {document["_id"] async for document in found}
