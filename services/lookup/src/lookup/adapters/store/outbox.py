"""Events that wait to be published, and for some time those that were."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from common.contracts.company import Country
from common.contracts.events import EventType, routing_key
from common.mongo import Database, outages
from lookup.adapters.store.documents import OUTBOX
from lookup.ports import WaitingEvent


class StoredOutbox:
    """`published_at: null` is the queue: unlike a cursor it misses no late transaction."""

    def __init__(self, database: Database, *, retention: timedelta) -> None:
        self._outbox = database[OUTBOX]
        self._retention = retention

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        with outages():
            found = await self._outbox.find(
                {"published_at": None},
                {"company": 1, "type": 1, "body": 1},
                sort=[("company", 1), ("revision", 1)],
                limit=limit,
            ).to_list(None)
        return [
            WaitingEvent(
                document["_id"],
                document["company"],
                routing_key(EventType(document["type"]), Country(document["company"][:2])),
                document["body"],
            )
            for document in found
        ]

    async def mark(self, events: Collection[str], *, at: datetime) -> None:
        with outages():
            await self._outbox.update_many(
                {"_id": {"$in": list(events)}},
                {"$set": {"published_at": at, "expires_at": at + self._retention}},
            )

    async def depth(self) -> tuple[int, datetime | None]:
        """How many events wait, and since when the oldest of them does."""
        with outages():
            waiting = await self._outbox.count_documents({"published_at": None})
            oldest = await self._outbox.find_one(
                {"published_at": None}, {"occurred_at": 1}, sort=[("occurred_at", 1)]
            )
        return waiting, None if oldest is None else oldest["occurred_at"]
