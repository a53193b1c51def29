"""Deliveries as the owner of a webhook sees and repeats them."""

from datetime import datetime, timedelta
from enum import Enum, auto

from pymongo import DESCENDING

from common.contracts.deliveries import LONGEST_LIST, DeliveryTask
from common.contracts.webhooks import WebhookId
from common.mongo import Database, outages
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

_FAILED, _CANCELLED = DeliveryState.FAILED.value, DeliveryState.CANCELLED.value

#: What a row had while it was ended.
_ENDED_FIELDS = {"ended_at": "", "expires_at": "", "reason": "", "claim": ""}


class NotRepeated(Enum):
    """Why a delivery is not attempted once more."""

    #: There is none, or nothing is left of its event to send.
    NOT_FOUND = auto()
    #: It is not finished: its next attempt comes by itself.
    PENDING = auto()


class Redelivery:
    """The stored deliveries of webhooks, whose present `generation` every method is told.

    A delivery of an earlier one that waits reads as cancelled. Every method may raise `Outage`.
    """

    def __init__(self, database: Database, *, grace: timedelta = GRACE) -> None:
        self._rows = database[DELIVERIES]
        self._grace = grace

    async def cancelled(
        self, webhook_id: WebhookId, *, generation: int, limit: int = LISTED
    ) -> list[ListedAttempt]:
        """What was cancelled, the newest events first."""
        of_webhook = {"webhook_id": webhook_id}
        order = [("occurred_at", DESCENDING), ("_id", DESCENDING)]
        found: list[Document] = []
        with outages():
            for state in ({"state": _CANCELLED}, _earlier(generation)):
                found += await self._rows.find(
                    {**of_webhook, **state}, sort=order, limit=limit
                ).to_list(None)
        found.sort(key=lambda row: (row["occurred_at"], row["_id"]), reverse=True)
        return [listed_cancelled(document) for document in found[:limit]]

    async def retry(
        self, webhook_id: WebhookId, delivery_id: str, *, generation: int, at: datetime
    ) -> DeliveryTask | NotRepeated:
        """Makes one more attempt of a finished delivery due now; publish the task to wake it."""
        row = {"_id": delivery_id, "webhook_id": webhook_id, "purged": {"$ne": True}}
        finished = [{"state": {"$ne": WAITING}}, {**_earlier(generation), **_in_no_hands(at)}]
        once_more = {**first_attempt(generation, at=at, grace=self._grace), "by_hand": True}
        with outages():
            updated: Document | None = await self._rows.find_one_and_update(
                {**row, "$or": finished}, {"$set": once_more, "$unset": _ENDED_FIELDS}
            )
            if updated is not None:
                return due_of(updated).task
            waits = await self._rows.find_one(row, {"_id": 1})
        return NotRepeated.NOT_FOUND if waits is None else NotRepeated.PENDING

    async def recover(
        self,
        webhook_id: WebhookId,
        *,
        generation: int,
        since: datetime,
        until: datetime,
        at: datetime,
    ) -> int:
        """Begins the schedule anew of what failed for good or was cancelled; gives how many.

        `since` and `until` bound the events' `occurred_at`, both included. `to_wake` gives tasks
        to publish.
        """
        of_window = {
            "webhook_id": webhook_id,
            "occurred_at": {"$gte": since, "$lte": until},
            "purged": {"$ne": True},
        }
        ended = {"state": {"$in": [_FAILED, _CANCELLED]}}
        earlier = {**_earlier(generation), **_in_no_hands(at)}
        anew = {
            "$set": first_attempt(generation, at=at, grace=self._grace),
            "$unset": _ENDED_FIELDS,
        }
        with outages():
            done = [
                await self._rows.update_many({**of_window, **state}, anew)
                for state in (earlier, ended)
            ]
        return sum(one.modified_count for one in done)

    async def to_wake(
        self, webhook_id: WebhookId, *, generation: int, at: datetime, limit: int = LONGEST_LIST
    ) -> list[DeliveryTask]:
        """Some of a webhook's due deliveries; told that there are more, the dispatcher goes on."""
        due = {
            "webhook_id": webhook_id,
            "state": WAITING,
            "generation": generation,
            "due_at": {"$lte": at},
        }
        with outages():
            found = self._rows.find(due, sort=[("retries", 1), ("due_at", 1)], limit=limit)
            return [due_of(document).task async for document in found]


def _earlier(generation: int) -> Document:
    return {"state": WAITING, "generation": {"$lt": generation}}


def _in_no_hands(at: datetime) -> Document:
    # What is in flight is finished when its attempt is; it cannot be begun anew before that.
    return {"lease_until": {"$lte": at}}
