"""Deliveries of a webhook as its owner sees them: listed, shown, retried; and its health."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from pymongo import ASCENDING, DESCENDING
from pymongo.asynchronous.collection import AsyncCollection

from common.contracts.events import EventType
from common.contracts.topology import DeliveryTask
from common.contracts.webhook_api import DeliveryQuery, ListPosition
from common.contracts.webhooks import (
    Attempt,
    AttemptCounts,
    AttemptList,
    AttemptStatus,
    Delivery,
    DeliveryStatus,
    Webhook,
    WebhookHealth,
    WebhookId,
    WebhookStatus,
)
from common.mongo import Database, translated_errors
from webhook_store.collections import ATTEMPTS, BY_ID, DELIVERIES, EVENTS, Document
from webhook_store.deliveries import (
    GRACE,
    WAITING,
    CancelReason,
    DeliveryState,
    due_of,
    first_attempt,
)
from webhook_store.headers import shown_headers


class RetryRefusal(Enum):
    """Reason to refuse another attempt."""

    #: The delivery does not exist, or its event was purged.
    NOT_FOUND = auto()
    #: An attempt is being made.
    PENDING = auto()


#: Fields of an ended row.
ENDED_FIELDS = {"expires_at": "", "reason": "", "claim": ""}


class OwnedDeliveries:
    """Stored deliveries of a webhook, read under its current generation.

    A waiting delivery of an earlier generation counts as cancelled.

    Every method may raise `Unavailable`.
    """

    def __init__(self, database: Database) -> None:
        self._rows = database[DELIVERIES]
        self._attempts = database[ATTEMPTS]
        self._events = database[EVENTS]

    async def listed(self, webhook: Webhook, query: DeliveryQuery) -> AttemptList:
        """Returns a page of attempts made, or of cancelled deliveries, newest first."""
        is_cancelled = query.status is AttemptStatus.CANCELLED
        time = "occurred_at" if is_cancelled else "attempted_at"
        wanted = {"webhook_id": webhook.id, **_selection(query, time)}
        order = [(time, DESCENDING), ("_id", DESCENDING)]
        found: list[Document] = []
        with translated_errors():
            for collection, part in self._parts(webhook, query):
                limited = collection.find({**part, **wanted}, sort=order, limit=query.limit + 1)
                found += await limited.to_list(None)
        found.sort(key=lambda one: (one[time], one["_id"]), reverse=True)
        shown = found[: query.limit]
        attempts = [_cancelled(one) if is_cancelled else _attempt_of(one, webhook) for one in shown]
        is_last = len(found) == len(shown)
        cursor = None if is_last else ListPosition(shown[-1][time], shown[-1]["_id"]).cursor
        return AttemptList(deliveries=tuple(attempts), cursor=cursor)

    def _parts(
        self, webhook: Webhook, query: DeliveryQuery
    ) -> list[tuple[AsyncCollection[Document], Document]]:
        if query.status is None:
            return [(self._attempts, {})]
        if query.status is not AttemptStatus.CANCELLED:
            return [(self._attempts, {"status": query.status.value})]
        # The partial indexes apply only to queries that name the field.
        by_time = {"occurred_at": {"$exists": True}}
        ended = {"state": DeliveryState.CANCELLED.value}
        return [(self._rows, by_time | state) for state in (ended, earlier(webhook.generation))]

    async def find(self, webhook: Webhook, delivery_id: str) -> Delivery | None:
        """Returns a delivery with its request and its attempts, oldest first."""
        with translated_errors():
            row = await self._rows.find_one({"_id": delivery_id, "webhook_id": webhook.id})
            if row is None:
                return None
            ids = [f"{delivery_id}:{number + 1}" for number in range(row["attempts"])]
            made, event = await asyncio.gather(
                self._attempts.find(
                    {"_id": {"$in": ids}, "webhook_id": webhook.id}, hint=BY_ID
                ).to_list(None),
                self._events.find_one({"_id": row["event_id"]}, {"body": 1}),
            )
        made.sort(key=lambda document: document["attempt"])
        return _delivery_of(
            row, webhook, [_attempt_of(document, webhook) for document in made], event
        )

    async def retry(
        self, webhook: Webhook, delivery_id: str, *, call_id: UUID, at: datetime
    ) -> DeliveryTask | RetryRefusal:
        """Schedules an attempt now; returns the task to publish.

        A finished delivery is attempted once more; a scheduled attempt is made now, and its
        schedule goes on. A redelivered call changes nothing and returns the same task.
        """
        row = {"_id": delivery_id, "webhook_id": webhook.id, "purged": {"$ne": True}}
        fresh = {**row, "retried_by": {"$ne": str(call_id)}}
        generation = webhook.generation
        finished = [{"state": {"$ne": WAITING}}, {**earlier(generation), **not_in_flight(at)}]
        once_more = {
            **first_attempt(generation, at=at, grace=GRACE),
            "by_hand": True,
            "retried_by": str(call_id),
        }
        with translated_errors():
            updated: Document | None = await self._rows.find_one_and_update(
                {**fresh, "$or": finished}, {"$set": once_more, "$unset": ENDED_FIELDS}
            )
            if updated is None:
                waiting = {"state": WAITING, "generation": generation, **not_in_flight(at)}
                now = {"due_at": at, "wake_at": at + GRACE, "retried_by": str(call_id)}
                updated = await self._rows.find_one_and_update({**fresh, **waiting}, {"$set": now})
            found = updated or await self._rows.find_one(row)
        if found is None:
            return RetryRefusal.NOT_FOUND
        is_ours = updated is not None or found.get("retried_by") == str(call_id)
        return due_of(found).task if is_ours else RetryRefusal.PENDING


def earlier(generation: int) -> Document:
    """Returns the filter for rows that waited when their webhook was disabled."""
    return {"state": WAITING, "generation": {"$lt": generation}}


def not_in_flight(at: datetime) -> Document:
    """Returns the filter for rows that are not in flight."""
    # A row in flight cannot be rescheduled before its attempt ends.
    return {"lease_until": {"$lte": at}}


def _selection(query: DeliveryQuery, time: str) -> Document:
    bounds = {
        name: bound
        for name, bound in (("$gte", query.since), ("$lte", query.until))
        if bound is not None
    }
    selected: Document = {time: bounds} if bounds else {}
    if query.types:
        selected["event_type"] = {"$in": [kind.value for kind in query.types]}
    if query.after is not None:
        at, last = query.after
        selected["$or"] = [{time: {"$lt": at}}, {time: at, "_id": {"$lt": last}}]
    return selected


def _attempt_of(document: Document, webhook: Webhook) -> Attempt:
    # A retry scheduled under an earlier generation is never made.
    is_current = document["generation"] == webhook.generation
    return Attempt.model_validate(document if is_current else {**document, "next_attempt_at": None})


def _cancelled(row: Document) -> Attempt:
    return Attempt(
        delivery_id=row["_id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        attempt=row["attempts"],
        status=AttemptStatus.CANCELLED,
        response_code=None,
        error=_reason(row),
        duration_ms=None,
        attempted_at=None,
        next_attempt_at=None,
    )


def _reason(row: Document) -> str:
    # A row that waited when its webhook was disabled is cancelled when it becomes due.
    return str(row.get("reason", CancelReason.WEBHOOK_DISABLED.value))


def _delivery_of(
    row: Document, webhook: Webhook, attempts: Sequence[Attempt], event: Document | None
) -> Delivery:
    status = DeliveryStatus.PENDING
    if row["state"] != WAITING:
        status = DeliveryStatus(row["state"])
    elif row["generation"] < webhook.generation:
        status = DeliveryStatus.CANCELLED
    next_attempt_at = row["due_at"] if status is DeliveryStatus.PENDING else None
    sent_at = (attempts[-1].attempted_at if attempts else next_attempt_at) or row["occurred_at"]
    kind = EventType(row["event_type"])
    return Delivery(
        delivery_id=row["_id"],
        event_id=row["event_id"],
        event_type=kind,
        occurred_at=row["occurred_at"],
        status=status,
        reason=_reason(row) if status is DeliveryStatus.CANCELLED else None,
        next_attempt_at=next_attempt_at,
        body=None if event is None else event["body"].decode(),
        headers=shown_headers(kind, row["_id"], sent_at, own=webhook.headers),
        attempts=tuple(attempts),
    )


_SUCCEEDED, _FAILED = AttemptStatus.SUCCEEDED.value, AttemptStatus.FAILED.value

#: Maximum attempts counted.
MAX_COUNTED, MAX_CONSECUTIVE = 10_000, 1000
_DAY = timedelta(days=1)
#: Webhooks read at once, four queries each, of the driver's hundred connections: a list of many
#: webhooks leaves connections to other operations.
MAX_AT_ONCE = 16
#: Webhooks whose health is kept for reads that may be given an earlier one.
MAX_KEPT = 10_000


class Health:
    """Reads the health of webhooks; raises `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._attempts = database[ATTEMPTS]
        self._rows = database[DELIVERIES]
        self._reads = asyncio.Semaphore(MAX_AT_ONCE)
        #: The last reads with their times, the latest last.
        self._kept: dict[WebhookId, tuple[datetime, WebhookHealth]] = {}

    async def of(
        self, webhooks: Sequence[WebhookId], *, at: datetime, max_age: timedelta = timedelta()
    ) -> Mapping[WebhookId, WebhookHealth]:
        """Returns the health of webhooks at `at`, or as read up to `max_age` earlier."""
        with translated_errors():
            found = await asyncio.gather(
                *(self._read(webhook, at, max_age) for webhook in webhooks)
            )
        return dict(zip(webhooks, found, strict=True))

    async def _read(self, webhook_id: WebhookId, at: datetime, max_age: timedelta) -> WebhookHealth:
        async with self._reads:
            # Checked once this read may start: concurrent lists reuse what the first has read.
            kept = self._kept.get(webhook_id)
            if max_age and kept is not None and at - kept[0] < max_age:
                return kept[1]
            health = await self._of(webhook_id, at)
        self._kept.pop(webhook_id, None)
        self._kept[webhook_id] = at, health
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return health

    async def _of(self, webhook_id: WebhookId, at: datetime) -> WebhookHealth:
        of_webhook = {"webhook_id": webhook_id}
        recent = {**of_webhook, "attempted_at": {"$gte": at - _DAY}}
        success, failure, succeeded, failed = await asyncio.gather(
            self._edge({**of_webhook, "status": _SUCCEEDED}, DESCENDING),
            self._edge({**of_webhook, "status": _FAILED}, DESCENDING),
            self._count({**recent, "status": _SUCCEEDED}, MAX_COUNTED),
            self._count({**recent, "status": _FAILED}, MAX_COUNTED),
        )
        since: Document = {} if success is None else {"attempted_at": {"$gt": success}}
        failing = {**of_webhook, "status": _FAILED, **since}
        is_failing = failure is not None and (success is None or failure > success)
        return WebhookHealth(
            last_success_at=success,
            last_failure_at=failure,
            consecutive_failures=(await self._count(failing, MAX_CONSECUTIVE) if is_failing else 0),
            failing_since=await self._edge(failing, ASCENDING) if is_failing else None,
            last_24h=AttemptCounts(succeeded=succeeded, failed=failed),
        )

    async def with_retries(self, webhook: Webhook, health: WebhookHealth) -> WebhookHealth:
        """Returns the health with what is to come while the webhook fails."""
        if health.failing_since is None or webhook.status is not WebhookStatus.ENABLED:
            return health
        first: list[Document] = []
        wanted = {
            "webhook_id": webhook.id,
            "state": WAITING,
            "generation": webhook.generation,
            "by_hand": False,
        }
        fields = {"_id": 0, "retries": 1, "due_at": 1, "disables_at": 1}
        order, retries = [("retries", ASCENDING), ("due_at", ASCENDING)], 0
        # A read of the index for each retry of the schedule: of those that have made as many, the
        # earliest is also the first to make the last one.
        with translated_errors():
            while row := await self._rows.find_one(
                {**wanted, "retries": {"$gt": retries}}, fields, sort=order
            ):
                first.append(row)
                retries = row["retries"]
        disabling = [at for row in first if (at := row.get("disables_at"))]
        return health.model_copy(
            update={
                "next_attempt_at": min((row["due_at"] for row in first), default=None),
                "disables_at": min(disabling, default=None),
            }
        )

    async def _edge(self, query: Document, order: int) -> datetime | None:
        found = await self._attempts.find_one(
            query, {"_id": 0, "attempted_at": 1}, sort=[("attempted_at", order)]
        )
        return None if found is None else found["attempted_at"]

    async def _count(self, query: Document, limit: int) -> int:
        return await self._attempts.count_documents(query, limit=limit)
