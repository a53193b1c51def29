"""Deliveries as the dispatcher and the registry know them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.webhooks import AttemptStatus, DeliveryId, DisabledReason, WebhookId

#: How long after its time a row is left to its message before the sweeper looks at it.
GRACE = timedelta(seconds=30)


class DeliveryState(StrEnum):
    #: For an attempt: now, later, or in somebody's hands.
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    #: For good, as far as the schedule goes.
    FAILED = "failed"
    CANCELLED = "cancelled"


class CancelReason(StrEnum):
    WEBHOOK_DISABLED = "webhook_disabled"
    WEBHOOK_DELETED = "webhook_deleted"
    COMPANY_REMOVED = "company_removed"


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event whose bytes are kept for its deliveries."""

    id: str
    kind: EventType
    #: None in `webhook.test` only.
    company: CompanyKey | None
    body: bytes


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """One event for one webhook."""

    id: DeliveryId
    webhook_id: WebhookId
    #: The webhook's when it was matched: a later one makes this delivery a cancelled one.
    generation: int
    event_id: str
    event_type: EventType
    occurred_at: datetime
    #: Set when it is not to be sent, but kept so that it can be recovered.
    cancelled: CancelReason | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery in our hands until `lease_until`; nobody else attempts it before that."""

    id: DeliveryId
    webhook_id: WebhookId
    generation: int
    event_id: str
    event_type: EventType
    occurred_at: datetime
    #: Attempts made, over all schedules.
    attempts: int
    #: Retries used up of the present schedule.
    retries: int
    #: Whether its owner asked for this attempt, which then is the only one.
    by_hand: bool
    claim: str
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Attempted:
    """A claimed delivery, the attempt that was made, and what follows."""

    delivery: Claimed
    at: datetime
    duration: timedelta
    response_code: int | None
    #: None when it succeeded.
    error: str | None
    #: None when there is no further attempt.
    next_attempt_at: datetime | None
    #: Why the webhook is to be disabled, if it is.
    disable: DisabledReason | None

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.delivery.attempts + 1

    @property
    def state(self) -> DeliveryState:
        if self.error is None:
            return DeliveryState.SUCCEEDED
        return DeliveryState.FAILED if self.next_attempt_at is None else DeliveryState.WAITING


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A claimed delivery that is not to be attempted."""

    delivery: Claimed
    reason: CancelReason


Result = Attempted | Cancelled


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a result."""

    #: False when the claim had been lost: somebody else's result counts.
    held: bool
    #: Whether this result disabled the webhook.
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery whose time has passed without anybody having attempted it."""

    task: DeliveryTask
    #: Whether it is a retry, which stands behind first attempts.
    is_retry: bool


@dataclass(frozen=True, slots=True)
class ListedAttempt:
    """An attempt that was made, or a delivery that was cancelled before a further one."""

    delivery_id: DeliveryId
    event_id: str
    event_type: EventType
    attempt: int
    status: AttemptStatus
    response_code: int | None
    error: str | None
    duration_ms: int | None
    attempted_at: datetime | None
    next_attempt_at: datetime | None
