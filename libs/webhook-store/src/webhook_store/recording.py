"""Recording of results under the claims of their attempts, and notices to the webhooks' owners.

Separate writes in a crash-safe order, without a transaction: first the attempts, then the disabling
of webhooks, then the rows, one write for all equal changes. A crash in between leaves a claimed
row. When its lease expires it is attempted again, and the later attempt, which has the same number,
replaces the earlier; or its webhook is disabled by then, and the delivery is cancelled. A killed
process would leave a transaction open, which blocks its rows and every batch that claims them for
a minute (ADR 0007, 0013).

A notice is stored in its webhook until it is in the outbox. A webhook that is disabled gets it in
the same write (`disabled_notice`), so that no crash loses it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import uuid5

import pymongo.errors
from pymongo import ReplaceOne, UpdateMany

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.events import (
    EVENT_NAMESPACE,
    EventData,
    EventType,
    EventWebhook,
    FailedDelivery,
    RegistryEvent,
)
from common.contracts.webhooks import AttemptStatus, DeliveryId, DisabledReason, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.collections import (
    ATTEMPTS,
    BY_ID,
    DELIVERIES,
    NOTICE_DUE,
    NOTICES,
    WEBHOOKS,
    Document,
    duplicates,
)
from webhook_store.deliveries import (
    NO_LEASE,
    CancelReason,
    ClaimedDelivery,
    DeliveryState,
    DeliveryTimes,
    ended_fields,
    rows_of,
)
from webhook_store.sending import Webhooks


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """Result of an attempt, with what follows."""

    delivery: ClaimedDelivery
    at: datetime
    duration: timedelta
    response_code: int | None
    #: None when it succeeded.
    error: str | None
    #: None when there is no further attempt.
    next_attempt_at: datetime | None
    #: Reason to disable the webhook, if any.
    disable: DisabledReason | None
    #: The time of the last retry, whose failure disables the webhook; with a further attempt.
    disables_at: datetime | None = None

    @property
    def number(self) -> int:
        """Returns the number of the attempt, from 1."""
        return self.delivery.attempts + 1

    @property
    def state(self) -> DeliveryState:
        """Returns the delivery's state after this attempt: waiting if a retry follows."""
        if self.error is None:
            return DeliveryState.SUCCEEDED
        return DeliveryState.FAILED if self.next_attempt_at is None else DeliveryState.WAITING


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Claimed delivery that is cancelled instead of attempted."""

    delivery: ClaimedDelivery
    reason: CancelReason


Result = AttemptResult | Cancellation


@dataclass(frozen=True, slots=True)
class WriteEffect:
    """Effect of writing a result."""

    #: False when the claim was lost and another process's result counts.
    held: bool
    #: True if this result disabled the webhook.
    disabled: bool = False


#: Fields of the schedule, which a delivery that succeeded has no more: nobody reads them, and there
#: are billions of such rows.
_SCHEDULE = (
    "generation", "retries", "by_hand", "due_at", "wake_at", "lease_until", "disables_at",
)  # fmt: skip


class Change(NamedTuple):
    """Fields of a row that a write sets and removes."""

    set: Document
    unset: tuple[str, ...] = ("claim",)


def after(result: Result, *, at: datetime, grace: timedelta, retention: timedelta) -> Change:
    """Returns how releasing a row with a result changes it; equal changes share a write."""
    released: Document = {"settled_by": result.delivery.claim, "lease_until": NO_LEASE}
    ended = partial(ended_fields, at=at, retention=retention)
    match result:
        case Cancellation(_, reason):
            return Change(released | ended(DeliveryState.CANCELLED, reason=reason))
        case AttemptResult(delivery, next_attempt_at=datetime() as due_at):
            schedule = {
                "retries": delivery.retries + 1,
                "due_at": due_at,
                "wake_at": due_at + grace,
                "disables_at": result.disables_at,
            }
            return Change({**released, "attempts": result.number, **schedule})
        case AttemptResult():
            fields = {**released, "attempts": result.number, **ended(result.state)}
            if result.state is not DeliveryState.SUCCEEDED:
                return Change(fields)
            kept = {name: fields[name] for name in fields if name not in _SCHEDULE}
            return Change(kept, ("claim", *_SCHEDULE))


def attempt_document(attempted: AttemptResult, *, expires_at: datetime) -> Document:
    """Returns the document of an attempt; its id makes repeated writes idempotent."""
    delivery = attempted.delivery
    succeeded = attempted.state is DeliveryState.SUCCEEDED
    return {
        "_id": f"{delivery.id}:{attempted.number}",
        "delivery_id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "generation": delivery.generation,
        "event_id": delivery.event_id,
        "event_type": delivery.event_type.value,
        "attempt": attempted.number,
        "status": (AttemptStatus.SUCCEEDED if succeeded else AttemptStatus.FAILED).value,
        "response_code": attempted.response_code,
        "error": attempted.error,
        "duration_ms": attempted.duration // timedelta(milliseconds=1),
        "attempted_at": attempted.at,
        "next_attempt_at": attempted.next_attempt_at,
        "expires_at": expires_at,
    }


class Recorder:
    """Writes results."""

    def __init__(self, database: Database, webhooks: Webhooks, times: DeliveryTimes) -> None:
        self._rows = database[DELIVERIES]
        self._attempts = database[ATTEMPTS]
        self._webhooks = webhooks
        self._times = times

    async def record(self, results: Sequence[Result], *, at: datetime) -> list[WriteEffect]:
        """Writes results, at most one per delivery; returns the effect of each, in order.

        Raises Unavailable. Some results may then be written; record all again: written results are
        reported as held and not written twice.
        """
        with translated_errors():
            disabling = [
                one for one in results if isinstance(one, AttemptResult) and one.disable is not None
            ]
            lost = await self._lost(disabling)
            ours = [one for one in results if one.delivery.id not in lost]
            await self._write_attempts([one for one in ours if isinstance(one, AttemptResult)], at)
            disabled = {one.delivery.id for one in ours if await self._disable(one, at)}
            written = 0
            if ours:
                rows = await self._rows.bulk_write(self._updates(ours, at), ordered=False)
                written = rows.modified_count
            held = {one.delivery.id for one in results}
            if written < len(results):
                held = await self._released(results)
        return [
            WriteEffect(held=one.delivery.id in held, disabled=one.delivery.id in disabled)
            for one in results
        ]

    async def _lost(self, results: Sequence[Result]) -> set[DeliveryId]:
        # For other results the write itself detects a lost claim. A result that an earlier try
        # wrote is not lost: it must report the disabled webhook again.
        if not results:
            return set()
        claims = {one.delivery.id: one.delivery.claim for one in results}
        found = self._rows.find(
            _rows_of_results(results), {"claim": 1, "settled_by": 1}, hint=BY_ID
        )
        held = {
            row["_id"]
            async for row in found
            if claims[row["_id"]] in (row.get("claim"), row.get("settled_by"))
        }
        return set(claims) - held

    async def _disable(self, result: Result, at: datetime) -> bool:
        if not isinstance(result, AttemptResult) or result.disable is None:
            return False
        delivery = result.delivery
        return await self._webhooks.disable(
            delivery.webhook_id,
            generation=delivery.generation,
            reason=result.disable,
            # One claim covers many deliveries, and a delivery is claimed many times.
            by=f"{delivery.id}:{delivery.claim}",
            at=at,
        )

    async def _write_attempts(self, attempted: Sequence[AttemptResult], at: datetime) -> None:
        expires_at = at + self._times.retention
        attempts = [attempt_document(one, expires_at=expires_at) for one in attempted]
        if not attempts:
            return
        try:
            await self._attempts.insert_many(attempts, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            await self._replace([attempts[number] for number in duplicates(error)])

    async def _replace(self, attempts: Sequence[Document]) -> None:
        if not attempts:
            return
        writes = [
            # A process that lost the claim started earlier than its present holder.
            ReplaceOne(
                {
                    "_id": one["_id"],
                    "webhook_id": one["webhook_id"],
                    "attempted_at": {"$lte": one["attempted_at"]},
                },
                one,
                upsert=True,
                hint=BY_ID,
            )
            for one in attempts
        ]
        try:
            await self._attempts.bulk_write(writes, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            duplicates(error)  # A later attempt with the same number exists and is kept.

    async def _released(self, results: Sequence[Result]) -> set[DeliveryId]:
        claims = {one.delivery.id: one.delivery.claim for one in results}
        found = self._rows.find(_rows_of_results(results), {"settled_by": 1}, hint=BY_ID)
        return {row["_id"] async for row in found if row.get("settled_by") == claims[row["_id"]]}

    def _updates(self, results: Sequence[Result], at: datetime) -> list[UpdateMany]:
        times = self._times
        groups: defaultdict[tuple[tuple[tuple[str, Any], ...], tuple[str, ...]], list[Result]]
        groups = defaultdict(list)
        for result in results:
            change = after(result, at=at, grace=times.grace, retention=times.retention)
            groups[tuple(change.set.items()), change.unset].append(result)
        return [
            UpdateMany(
                {**_rows_of_results(alike), "claim": alike[0].delivery.claim},
                {"$set": dict(fields), "$unset": dict.fromkeys(unset, "")},
                hint=BY_ID,
            )
            for (fields, unset), alike in groups.items()
        ]


def _rows_of_results(results: Sequence[Result]) -> Document:
    return rows_of({one.delivery.id: one.delivery.webhook_id for one in results})


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """The events of one webhook that are due."""

    webhook_id: WebhookId
    owner: str
    events: tuple[RegistryEvent, ...]
    #: The stored notices, which are removed unless others were added.
    stored: Mapping[str, Any]


_NOTICE: Final = {"owner": 1, "url": 1, "description": 1, "generation": 1, NOTICES: 1}


class Notices:
    """The notices of all webhooks. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._webhooks = database[WEBHOOKS]

    async def failing(self, attempted: AttemptResult) -> None:
        """Notes that a delivery fails: once a day for each webhook, while it is enabled."""
        delivery, day = attempted.delivery, f"{attempted.at:%Y-%m-%d}"
        notice = {
            "day": day,
            "at": attempted.at,
            "delivery_id": delivery.id,
            "event_id": delivery.event_id,
            "event_type": delivery.event_type.value,
            "attempt": attempted.number,
            "response_code": attempted.response_code,
            "error": attempted.error,
        }
        with translated_errors():
            await self._webhooks.update_one(
                {
                    "_id": delivery.webhook_id,
                    "generation": delivery.generation,
                    "failing_noted": {"$ne": day},
                },
                {"$set": {f"{NOTICES}.failing": notice, NOTICE_DUE: True, "failing_noted": day}},
            )

    async def due(self, *, limit: int) -> list[OwnerNotice]:
        """Returns notices that are not yet in the outbox."""
        with translated_errors():
            found = await self._webhooks.find({NOTICE_DUE: True}, _NOTICE, limit=limit).to_list(
                None
            )
        return [
            OwnerNotice(one["_id"], one["owner"], tuple(events_of(one)), one[NOTICES])
            for one in found
        ]

    async def remove(self, notice: OwnerNotice) -> None:
        """Removes notices; if one was added meanwhile, all of them stay due."""
        unchanged = {"_id": notice.webhook_id, NOTICES: dict(notice.stored)}
        with translated_errors():
            await self._webhooks.update_one(unchanged, {"$unset": {NOTICES: "", NOTICE_DUE: ""}})


def events_of(document: Document) -> list[RegistryEvent]:
    """Returns the events of a webhook's stored notices, with the same ids on each call."""
    notices: Document = document[NOTICES]
    webhook = EventWebhook(
        id=document["_id"], url=document["url"], description=document["description"]
    )
    events = []
    if "failing" in notices:
        failing = notices["failing"]
        data = EventData(webhook=webhook, delivery=FailedDelivery.model_validate(failing))
        mark = f"{document['_id']}|failing|{failing['day']}"
        events.append(_event(EventType.WEBHOOK_FAILING, mark, failing["at"], data))
    if "disabled" in notices:
        disabled = notices["disabled"]
        at = rfc3339_milliseconds(disabled["at"])
        disabled_as = {"disabled_at": at, "disabled_reason": disabled["reason"]}
        data = EventData(webhook=webhook.model_copy(update=disabled_as))
        mark = f"{document['_id']}|disabled|{at}"
        events.append(_event(EventType.WEBHOOK_DISABLED, mark, disabled["at"], data))
    return events


def _event(event_type: EventType, mark: str, at: datetime, data: EventData) -> RegistryEvent:
    return RegistryEvent(
        id=str(uuid5(EVENT_NAMESPACE, mark)),
        type=event_type,
        occurred_at=rfc3339_milliseconds(at),
        data=data,
    )
