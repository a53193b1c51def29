"""Webhooks between gateway, registry and dispatcher, and as clients see them.

A request carries the client's body as it came; the registry validates it, since the rules are its
own. A reply carries the ready JSON, which the gateway passes through.
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
    """Which companies' events; an empty list restricts nothing, and both must match."""

    countries: tuple[Country, ...] = ()
    #: `<country>:<registration number>`.
    companies: tuple[str, ...] = ()


class PublicWebhook(Contract):
    """A webhook as its owner sees it; the secret is in no answer but the two that make one."""

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
    """The answer that creates a webhook or rotates its secret: the only two that show one."""

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
    #: One word for the cause: `timeout`, `dns`, `http_status`, `webhook_disabled`, …
    error: str | None
    duration_ms: int | None
    attempted_at: str | None
    next_attempt_at: str | None


class AttemptList(Contract):
    deliveries: tuple[PublicAttempt, ...]


class AcceptedDelivery(Contract):
    delivery_id: str


class Recovered(Contract):
    """How many deliveries are sent again."""

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
    """What a client may do, one for each method and path."""

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
    #: New for each HTTP request. What an operation makes is named after it, so that a message
    #: which the broker delivers twice makes nothing twice. Never the client's `X-Request-Id`.
    call_id: UUID
    #: Of the API key; empty only where an operation belongs to nobody (event types).
    owner: str = ""
    #: As it stands in the path, like `delivery_id`: anything a client may write.
    webhook_id: str = ""
    delivery_id: str = ""
    #: The request body as it came; empty when there was none.
    body: bytes = b""
    #: The `Idempotency-Key` header.
    idempotency_key: str | None = None
    #: Which deliveries are listed: the attempts made, or what was cancelled.
    status: Literal[AttemptStatus.CANCELLED] | None = None


class WebhookReply(Contract):
    """A ready answer. Failures travel as `Failure`."""

    # The body of two operations holds a secret: it is kept out of every text of the object.
    model_config = ConfigDict(hide_input_in_errors=True)

    #: The HTTP status.
    status: int
    #: The JSON document; empty with 204.
    body: bytes = Field(default=b"", repr=False)
    #: The path of what was created.
    location: str | None = None
    #: Whether it is the stored answer to an earlier request with the same `Idempotency-Key`.
    replayed: bool = False


class AddressedEvent(RegistryEvent):
    """What crosses the broker: a public event, and the one webhook it is for, if it is for one."""

    webhook_id: WebhookId | None = None


def encode_for(webhook_id: WebhookId, event: RegistryEvent) -> bytes:
    """An event for one webhook alone, as it crosses the broker: the address is beside the event."""
    return orjson.dumps({**orjson.loads(encode_event(event)), "webhook_id": webhook_id})


def decode_addressed(message: bytes) -> tuple[AddressedEvent, bytes]:
    """An event message, and the public event's bytes: those to store, sign and send.

    Raises pydantic.ValidationError.
    """
    event = AddressedEvent.model_validate_json(message)
    if event.webhook_id is None:
        return event, message
    public = orjson.loads(message)
    del public["webhook_id"]
    return event, orjson.dumps(public)
