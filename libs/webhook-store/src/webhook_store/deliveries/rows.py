"""Delivery rows for the dispatcher: the source of truth of every delivery.

A row is claimed by a conditional update before its attempt and released with the attempt's result
(see recording.py). A waiting row has no `expires_at`, so it never expires.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pymongo import ASCENDING

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.deliveries.documents import (
    BY_ID,
    DELIVERIES,
    WAITING,
    claimed_anew,
    claimed_of,
    due_of,
    new_document,
    rows_of,
)
from webhook_store.deliveries.models import (
    GRACE,
    CancelReason,
    Claimed,
    DeliveryState,
    Due,
    NewDelivery,
)
from webhook_store.duplicates import insert_new

_DUE = {"webhook_id": 1, "attempts": 1, "retries": 1}


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """Durations of leases, grace and retention."""

    #: Duration of a claim; longer than the attempt timeout.
    lease: timedelta
    #: Time after its due time before a row counts as overdue.
    grace: timedelta = GRACE
    #: Retention of an ended row.
    retention: timedelta = timedelta(days=30)
    #: Retention of what it sent, if that is shorter.
    body_retention: timedelta = timedelta.max


class Deliveries:
    """The stored deliveries. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, times: DeliveryTimes) -> None:
        self._rows = database[DELIVERIES]
        self._times = times
        self.lease = times.lease

    async def insert(
        self, new: Sequence[NewDelivery], *, at: datetime, token: str = ""
    ) -> list[Claimed]:
        """Stores deliveries; existing ones are left unchanged.

        Returns those that begin, which are stored as claimed under `token`, new for each call.
        """
        times = self._times
        lease_until = at + times.lease
        claim = {"claim": token, "lease_until": lease_until}
        documents = []
        for one in new:
            row = new_document(one, at=at, grace=times.grace, retention=times.retention)
            if one.begins:
                row |= {**claim, "wake_at": min(row["wake_at"], lease_until)}
            documents.append(row)
        existing = set(await insert_new(self._rows, documents))
        return [
            claimed_anew(one, token=token, lease_until=lease_until)
            for number, one in enumerate(new)
            if one.begins and number not in existing
        ]

    async def claim(
        self, tasks: Sequence[DeliveryTask], *, token: str, at: datetime, held: Sequence[str] = ()
    ) -> list[Claimed]:
        """Claims the `tasks` that still wait for exactly that attempt and are unclaimed.

        `token` is new for each call; under `held` the caller may hold claims itself, which are
        claimed again. The other tasks were attempted, ended or claimed.
        """
        ids_by_attempts: defaultdict[int, list[DeliveryId]] = defaultdict(list)
        for task in tasks:
            ids_by_attempts[task.attempt - 1].append(task.delivery_id)
        expected = [
            {"_id": {"$in": ids}, "attempts": attempts} for attempts, ids in ids_by_attempts.items()
        ]
        of_tasks = rows_of({task.delivery_id: task.webhook_id for task in tasks})
        lease_until = at + self._times.lease
        unclaimed = [{"lease_until": {"$lte": at}}, {"claim": {"$in": held}}]
        free = {**of_tasks, "state": WAITING, "$and": [{"$or": expected}, {"$or": unclaimed}]}
        taken = {
            "$set": {"claim": token, "lease_until": lease_until},
            # After a crash the requeue job finds the row as soon as the lease expires. An earlier
            # time is kept, which saves an index write.
            "$min": {"wake_at": lease_until},
        }
        with translated_errors():
            result = await self._rows.update_many(free, taken, hint=BY_ID)
            if result.modified_count == 0:
                return []
            found = self._rows.find({**of_tasks, "claim": token}, hint=BY_ID)
            return [claimed_of(document) async for document in found]

    async def due(self, webhook_id: WebhookId, *, limit: int, at: datetime) -> list[DeliveryTask]:
        """Returns a webhook's due, unclaimed attempts, retries last."""
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
        """Returns deliveries whose message is overdue, first attempts before retries."""
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

    async def postpone(
        self, tasks: Sequence[DeliveryTask], *, at: datetime, until: datetime
    ) -> None:
        """Postpones requeued rows: `overdue` omits them before `until`."""
        # A row that was claimed meanwhile is checked when its lease expires.
        waiting = {
            **rows_of({task.delivery_id: task.webhook_id for task in tasks}),
            "state": WAITING,
            "wake_at": {"$lte": at},
            "lease_until": {"$lte": at},
        }
        with translated_errors():
            await self._rows.update_many(waiting, {"$set": {"wake_at": until}}, hint=BY_ID)

    async def waiting(self, *, retries: int, limit: int) -> int:
        """Counts the rows that wait after this number of retries, up to `limit`."""
        wanted = {"state": WAITING, "retries": retries}
        with translated_errors():
            return await self._rows.count_documents(wanted, limit=limit)

    async def oldest_due(self, *, at: datetime, retries: int) -> datetime | None:
        """Returns when the longest waiting due delivery with these retries became due."""
        wanted = {"state": WAITING, "retries": retries, "due_at": {"$lte": at}}
        with translated_errors():
            row = await self._rows.find_one(wanted, {"due_at": 1}, sort=[("wake_at", ASCENDING)])
        return None if row is None else row["due_at"]

    async def purge(self, event_ids: Collection[str], *, at: datetime) -> None:
        """Cancels the waiting deliveries of a removed company's events for good."""
        of_events = {"event_id": {"$in": list(event_ids)}}
        waiting = {**of_events, "state": WAITING, "lease_until": {"$lte": at}}
        ended = {
            "state": DeliveryState.CANCELLED.value,
            "reason": CancelReason.COMPANY_REMOVED.value,
            "expires_at": at + self._times.retention,
        }
        with translated_errors():
            await self._rows.update_many(waiting, {"$set": ended})
            # A delivery in flight ends at its next attempt, which finds no event.
            await self._rows.update_many(of_events, {"$set": {"purged": True}})
