"""Listing and retrying of deliveries by a webhook's owner."""

from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from pymongo import DESCENDING

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import WebhookId
from common.mongo import Database, translated_errors
from webhook_store.attempts import LISTED
from webhook_store.delivery_documents import (
    DELIVERIES,
    WAITING,
    Document,
    due_of,
    first_attempt,
    listed_cancelled,
)
from webhook_store.delivery_models import GRACE, DeliveryState, ListedAttempt

_CANCELLED = DeliveryState.CANCELLED.value

#: Fields of an ended row.
ENDED_FIELDS = {"ended_at": "", "expires_at": "", "reason": "", "claim": ""}


class NotRepeated(Enum):
    """Reason to refuse another attempt."""

    #: The delivery does not exist, or its event was purged.
    NOT_FOUND = auto()
    #: The delivery is not finished: its next attempt is scheduled.
    PENDING = auto()


class Redelivery:
    """Stored deliveries of a webhook, read under its current `generation`.

    A waiting delivery of an earlier generation counts as cancelled.

    Every method may raise `Unavailable`.
    """

    def __init__(self, database: Database, *, grace: timedelta = GRACE) -> None:
        self._rows = database[DELIVERIES]
        self._grace = grace

    async def cancelled(
        self, webhook_id: WebhookId, *, generation: int, limit: int = LISTED
    ) -> list[ListedAttempt]:
        """Returns cancelled deliveries, newest events first."""
        # The partial indexes apply only to queries that name the field.
        of_webhook = {"webhook_id": webhook_id, "occurred_at": {"$exists": True}}
        order = [("occurred_at", DESCENDING), ("_id", DESCENDING)]
        found: list[Document] = []
        with translated_errors():
            for state in ({"state": _CANCELLED}, earlier(generation)):
                found += await self._rows.find(
                    {**of_webhook, **state}, sort=order, limit=limit
                ).to_list(None)
        found.sort(key=lambda row: (row["occurred_at"], row["_id"]), reverse=True)
        return [listed_cancelled(document) for document in found[:limit]]

    async def retry(
        self,
        webhook_id: WebhookId,
        delivery_id: str,
        *,
        generation: int,
        call_id: UUID,
        at: datetime,
    ) -> DeliveryTask | NotRepeated:
        """Schedules one more attempt of a finished delivery; returns the task to publish.

        A redelivered call changes nothing and returns the same task.
        """
        row = {"_id": delivery_id, "webhook_id": webhook_id, "purged": {"$ne": True}}
        finished = [{"state": {"$ne": WAITING}}, {**earlier(generation), **in_no_hands(at)}]
        once_more = {
            **first_attempt(generation, at=at, grace=self._grace),
            "by_hand": True,
            "retried_by": str(call_id),
        }
        with translated_errors():
            updated: Document | None = await self._rows.find_one_and_update(
                {**row, "retried_by": {"$ne": str(call_id)}, "$or": finished},
                {"$set": once_more, "$unset": ENDED_FIELDS},
            )
            found = updated or await self._rows.find_one(row)
        if found is None:
            return NotRepeated.NOT_FOUND
        is_ours = updated is not None or found.get("retried_by") == str(call_id)
        return due_of(found).task if is_ours else NotRepeated.PENDING


def earlier(generation: int) -> Document:
    """Filter for rows that waited when their webhook was disabled."""
    return {"state": WAITING, "generation": {"$lt": generation}}


def in_no_hands(at: datetime) -> Document:
    """Filter for rows that are not in flight."""
    # A row in flight cannot be rescheduled before its attempt ends.
    return {"lease_until": {"$lte": at}}
