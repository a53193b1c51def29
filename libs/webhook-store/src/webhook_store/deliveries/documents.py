"""MongoDB documents of deliveries, attempts and events."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import AttemptStatus, DeliveryId, WebhookId
from webhook_store.deliveries.models import (
    Attempted,
    Cancelled,
    CancelReason,
    Claimed,
    DeliveryState,
    Due,
    NewDelivery,
    Result,
)

Document = dict[str, Any]

DELIVERIES = "deliveries"
ATTEMPTS = "attempts"
EVENTS = "events"
RECOVERIES = "recoveries"

#: The lease of an unclaimed delivery.
NO_LEASE = datetime.fromtimestamp(0, UTC)

WAITING = DeliveryState.WAITING.value

#: The index for `rows_of`: others begin with the webhook, and hold all of its rows.
BY_ID = "_id_"

_CLAIMED = TypeAdapter(Claimed)

#: Fields of the schedule, which a delivery that succeeded has no more: nobody reads them, and there
#: are billions of such rows.
_SCHEDULE = ("generation", "retries", "by_hand", "due_at", "wake_at", "lease_until")


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
    return document if new.cancelled is None else document | _end(new.cancelled, at, retention)


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


def claimed_of(document: Document) -> Claimed:
    """Returns the claimed delivery of a row, with the token and lease of its claim."""
    return _CLAIMED.validate_python({**document, "id": document["_id"]})


def claimed_anew(new: NewDelivery, *, token: str, lease_until: datetime) -> Claimed:
    """Returns the claimed delivery of a row that was stored as claimed."""
    return Claimed(
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


def due_of(document: Document) -> Due:
    """Returns the task of a row's next attempt, and whether that is a retry of its schedule."""
    return Due(
        task=DeliveryTask(
            delivery_id=document["_id"],
            webhook_id=document["webhook_id"],
            attempt=document["attempts"] + 1,
        ),
        is_retry=document.get("retries", 0) > 0,
    )


class Change(NamedTuple):
    """Fields of a row that a write sets and removes."""

    set: Document
    unset: tuple[str, ...] = ("claim",)


def after(result: Result, *, at: datetime, grace: timedelta, retention: timedelta) -> Change:
    """Returns how releasing a row with a result changes it; equal changes share a write."""
    settled = {"settled_by": result.delivery.claim}
    match result:
        case Cancelled(_, reason):
            fields = {"lease_until": NO_LEASE, **_end(reason, at, retention)}
        case Attempted(delivery, next_attempt_at=datetime() as due_at):
            fields = {
                "lease_until": NO_LEASE,
                "attempts": result.number,
                "retries": delivery.retries + 1,
                "due_at": due_at,
                "wake_at": due_at + grace,
            }
        case Attempted(state=DeliveryState.SUCCEEDED):
            ended = {"attempts": result.number, **_ended(DeliveryState.SUCCEEDED, at, retention)}
            return Change(settled | ended, ("claim", *_SCHEDULE))
        case Attempted():
            ended = _ended(result.state, at, retention)
            fields = {"lease_until": NO_LEASE, "attempts": result.number, **ended}
    return Change(settled | fields)


def attempt_document(attempted: Attempted, *, expires_at: datetime) -> Document:
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


def _end(reason: CancelReason, at: datetime, retention: timedelta) -> Document:
    return {"reason": reason.value, **_ended(DeliveryState.CANCELLED, at, retention)}


def _ended(state: DeliveryState, at: datetime, retention: timedelta) -> Document:
    return {"state": state.value, "expires_at": at + retention}
