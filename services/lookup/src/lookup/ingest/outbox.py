"""Events on their way to the broker and the dispatcher, and for some time those that arrived.

`published_at: null` marks what was never published: unlike a cursor it misses no late transaction.
`again_at` exists while an event is published and has no receipt.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pymongo.read_concern import ReadConcern

from common.contracts.company import Country
from common.contracts.events import RECEIPTS, EventType, routing_key
from common.mongo import Database, translated_errors
from lookup.ingest.confirm import Unconfirmed
from lookup.ingest.publisher import WaitingEvent
from lookup.store.documents import OUTBOX

#: Events counted; beyond that, how many there are does not matter.
_MAX_COUNTED = 100_000
_EVENT = {"company": 1, "type": 1, "body": 1}
_BY_COMPANY = [("company", 1), ("revision", 1)]


class Depth(NamedTuple):
    """A number of events, and the time that the oldest of them waits since."""

    events: int
    since: datetime | None


class StoredOutbox:
    """`Outbox`."""

    def __init__(self, database: Database, *, retention: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._retention = retention

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        with translated_errors():
            found = self._outbox.find({"published_at": None}, _EVENT, sort=_BY_COMPANY, limit=limit)
            return [_event(document) async for document in found]

    async def mark(self, events: Collection[str], *, at: datetime, again_at: datetime) -> None:
        with translated_errors():
            await self._outbox.update_many(
                {"_id": {"$in": list(events)}},
                {
                    "$set": {
                        "published_at": at,
                        "again_at": again_at,
                        "publications": 1,
                        "expires_at": at + self._retention,
                    }
                },
            )

    async def depth(self) -> Depth:
        """How many events were never published, and when the oldest of them occurred."""
        with translated_errors():
            waiting = await self._outbox.count_documents({"published_at": None}, limit=_MAX_COUNTED)
            oldest = await self._outbox.find_one(
                {"published_at": None}, {"occurred_at": 1}, sort=[("occurred_at", 1)]
            )
        return Depth(waiting, None if oldest is None else oldest["occurred_at"])

    async def drop_expired(self, *, at: datetime) -> int:
        """Deletes events that could not be published within the retention; gives how many."""
        expired = {"published_at": None, "occurred_at": {"$lte": at - self._retention}}
        with translated_errors():
            return (await self._outbox.delete_many(expired)).deleted_count


class StoredUnconfirmedEvents:
    """`UnconfirmedEvents`."""

    def __init__(self, database: Database, *, receipt_timeout: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._receipt_timeout = receipt_timeout

    async def due(self, *, at: datetime, limit: int) -> Sequence[Unconfirmed]:
        due = {**self._overdue(at), "again_at": {"$lte": at}}
        with translated_errors():
            found = self._outbox.find(
                due, {"publications": 1}, sort=[("published_at", 1)], limit=limit
            )
            return [Unconfirmed(one["_id"], one["publications"]) async for one in found]

    async def events(self, ids: Collection[str]) -> Sequence[WaitingEvent]:
        with translated_errors():
            found = self._outbox.find({"_id": {"$in": list(ids)}}, _EVENT, sort=_BY_COMPANY)
            return [_event(document) async for document in found]

    async def confirm(self, ids: Collection[str]) -> None:
        with translated_errors():
            await self._outbox.update_many(
                {"_id": {"$in": list(ids)}}, {"$unset": {"again_at": "", "publications": ""}}
            )

    async def postpone(self, ids: Collection[str], *, again_at: datetime) -> None:
        with translated_errors():
            await self._outbox.update_many(
                {"_id": {"$in": list(ids)}},
                {"$set": {"again_at": again_at}, "$inc": {"publications": 1}},
            )

    async def republish(self, *, since: datetime, at: datetime) -> int:
        """Makes events since a time due again, those with a receipt included; gives how many."""
        published = {"occurred_at": {"$gte": since}, "published_at": {"$lte": at}}
        with translated_errors():
            result = await self._outbox.update_many(
                published, {"$set": {"again_at": at, "publications": 1}}
            )
        return result.matched_count

    async def depth(self, *, at: datetime) -> Depth:
        """How many events lack a receipt although it is due, and since when the oldest is out."""
        overdue = self._overdue(at)
        with translated_errors():
            count = await self._outbox.count_documents(overdue, limit=_MAX_COUNTED)
            oldest = await self._outbox.find_one(
                overdue, {"published_at": 1}, sort=[("published_at", 1)]
            )
        return Depth(count, None if oldest is None else oldest["published_at"])

    def _overdue(self, at: datetime) -> dict[str, Any]:
        # In the terms of the index `unconfirmed`, whose newest entries are not due yet.
        return {
            "published_at": {"$lte": at - self._receipt_timeout},
            "again_at": {"$exists": True},
        }


class StoredReceipts:
    """`Receipts`, of the dispatcher's database."""

    def __init__(self, webhooks: Database) -> None:
        # A receipt that a failover may take back confirms nothing.
        self._receipts = webhooks[RECEIPTS].with_options(read_concern=ReadConcern("majority"))

    async def of(self, event_ids: Collection[str]) -> set[str]:
        with translated_errors():
            found = self._receipts.find({"_id": {"$in": list(event_ids)}}, {"_id": 1})
            return {document["_id"] async for document in found}


def _event(document: Mapping[str, Any]) -> WaitingEvent:
    return WaitingEvent(
        document["_id"],
        document["company"],
        routing_key(EventType(document["type"]), Country(document["company"][:2])),
        document["body"],
    )
