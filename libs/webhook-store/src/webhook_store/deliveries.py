"""Deliveries, one row each: the source of truth of every delivery.

A row is claimed by a conditional update before its attempt and released with the attempt's result
(see recording.py). A waiting row has no `expires_at`, so it never expires.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID, uuid5

from pydantic import TypeAdapter
from pymongo import ASCENDING

from common.contracts.events import EventType
from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import BY_ID, DELIVERIES, Document, insert_new

#: Time after its due time before the requeue job requeues a row.
GRACE = timedelta(seconds=30)


class DeliveryState(StrEnum):
    """State of a delivery's row; only a waiting row is claimed and attempted."""

    #: For an attempt: due, scheduled or claimed.
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    #: The schedule is exhausted.
    FAILED = "failed"
    CANCELLED = "cancelled"


class CancelReason(StrEnum):
    """Reason why a delivery was cancelled, stored in its row and shown to the owner."""

    WEBHOOK_DISABLED = "webhook_disabled"
    WEBHOOK_DELETED = "webhook_deleted"
    COMPANY_REMOVED = "company_removed"


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """One event for one webhook."""

    id: DeliveryId
    webhook_id: WebhookId
    #: The webhook's generation at the match; a later generation cancels this delivery.
    generation: int
    event_id: str
    event_type: EventType
    occurred_at: datetime
    #: Set when the delivery is stored as cancelled, so that it can be recovered.
    cancelled: CancelReason | None = None
    #: True if it is stored as claimed, since its first attempt follows at once.
    begins: bool = False


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """Delivery claimed exclusively until `lease_until`."""

    id: DeliveryId
    webhook_id: WebhookId
    generation: int
    event_id: str
    event_type: EventType
    occurred_at: datetime
    #: Attempts made, over all schedules.
    attempts: int
    #: Retries made in the current schedule.
    retries: int
    #: True if the owner requested this attempt, which has no retries.
    by_hand: bool
    claim: str
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """Due delivery that has not been attempted."""

    task: DeliveryTask
    #: True if it is a retry; first attempts have priority.
    is_retry: bool


def delivery_id(event_id: str, webhook_id: WebhookId) -> DeliveryId:
    """Returns the delivery id of an event, given by its UUID, and a webhook."""
    return DeliveryId(str(uuid5(UUID(event_id), webhook_id)))


#: The lease of an unclaimed delivery.
NO_LEASE = datetime.fromtimestamp(0, UTC)

WAITING = DeliveryState.WAITING.value

_CLAIMED = TypeAdapter(ClaimedDelivery)


def rows_of(webhooks: Mapping[DeliveryId, WebhookId]) -> Document:
    """Returns the filter for the rows of deliveries, each with its webhook.

    The webhook is the shard key: without it every shard would be asked.
    """
    return {"_id": {"$in": [*webhooks]}, "webhook_id": {"$in": [*set(webhooks.values())]}}


def new_document(
    new: NewDelivery, *, at: datetime, grace: timedelta, retention: timedelta
) -> Document:
    """Returns the row of a new delivery, waiting or cancelled from the start."""
    document = {
        "_id": new.id,
        "webhook_id": new.webhook_id,
        "generation": new.generation,
        "event_id": new.event_id,
        "event_type": new.event_type.value,
        "occurred_at": new.occurred_at,
        "attempts": 0,
        **first_attempt(new.generation, at=at, grace=grace),
    }
    if new.cancelled is None:
        return document
    cancelled = DeliveryState.CANCELLED
    return document | ended_fields(cancelled, at=at, retention=retention, reason=new.cancelled)


def first_attempt(generation: int, *, at: datetime, grace: timedelta) -> Document:
    """Returns the fields of a row at the start of its schedule."""
    return {
        "state": WAITING,
        "generation": generation,
        "retries": 0,
        "by_hand": False,
        "due_at": at,
        "wake_at": at + grace,
        "lease_until": NO_LEASE,
    }


def claimed_of(document: Document) -> ClaimedDelivery:
    """Returns the claimed delivery of a row, with the token and lease of its claim."""
    return _CLAIMED.validate_python({**document, "id": document["_id"]})


def claimed_anew(new: NewDelivery, *, token: str, lease_until: datetime) -> ClaimedDelivery:
    """Returns the claimed delivery of a row that was stored as claimed."""
    return ClaimedDelivery(
        id=new.id,
        webhook_id=new.webhook_id,
        generation=new.generation,
        event_id=new.event_id,
        event_type=new.event_type,
        occurred_at=new.occurred_at,
        attempts=0,
        retries=0,
        by_hand=False,
        claim=token,
        lease_until=lease_until,
    )


def due_of(document: Document) -> DueDelivery:
    """Returns the task of a row's next attempt, and whether that is a retry of its schedule."""
    return DueDelivery(
        task=DeliveryTask(
            delivery_id=document["_id"],
            webhook_id=document["webhook_id"],
            attempt=document["attempts"] + 1,
        ),
        is_retry=document.get("retries", 0) > 0,
    )


def ended_fields(
    state: DeliveryState, *, at: datetime, retention: timedelta, reason: CancelReason | None = None
) -> Document:
    """Returns the fields of a row that ended, with the reason if it was cancelled."""
    fields: Document = {"state": state.value, "expires_at": at + retention}
    return fields if reason is None else {**fields, "reason": reason.value}


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
    ) -> list[ClaimedDelivery]:
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
    ) -> list[ClaimedDelivery]:
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

    async def overdue(self, *, at: datetime, limit: int) -> list[DueDelivery]:
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

    async def oldest_due(
        self, *, at: datetime, until: datetime, retries: int, limit: int
    ) -> datetime | None:
        """Returns when the longest waiting due delivery with these retries became due.

        Rows that wake after `until` are not due. Of more than `limit` due ones those that wake
        first are considered.
        """
        wanted = {
            "state": WAITING,
            "retries": retries,
            "wake_at": {"$lte": until},
            "due_at": {"$lte": at},
        }
        stages: list[Document] = [
            {"$match": wanted},
            {"$sort": {"wake_at": ASCENDING}},
            {"$limit": limit},
            {"$group": {"_id": None, "due_at": {"$min": "$due_at"}}},
        ]
        with translated_errors():
            found = await (await self._rows.aggregate(stages)).to_list(1)
        return found[0]["due_at"] if found else None

    async def purge(self, event_ids: Collection[str], *, at: datetime) -> None:
        """Cancels the waiting deliveries of a removed company's events for good."""
        of_events = {"event_id": {"$in": list(event_ids)}}
        waiting = {**of_events, "state": WAITING, "lease_until": {"$lte": at}}
        ended = ended_fields(
            DeliveryState.CANCELLED,
            at=at,
            retention=self._times.retention,
            reason=CancelReason.COMPANY_REMOVED,
        )
        with translated_errors():
            await self._rows.update_many(waiting, {"$set": ended})
            # A delivery in flight ends at its next attempt, which finds no event.
            await self._rows.update_many(of_events, {"$set": {"purged": True}})
