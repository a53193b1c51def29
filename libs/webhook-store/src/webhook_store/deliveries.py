"""Delivery rows as the dispatcher needs them: the truth about what is sent to whom, and when.

A row is claimed by a conditional update before its attempt and given back with the attempt's
result (see recording.py). What waits has no `expires_at`, so nothing that waits ever expires.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pymongo.errors
from pymongo import ASCENDING, InsertOne

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.delivery_documents import (
    DELIVERIES,
    WAITING,
    Document,
    claimed_of,
    due_of,
    new_document,
)
from webhook_store.delivery_models import (
    GRACE,
    CancelReason,
    Claimed,
    DeliveryState,
    Due,
    NewDelivery,
)
from webhook_store.duplicates import duplicates

_DUE = {"webhook_id": 1, "attempts": 1, "retries": 1}


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """How long things last."""

    #: A claim's; longer than the longest attempt.
    lease: timedelta
    #: How long after its time a row is left to its message.
    grace: timedelta = GRACE
    #: How long an ended row is kept.
    retention: timedelta = timedelta(days=30)


class Deliveries:
    """The stored deliveries. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, times: DeliveryTimes) -> None:
        self._rows = database[DELIVERIES]
        self._times = times

    async def insert(self, new: Sequence[NewDelivery], *, at: datetime) -> None:
        """Keeps deliveries; those that are there already stay as they are."""
        times = self._times
        writes = [
            InsertOne(new_document(one, at=at, grace=times.grace, retention=times.retention))
            for one in new
        ]
        with translated_errors():
            try:
                await self._rows.bulk_write(writes, ordered=False)
            except pymongo.errors.BulkWriteError as error:
                duplicates(error)  # They stay as they are.

    async def claim(
        self, tasks: Sequence[DeliveryTask], *, token: str, at: datetime
    ) -> list[Claimed]:
        """Takes those of `tasks` that still wait for just that attempt and are nobody's now.

        `token` is new for each call. The others have been attempted, ended or claimed.
        """
        ids_by_attempts: defaultdict[int, list[DeliveryId]] = defaultdict(list)
        for task in tasks:
            ids_by_attempts[task.attempt - 1].append(task.delivery_id)
        expected = [
            {"_id": {"$in": ids}, "attempts": attempts} for attempts, ids in ids_by_attempts.items()
        ]
        condition: Document = {"$or": expected}
        lease_until = at + self._times.lease
        free = {**condition, "state": WAITING, "lease_until": {"$lte": at}}
        taken = {
            "$set": {"claim": token, "lease_until": lease_until},
            # Should we die with it, the sweeper finds it the moment that the lease is over. An
            # earlier time does as well, and leaving it spares the index a write.
            "$min": {"wake_at": lease_until},
        }
        with translated_errors():
            result = await self._rows.update_many(free, taken)
            if result.modified_count == 0:
                return []
            found = self._rows.find({**condition, "claim": token})
            return [claimed_of(document) async for document in found]

    async def due(self, webhook_id: WebhookId, *, limit: int, at: datetime) -> list[DeliveryTask]:
        """The attempts that a webhook has due and no process has claimed, retries last."""
        due = {
            "webhook_id": webhook_id,
            "state": WAITING,
            "due_at": {"$lte": at},
            "lease_until": {"$lte": at},
        }
        order = [("retries", ASCENDING), ("due_at", ASCENDING)]
        with translated_errors():
            found = self._rows.find(due, _DUE, sort=order, limit=limit)
            return [due_of(document).task async for document in found]

    async def overdue(self, *, at: datetime, limit: int) -> list[Due]:
        """Deliveries whose message should have come, first attempts before retries."""
        passed = {
            "state": WAITING,
            "retries": {"$gte": 0},
            "wake_at": {"$lte": at},
            "lease_until": {"$lte": at},
        }
        order = [("retries", ASCENDING), ("wake_at", ASCENDING)]
        with translated_errors():
            found = self._rows.find(passed, _DUE, sort=order, limit=limit)
            return [due_of(document) async for document in found]

    async def postpone(self, ids: Collection[DeliveryId], *, at: datetime, until: datetime) -> None:
        """Notes that these were woken: `overdue` gives none of them before `until`."""
        # One that was claimed meanwhile is looked at when its lease is over.
        waiting = {
            "_id": {"$in": list(ids)},
            "state": WAITING,
            "wake_at": {"$lte": at},
            "lease_until": {"$lte": at},
        }
        with translated_errors():
            await self._rows.update_many(waiting, {"$set": {"wake_at": until}})

    async def waiting(self, *, retries: int, limit: int) -> int:
        """How many wait for the attempt after so many retries, counted up to `limit`."""
        wanted = {"state": WAITING, "retries": retries}
        with translated_errors():
            return await self._rows.count_documents(wanted, limit=limit)

    async def purge(self, event_ids: Collection[str], *, at: datetime) -> None:
        """Cancels what waits of events whose company was removed; none is ever sent again."""
        of_events = {"event_id": {"$in": list(event_ids)}}
        waiting = {**of_events, "state": WAITING, "lease_until": {"$lte": at}}
        ended = {
            "state": DeliveryState.CANCELLED.value,
            "reason": CancelReason.COMPANY_REMOVED.value,
            "ended_at": at,
            "expires_at": at + self._times.retention,
        }
        with translated_errors():
            await self._rows.update_many(waiting, {"$set": ended})
            # What is in flight ends by itself: its next attempt finds no event.
            await self._rows.update_many(of_events, {"$set": {"purged": True}})
