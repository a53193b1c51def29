"""Receipts of events whose deliveries are stored; the publisher may drop such events.

A receipt is written after everything that follows from its event, and before the event's message is
acked. An event with a receipt is never fanned out again (ADR 0018).
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from common.contracts.events import RECEIPTS
from common.mongo import Database, translated_errors
from webhook_store.duplicates import insert_new

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
        """The ids that have a receipt."""
        with translated_errors():
            found = self._receipts.find({"_id": {"$in": list(event_ids)}}, {"_id": 1})
            return {document["_id"] async for document in found}
