"""Webhooks and their deliveries as clients see them, and events for one webhook or owner."""

from enum import StrEnum
from typing import Any, NewType

import orjson
from pydantic import ConfigDict, Field

from common.contracts.company import CompanyKeyText, Country
from common.contracts.contract import Contract, Timestamp
from common.contracts.events import EventType, RegistryEvent, encode_event
from common.contracts.watchlists import WatchlistId

#: `wh_` and 32 hexadecimal digits.
WebhookId = NewType("WebhookId", str)

#: A UUID of 36 characters: one for each event and webhook, the same for every attempt.
DeliveryId = NewType("DeliveryId", str)


class WebhookStatus(StrEnum):
    """Whether a webhook receives deliveries."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    """The reason for which a webhook was disabled."""

    #: All retries of a delivery failed.
    DELIVERY_FAILED = "delivery_failed"
    #: The receiver answered 410.
    GONE = "gone"
    OWNER = "owner"
    OPERATOR = "operator"


class AttemptStatus(StrEnum):
    """The outcome of one attempt to deliver an event."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class _Complete(Contract):
    """Every public field is always present, also one with a default."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class WebhookFilter(_Complete):
    """Selects events; an empty list matches all, and every list must match.

    `companies` and `watchlists` are one list of companies together.
    """

    countries: tuple[Country, ...] = ()
    companies: tuple[CompanyKeyText, ...] = ()
    #: Codes of legal forms as the registers have them, such as `80` or `AS`.
    forms: tuple[str, ...] = ()
    #: Beginnings of industry codes, with or without dots.
    industries: tuple[str, ...] = ()
    #: Names of municipalities, in any case, or their codes.
    municipalities: tuple[str, ...] = ()
    #: Fields of changes, or their beginnings: `address` is also `address.street`.
    fields: tuple[str, ...] = ()
    #: Lists of companies; an event matches if its company is in one of them or in `companies`.
    watchlists: tuple[WatchlistId, ...] = ()


class AttemptCounts(Contract):
    """Attempts of the last 24 hours, each counted up to 10,000."""

    succeeded: int = 0
    failed: int = 0


class WebhookHealth(_Complete):
    """Outcomes of a webhook's recent attempts."""

    last_success_at: Timestamp | None = None
    last_failure_at: Timestamp | None = None
    #: Failed attempts since the last success, at most 1,000.
    consecutive_failures: int = 0
    #: The first of them.
    failing_since: Timestamp | None = None
    #: While it fails: the next retry, and the one whose failure disables the webhook.
    next_attempt_at: Timestamp | None = None
    disables_at: Timestamp | None = None
    last_24h: AttemptCounts = AttemptCounts()


class Webhook(_Complete):
    """A webhook without its secret; its JSON is public and omits the excluded fields."""

    id: WebhookId
    owner: str = Field(exclude=True)
    url: str
    #: The host of `url` in lower case, without a trailing dot; concurrency limits count by it.
    host: str = Field(exclude=True)
    #: Event types (`company.updated`), families (`company.*`) or `*`.
    events: tuple[str, ...]
    filter: WebhookFilter | None
    description: str | None
    #: Names of the owner's headers; their values are never shown.
    headers: tuple[str, ...] = ()
    #: The headers that get a new value; the others keep theirs.
    new_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    status: WebhookStatus = WebhookStatus.ENABLED
    disabled_at: Timestamp | None = None
    disabled_reason: DisabledReason | None = None
    health: WebhookHealth = WebhookHealth()
    created_at: Timestamp
    updated_at: Timestamp
    #: Incremented by each disable and enable, so that deliveries of an earlier state can be
    #: recognized.
    generation: int = Field(default=1, exclude=True)

    @property
    def enabled(self) -> bool:
        """True if the webhook receives deliveries."""
        return self.status is WebhookStatus.ENABLED


class WebhookWithSecret(Webhook):
    """The answer to creating a webhook or rotating its secret: only these two show a secret."""

    model_config = ConfigDict(hide_input_in_errors=True)

    #: `whsec_` and base64 of 32 random bytes.
    secret: str = Field(repr=False)


class WebhookList(Contract):
    """The webhooks of an owner."""

    webhooks: tuple[Webhook, ...]


class Attempt(Contract):
    """One attempt to deliver, or one delivery that was cancelled before a further attempt."""

    delivery_id: DeliveryId
    event_id: str
    event_type: EventType
    #: Counts from 1; 0 when a delivery was cancelled before its first attempt.
    attempt: int
    status: AttemptStatus
    response_code: int | None
    #: Cause in one word: `timeout`, `dns`, `http_status`, `webhook_disabled`, …
    error: str | None
    duration_ms: int | None
    attempted_at: Timestamp | None
    next_attempt_at: Timestamp | None


class AttemptList(Contract):
    """A page of delivery attempts."""

    deliveries: tuple[Attempt, ...]
    #: `after` of the next page; None at the end.
    cursor: str | None = None


class DeliveryStatus(StrEnum):
    """The status of the delivery of one event to one webhook, over all attempts."""

    #: An attempt is due, scheduled or being made.
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Delivery(Contract):
    """One delivery with its request and all of its attempts."""

    delivery_id: DeliveryId
    event_id: str
    event_type: EventType
    occurred_at: Timestamp
    status: DeliveryStatus
    #: Cause of the cancellation in one word.
    reason: str | None
    next_attempt_at: Timestamp | None
    #: The body as sent, the same for every attempt; None once the event's company was removed.
    body: str | None
    #: The headers of the last attempt, or of the first that will be made; signatures are masked.
    headers: dict[str, str]
    #: The first attempt first.
    attempts: tuple[Attempt, ...]


class AcceptedDelivery(Contract):
    """The reply to a request that starts a delivery, such as a test or a retry."""

    delivery_id: str


class Recovered(Contract):
    """The number of deliveries sent again."""

    count: int


class PublicEventType(Contract):
    """A type of events, with the JSON Schema of its messages."""

    name: EventType
    description: str
    #: JSON Schema (2020-12) of the delivery's body.
    # `schema` would shadow a method that every model has.
    body_schema: dict[str, Any] = Field(serialization_alias="schema")
    #: An invented body.
    example: dict[str, Any]


class EventTypeList(Contract):
    """All types of events that a webhook can subscribe to."""

    event_types: tuple[PublicEventType, ...]


class AddressedEvent(RegistryEvent):
    """An event on the broker: the public event, and its webhook if it is for one only."""

    webhook_id: WebhookId | None = None
    #: The owner whose webhooks receive it, if it is about one of them.
    owner: str | None = None


def encode_for_owner(owner: str, event: bytes) -> bytes:
    """Returns the message of a public event for the webhooks of its owner."""
    return b'%b,"owner":%b}' % (event[:-1], orjson.dumps(owner))


def encode_for(webhook_id: WebhookId, event: RegistryEvent) -> bytes:
    """Returns the message of an event for one webhook only, whose id is a separate member."""
    return b'%b,"webhook_id":%b}' % (encode_event(event)[:-1], orjson.dumps(webhook_id))


def decode_addressed(message: bytes) -> tuple[AddressedEvent, bytes]:
    """Returns an event message, and the public event's bytes to store, sign and send.

    Raises pydantic.ValidationError.
    """
    event = AddressedEvent.model_validate_json(message)
    if event.webhook_id is None and event.owner is None:
        return event, message
    addressed = orjson.loads(message)
    public = {name: addressed[name] for name in addressed if name not in ("webhook_id", "owner")}
    return event, orjson.dumps(public)
