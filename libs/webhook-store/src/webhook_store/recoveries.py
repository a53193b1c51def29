"""Recoveries that owners requested, stored until all their rows are rescheduled.

A window may contain more rows than can be written while a client waits. A recovery is therefore
stored and counted first, and its rows are rescheduled afterwards, in batches that any process may
run, partially or twice: a row carries the mark of the recovery that rescheduled it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import TypeAdapter
from pymongo import DESCENDING
from pymongo.errors import DuplicateKeyError

from common.contracts.topology import MAX_BATCH_SIZE, DeliveryTask
from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import BY_ID, DELIVERIES, RECOVERIES, Document
from webhook_store.deliveries import GRACE, WAITING, DeliveryState, due_of, first_attempt
from webhook_store.owned import ENDED_FIELDS, earlier, not_in_flight


@dataclass(frozen=True, slots=True)
class Recovery:
    """Request to resend failed or cancelled deliveries of a time window."""

    #: The call that requested it.
    call_id: UUID
    webhook_id: WebhookId
    #: The webhook's generation at the request.
    generation: int
    #: Inclusive bounds of the events' `occurred_at`.
    since: datetime
    until: datetime


#: Rows rescheduled per write, well within the operation timeout.
BATCH = 1000
#: Maximum of the count, which bounds a client's wait; all rows are sent.
MAX_COUNTED = 100_000
#: Retention of a finished recovery, for redelivered calls.
_KEPT = timedelta(days=1)

_ENDED = (DeliveryState.FAILED.value, DeliveryState.CANCELLED.value)
_RECOVERY = TypeAdapter(Recovery)
_TASK = {"webhook_id": 1, "attempts": 1, "retries": 1, "occurred_at": 1}


class Recoveries:
    """The stored recoveries. Every method may raise `Unavailable`."""

    def __init__(
        self,
        database: Database,
        *,
        grace: timedelta = GRACE,
        batch: int = BATCH,
        max_counted: int = MAX_COUNTED,
    ) -> None:
        self._recoveries = database[RECOVERIES]
        self._rows = database[DELIVERIES]
        self._grace = grace
        self._batch = batch
        self._max_counted = max_counted

    async def keep(self, recovery: Recovery) -> int:
        """Stores a recovery; returns its number of deliveries, up to `max_counted`.

        A redelivered call returns the same recovery and its original count.
        """
        before = await self._count_of(recovery.call_id)
        if before is not None:
            return before
        count = await self._count(recovery)
        document = asdict(recovery)
        document |= {"_id": str(document.pop("call_id")), "count": count}
        with translated_errors():
            try:
                await self._recoveries.insert_one(document)
            except DuplicateKeyError:
                return await self._count_of(recovery.call_id) or 0
        return count

    async def unfinished(self) -> list[Recovery]:
        """Returns the recoveries that may still have rows to reschedule, of all webhooks."""
        with translated_errors():
            found = self._recoveries.find({"expires_at": None})
            return [
                _RECOVERY.validate_python({**one, "call_id": one["_id"]}) async for one in found
            ]

    async def begin_anew(
        self, recovery: Recovery, *, now: Callable[[], datetime]
    ) -> AsyncIterator[Sequence[DeliveryTask]]:
        """Makes the rows due in batches, newest events first; yields each batch's tasks.

        Rows in flight are skipped.
        """
        for state in _states(recovery):
            rest = {**_rows_of_recovery(recovery), **state}
            while True:
                batch = await self._next_batch({**rest, **not_in_flight(now())}, recovery, now())
                if not batch:
                    break
                yield [due_of(row).task for row in batch]
                # Newer rows are done and need no second scan.
                rest["occurred_at"] = {"$gte": recovery.since, "$lte": batch[-1]["occurred_at"]}

    async def due(
        self, recovery: Recovery, *, at: datetime, limit: int = MAX_BATCH_SIZE
    ) -> list[DeliveryTask]:
        """Returns some of the webhook's due deliveries."""
        due = {
            "webhook_id": recovery.webhook_id,
            "state": WAITING,
            "generation": recovery.generation,
            "due_at": {"$lte": at},
        }
        with translated_errors():
            found = self._rows.find(due, sort=[("retries", 1), ("due_at", 1)], limit=limit)
            return [due_of(row).task async for row in found]

    async def finish(self, recovery: Recovery, *, at: datetime) -> bool:
        """Ends a recovery unless rows that were in flight remain."""
        with translated_errors():
            for state in _states(recovery):
                if await self._rows.find_one({**_rows_of_recovery(recovery), **state}, {"_id": 1}):
                    return False
            await self._recoveries.update_one(
                {"_id": str(recovery.call_id)}, {"$set": {"expires_at": at + _KEPT}}
            )
        return True

    async def _next_batch(self, rest: Document, recovery: Recovery, at: datetime) -> list[Document]:
        order = [("occurred_at", DESCENDING), ("_id", DESCENDING)]
        first = first_attempt(recovery.generation, at=at, grace=self._grace)
        restart = {
            "$set": {**first, "recovered_by": str(recovery.call_id)},
            "$unset": ENDED_FIELDS,
        }
        with translated_errors():
            batch = await self._rows.find(rest, _TASK, sort=order, limit=self._batch).to_list(None)
            ids = [row["_id"] for row in batch]
            if ids:
                await self._rows.update_many({**rest, "_id": {"$in": ids}}, restart, hint=BY_ID)
        return batch

    async def _count(self, recovery: Recovery) -> int:
        count = 0
        with translated_errors():
            for state in _states(recovery):
                limit = self._max_counted - count
                if limit > 0:
                    rows = {**_rows_of_recovery(recovery), **state}
                    count += await self._rows.count_documents(rows, limit=limit)
        return count

    async def _count_of(self, call_id: UUID) -> int | None:
        with translated_errors():
            found = await self._recoveries.find_one({"_id": str(call_id)}, {"count": 1})
        return None if found is None else int(found["count"])


def _rows_of_recovery(recovery: Recovery) -> Document:
    return {
        "webhook_id": recovery.webhook_id,
        "occurred_at": {"$gte": recovery.since, "$lte": recovery.until},
        "purged": {"$ne": True},
        # Rescheduled rows may end again before the recovery is finished.
        "recovered_by": {"$ne": str(recovery.call_id)},
    }


def _states(recovery: Recovery) -> tuple[Document, ...]:
    # Ended rows last: waiting rows of an earlier generation may be cancelled meanwhile.
    return (
        earlier(recovery.generation),
        *({"state": state, "generation": {"$lte": recovery.generation}} for state in _ENDED),
    )
