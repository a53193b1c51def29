"""Webhooks between gateway, registry and dispatcher, and as clients see them.

A request carries the client's body unchanged; the registry owns the rules and validates it. A reply
carries the ready JSON, which the gateway passes through.
"""

from enum import StrEnum
from typing import Any, Literal, NewType
from uuid import UUID

import orjson
from pydantic import ConfigDict, Field

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.events import EventType, RegistryEvent, encode_event

#: `wh_` and 32 hexadecimal digits.
WebhookId = NewType("WebhookId", str)

#: A UUID of 36 characters: one for each event and webhook, the same for every attempt.
DeliveryId = NewType("DeliveryId", str)


class WebhookStatus(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    #: All retries of a delivery failed.
    DELIVERY_FAILED = "delivery_failed"
    #: The receiver answered 410.
    GONE = "gone"
    OWNER = "owner"
    OPERATOR = "operator"


class AttemptStatus(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WebhookFilter(Contract):
    """Selects companies; an empty list matches all, and both lists must match."""

    countries: tuple[Country, ...] = ()
    #: `<country>:<registration number>`.
    companies: tuple[str, ...] = ()


class PublicWebhook(Contract):
    """A webhook as its owner sees it, without the secret."""

    id: str
    url: str
    #: Event types (`company.updated`), families (`company.*`) or `*`.
    events: tuple[str, ...]
    filter: WebhookFilter | None
    description: str | None
    status: WebhookStatus
    #: RFC 3339, UTC, `Z`, as every time here.
    disabled_at: str | None
    disabled_reason: DisabledReason | None
    created_at: str
    updated_at: str


class WebhookWithSecret(PublicWebhook):
    """The answer to creating a webhook or rotating its secret: only these two show a secret."""

    model_config = ConfigDict(hide_input_in_errors=True)

    #: `whsec_` and base64 of 32 random bytes.
    secret: str = Field(repr=False)


class WebhookList(Contract):
    webhooks: tuple[PublicWebhook, ...]


class PublicAttempt(Contract):
    """One attempt to deliver, or one delivery that was cancelled before a further attempt."""

    delivery_id: str
    event_id: str
    event_type: EventType
    #: Counts from 1; 0 when a delivery was cancelled before its first attempt.
    attempt: int
    status: AttemptStatus
    response_code: int | None
    #: Cause in one word: `timeout`, `dns`, `http_status`, `webhook_disabled`, …
    error: str | None
    duration_ms: int | None
    attempted_at: str | None
    next_attempt_at: str | None


class AttemptList(Contract):
    deliveries: tuple[PublicAttempt, ...]


class AcceptedDelivery(Contract):
    delivery_id: str


class Recovered(Contract):
    """The number of deliveries sent again."""

    count: int


class PublicEventType(Contract):
    name: EventType
    description: str
    #: JSON Schema (2020-12) of the delivery's body.
    # `schema` would shadow a method that every model has.
    body_schema: dict[str, Any] = Field(serialization_alias="schema")


class EventTypeList(Contract):
    event_types: tuple[PublicEventType, ...]


class Operation(StrEnum):
    """Operations on webhooks, one for each method and path."""

    CREATE = "create"
    LIST = "list"
    GET = "get"
    CHANGE = "change"
    DELETE = "delete"
    ROTATE_SECRET = "rotate_secret"  # noqa: S105 (the name of an operation)
    TEST = "test"
    DELIVERIES = "deliveries"
    RETRY = "retry"
    RECOVER = "recover"
    EVENT_TYPES = "event_types"


class WebhookRequest(Contract):
    """One operation of one owner."""

    operation: Operation
    #: New for each HTTP request. Ids of created objects derive from it, so that a
    #: redelivered message creates nothing twice. Never the client's `X-Request-Id`.
    call_id: UUID
    #: The API key's owner; empty only where an operation has no owner (event types).
    owner: str = ""
    #: Unvalidated path segment, like `delivery_id`.
    webhook_id: str = ""
    delivery_id: str = ""
    #: The request body unchanged; empty when there was none.
    body: bytes = b""
    #: The `Idempotency-Key` header.
    idempotency_key: str | None = None
    #: Selects the deliveries listed: attempts made, or cancelled deliveries.
    status: Literal[AttemptStatus.CANCELLED] | None = None


class WebhookReply(Contract):
    """A ready answer. Failures travel as `Failure`."""

    # The body of two operations holds a secret: it is kept out of every text of the object.
    model_config = ConfigDict(hide_input_in_errors=True)

    #: The HTTP status.
    status: int
    #: The JSON document; empty with 204.
    body: bytes = Field(default=b"", repr=False)
    #: The path of the created resource.
    location: str | None = None
    #: Whether it is the stored answer to an earlier request with the same `Idempotency-Key`.
    replayed: bool = False


class AddressedEvent(RegistryEvent):
    """An event on the broker: the public event, and its webhook if it is for one only."""

    webhook_id: WebhookId | None = None


def encode_for(webhook_id: WebhookId, event: RegistryEvent) -> bytes:
    """Encode an event for one webhook only; the webhook's id is beside the event."""
    return orjson.dumps({**orjson.loads(encode_event(event)), "webhook_id": webhook_id})


def decode_addressed(message: bytes) -> tuple[AddressedEvent, bytes]:
    """Decode an event message; also returns the public event's bytes to store, sign and send.

    Raises pydantic.ValidationError.
    """
    event = AddressedEvent.model_validate_json(message)
    if event.webhook_id is None:
        return event, message
    public = orjson.loads(message)
    del public["webhook_id"]
    return event, orjson.dumps(public)
