"""Webhooks and deliveries, as immutable models."""

from typing import Any, Literal, TypedDict

from pydantic import Field

from company_registry.models import Model, Texts

AttemptStatus = Literal["succeeded", "failed", "cancelled"]


class WebhookFilter(Model):
    """Selects events; an empty list matches all, and every list must match.

    `companies` and `watchlists` are one list of companies together. A single text is a list of one.
    """

    countries: Texts = ()
    #: `<country>:<registration number>`.
    companies: Texts = ()
    #: Codes of legal forms, such as `80`.
    forms: Texts = ()
    #: Industry codes or their first digits.
    industries: Texts = ()
    municipalities: Texts = ()
    #: Only changes of these fields or of their parts, such as `address`.
    fields: Texts = ()
    #: Ids of watchlists: companies of one of them, or of `companies`.
    watchlists: Texts = ()


class LastDay(Model):
    """Attempts of the last 24 hours."""

    succeeded: int = 0
    failed: int = 0


class WebhookHealth(Model):
    """Delivery health of a webhook."""

    last_success_at: str | None = None
    last_failure_at: str | None = None
    consecutive_failures: int = 0
    failing_since: str | None = None
    #: While it fails: the next retry, and the one whose failure disables the webhook.
    next_attempt_at: str | None = None
    disables_at: str | None = None
    last_24h: LastDay = LastDay()


class Webhook(Model):
    """A webhook, without its secret."""

    id: str
    url: str
    #: Event types (`company.updated`), families (`company.*`) or `*`.
    events: tuple[str, ...]
    filter: WebhookFilter | None = None
    description: str | None = None
    #: Names of the headers that are sent with each delivery; their values are secret.
    headers: tuple[str, ...] = ()
    health: WebhookHealth | None = None
    #: `enabled` or `disabled`.
    status: str
    disabled_at: str | None = None
    #: `delivery_failed`, `gone`, `owner` or `operator`.
    disabled_reason: str | None = None
    created_at: str
    updated_at: str

    @property
    def condition(self) -> str:
        """Returns how it is, in one word: `enabled`, `failing` or `disabled`."""
        is_failing = self.health is not None and self.health.failing_since is not None
        return "failing" if self.status == "enabled" and is_failing else self.status


class NewWebhook(Webhook):
    """A webhook with its signing secret, which is shown only once.

    The secret is None where the request repeated an earlier one with the same idempotency key.
    """

    secret: str | None = Field(default=None, repr=False)


class Webhooks(Model):
    """The webhooks of an owner."""

    webhooks: tuple[Webhook, ...]


class WebhookChanges(TypedDict, total=False):
    """Fields of a webhook to change; the others stay as they are."""

    url: str
    events: list[str]
    filter: WebhookFilter | None
    description: str | None
    #: None removes a header, or all of them.
    headers: dict[str, str | None] | None
    #: `enabled` or `disabled`.
    status: str


class Attempt(Model):
    """One attempt to deliver, or a delivery that was cancelled."""

    delivery_id: str
    event_id: str
    event_type: str
    #: Counts from 1; 0 where the delivery was cancelled before its first attempt.
    attempt: int
    #: `succeeded`, `failed` or `cancelled`.
    status: str
    response_code: int | None = None
    #: Cause in one word: `timeout`, `dns`, `http_status`, …
    error: str | None = None
    duration_ms: int | None = None
    attempted_at: str | None = None
    next_attempt_at: str | None = None


class Attempts(Model):
    """A page of attempts, newest first."""

    deliveries: tuple[Attempt, ...]
    #: Cursor of the next page; None at the end.
    cursor: str | None = None


class Delivery(Model):
    """A delivery with all that was sent; the signatures of its headers are masked."""

    delivery_id: str
    event_id: str
    event_type: str
    occurred_at: str | None = None
    #: `pending`, `succeeded`, `failed` or `cancelled`.
    status: str
    #: Cause of a cancellation.
    reason: str | None = None
    next_attempt_at: str | None = None
    #: None once the register has removed the company.
    body: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()


class AcceptedDelivery(Model):
    """The reply to a request that starts a delivery."""

    delivery_id: str


class Recovered(Model):
    """The number of deliveries sent again."""

    count: int


class EventType(Model):
    """A type of events, with the JSON Schema of its messages."""

    name: str
    description: str
    #: JSON Schema (2020-12) of the delivery's body.
    body_schema: dict[str, Any] = Field(alias="schema")
    #: An invented body; empty from a service of an earlier release.
    example: dict[str, Any] = Field(default_factory=dict)


class EventTypes(Model):
    """All types of events that a webhook can subscribe to."""

    event_types: tuple[EventType, ...]


class Rate(Model):
    """A key's rate limit, and the remaining requests of its window."""

    count: int
    window_seconds: int
    remaining: int
    reset_seconds: int


class WebhookSources(Model):
    """The networks that deliveries come from, in CIDR notation."""

    addresses: tuple[str, ...]


class Key(Model):
    """The key that the request was made with."""

    key_id: str
    name: str
    owner: str
    scopes: tuple[str, ...] = ()
    rate: Rate
    created_at: str
    expires_at: str | None = None
