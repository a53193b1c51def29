"""Models of deliveries, shared by dispatcher and registry."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import NamedTuple
from uuid import UUID

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.traces import TraceContext
from common.contracts.webhooks import DeliveryId, DisabledReason, WebhookId

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


class NotRepeated(Enum):
    """Reason to refuse another attempt."""

    #: The delivery does not exist, or its event was purged.
    NOT_FOUND = auto()
    #: An attempt is being made.
    PENDING = auto()


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """Event whose bytes are stored for its deliveries."""

    id: str
    kind: EventType
    #: None only for `webhook.test`.
    company: CompanyKey | None
    body: bytes
    trace: TraceContext | None = None


class EventBody(NamedTuple):
    """The posted part of a stored event."""

    bytes: bytes
    trace: TraceContext | None = None


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
class Claimed:
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
class Attempted:
    """Result of an attempt, with what follows."""

    delivery: Claimed
    at: datetime
    duration: timedelta
    response_code: int | None
    #: None when it succeeded.
    error: str | None
    #: None when there is no further attempt.
    next_attempt_at: datetime | None
    #: Reason to disable the webhook, if any.
    disable: DisabledReason | None

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
class Cancelled:
    """Claimed delivery that is cancelled instead of attempted."""

    delivery: Claimed
    reason: CancelReason


Result = Attempted | Cancelled


@dataclass(frozen=True, slots=True)
class Written:
    """Effect of writing a result."""

    #: False when the claim was lost and another process's result counts.
    held: bool
    #: True if this result disabled the webhook.
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """Due delivery that has not been attempted."""

    task: DeliveryTask
    #: True if it is a retry; first attempts have priority.
    is_retry: bool


@dataclass(frozen=True, slots=True)
class Recovery:
    """Request to resend failed or cancelled deliveries of a time window."""

    #: The call that requested it.
    call_id: UUID
    webhook_id: WebhookId
    #: The webhook's generation at the request.
    generation: int
    #: Inclusive bounds of the events' `occurred_at`.
    since: datetime
    until: datetime
