"""Listing and retrying of deliveries by a webhook's owner."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pymongo import DESCENDING

from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.webhooks import DeliveryId, DeliveryQuery, DeliveryStatus, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.attempts import position_of, selection
from webhook_store.delivery_documents import (
    DELIVERIES,
    WAITING,
    Document,
    due_of,
    first_attempt,
    listed_cancelled,
)
from webhook_store.delivery_models import (
    GRACE,
    CancelReason,
    DeliveryState,
    Listed,
    ListPosition,
    NotRepeated,
)

_CANCELLED = DeliveryState.CANCELLED.value

#: Fields of an ended row.
ENDED_FIELDS = {"ended_at": "", "expires_at": "", "reason": "", "claim": ""}


@dataclass(frozen=True, slots=True)
class Shown:
    """A delivery as its webhook's owner sees it."""

    id: DeliveryId
    event_id: str
    event_type: EventType
    occurred_at: datetime
    status: DeliveryStatus
    reason: str | None
    #: Attempts made.
    attempts: int
    next_attempt_at: datetime | None


class Redelivery:
    """Stored deliveries of a webhook, read under its current `generation`.

    A waiting delivery of an earlier generation counts as cancelled.

    Every method may raise `Unavailable`.
    """

    def __init__(self, database: Database, *, grace: timedelta = GRACE) -> None:
        self._rows = database[DELIVERIES]
        self._grace = grace

    async def cancelled(
        self,
        webhook_id: WebhookId,
        query: DeliveryQuery = DeliveryQuery(),  # noqa: B008 (immutable)
        *,
        generation: int,
        after: ListPosition | None = None,
    ) -> Listed:
        """Returns cancelled deliveries, newest events first."""
        # The partial indexes apply only to queries that name the field.
        of_webhook = {
            "webhook_id": webhook_id,
            "occurred_at": {"$exists": True},
            **selection(query, "occurred_at", after),
        }
        limit = query.limit + 1
        order = [("occurred_at", DESCENDING), ("_id", DESCENDING)]
        found: list[Document] = []
        with translated_errors():
            for state in ({"state": _CANCELLED}, earlier(generation)):
                found += await self._rows.find(
                    {**of_webhook, **state}, sort=order, limit=limit
                ).to_list(None)
        found.sort(key=lambda row: (row["occurred_at"], row["_id"]), reverse=True)
        shown = found[: query.limit]
        return Listed(
            [listed_cancelled(document) for document in shown],
            position_of(shown[-1], "occurred_at") if len(found) > len(shown) else None,
        )

    async def find(
        self, webhook_id: WebhookId, delivery_id: str, *, generation: int
    ) -> Shown | None:
        """Returns a delivery of the webhook."""
        with translated_errors():
            row = await self._rows.find_one({"_id": delivery_id, "webhook_id": webhook_id})
        return None if row is None else _shown(row, generation)

    async def retry(
        self,
        webhook_id: WebhookId,
        delivery_id: str,
        *,
        generation: int,
        call_id: UUID,
        at: datetime,
    ) -> DeliveryTask | NotRepeated:
        """Schedules an attempt now; returns the task to publish.

        A finished delivery is attempted once more; a scheduled attempt is made now, and its
        schedule goes on. A redelivered call changes nothing and returns the same task.
        """
        row = {"_id": delivery_id, "webhook_id": webhook_id, "purged": {"$ne": True}}
        fresh = {**row, "retried_by": {"$ne": str(call_id)}}
        finished = [{"state": {"$ne": WAITING}}, {**earlier(generation), **in_no_hands(at)}]
        once_more = {
            **first_attempt(generation, at=at, grace=self._grace),
            "by_hand": True,
            "retried_by": str(call_id),
        }
        with translated_errors():
            updated: Document | None = await self._rows.find_one_and_update(
                {**fresh, "$or": finished}, {"$set": once_more, "$unset": ENDED_FIELDS}
            )
            if updated is None:
                waiting = {"state": WAITING, "generation": generation, **in_no_hands(at)}
                now = {
                    "due_at": at,
                    "wake_at": at + self._grace,
                    "retried_by": str(call_id),
                }
                updated = await self._rows.find_one_and_update({**fresh, **waiting}, {"$set": now})
            found = updated or await self._rows.find_one(row)
        if found is None:
            return NotRepeated.NOT_FOUND
        is_ours = updated is not None or found.get("retried_by") == str(call_id)
        return due_of(found).task if is_ours else NotRepeated.PENDING


def _shown(row: Document, generation: int) -> Shown:
    is_waiting = row["state"] == WAITING
    is_pending = is_waiting and row["generation"] >= generation
    # A row that waited when its webhook was disabled is cancelled when it becomes due.
    state = DeliveryState.CANCELLED.value if is_waiting else row["state"]
    status = DeliveryStatus.PENDING if is_pending else DeliveryStatus(state)
    cancelled = status is DeliveryStatus.CANCELLED
    return Shown(
        id=row["_id"],
        event_id=row["event_id"],
        event_type=EventType(row["event_type"]),
        occurred_at=row["occurred_at"],
        status=status,
        reason=row.get("reason", CancelReason.WEBHOOK_DISABLED.value) if cancelled else None,
        attempts=row["attempts"],
        next_attempt_at=row["due_at"] if is_pending else None,
    )


def earlier(generation: int) -> Document:
    """Filter for rows that waited when their webhook was disabled."""
    return {"state": WAITING, "generation": {"$lt": generation}}


def in_no_hands(at: datetime) -> Document:
    """Filter for rows that are not in flight."""
    # A row in flight cannot be rescheduled before its attempt ends.
    return {"lease_until": {"$lte": at}}
