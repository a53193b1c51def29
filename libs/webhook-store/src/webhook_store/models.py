"""Models of webhooks, shared by registry and dispatcher."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID, uuid5

from pydantic import SecretStr

from common.contracts.company import CompanyKey, Country
from common.contracts.webhooks import DeliveryId, DisabledReason, WebhookId, WebhookStatus


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Filter by company and country; both must match, and an empty tuple matches all."""

    countries: tuple[Country, ...] = ()
    companies: tuple[CompanyKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook without its secret."""

    id: WebhookId
    owner: str
    url: str
    #: The host of `url` in lower case, without a trailing dot; concurrency limits count by it.
    host: str
    #: Patterns: `company.updated`, `company.*`, `*`.
    events: tuple[str, ...]
    filter: EventFilter | None
    description: str | None
    created_at: datetime
    updated_at: datetime
    status: WebhookStatus = WebhookStatus.ENABLED
    disabled_at: datetime | None = None
    disabled_reason: DisabledReason | None = None
    #: Incremented by each disable and enable, so that deliveries of an earlier state can be
    #: recognized.
    generation: int = 1

    @property
    def enabled(self) -> bool:
        return self.status is WebhookStatus.ENABLED


@dataclass(frozen=True, slots=True)
class Match:
    """Webhook that matches an event."""

    webhook_id: WebhookId
    owner: str
    host: str
    generation: int
    #: If False, the delivery is stored as cancelled and can be recovered later.
    enabled: bool


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    newest: SecretStr
    #: The previous secret, while it still signs as well.
    previous: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class Sendable:
    """Current state of a webhook, as needed for a POST."""

    webhook_id: WebhookId
    owner: str
    url: str
    host: str
    generation: int
    enabled: bool
    #: None when no configured key opens them; the delivery then waits.
    secrets: SigningSecrets | None


@dataclass(frozen=True, slots=True)
class Registered:
    """A webhook with its newest secret, which is shown once."""

    webhook: Webhook
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class MadeBefore:
    """The webhook already exists."""

    registered: Registered
    #: The call that created its newest secret.
    call_id: UUID


@dataclass(frozen=True, slots=True)
class OwnerIsFull:
    """The owner has reached the limit; nothing was created."""


@dataclass(frozen=True, slots=True)
class NewSecret:
    """New secret that replaces another."""

    secret: SecretStr
    #: The call that created it; its redelivery creates no other.
    call_id: UUID
    at: datetime
    #: End of the overlap in which the replaced secret signs as well.
    previous_until: datetime


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Scope of an `Idempotency-Key`: one owner's requests to one path."""

    owner: str
    path: str
    key: str

    @property
    def id(self) -> str:
        return sha256("\0".join((self.owner, self.path, self.key)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """Stored answer for repeats; it never contains a secret."""

    status: int
    body: bytes
    location: str | None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Use of an `Idempotency-Key`."""

    #: The call that first used it; created objects are named after it.
    call_id: UUID
    #: SHA-256 of the request body; a repeat has the same.
    fingerprint: bytes
    #: None until the request is completed; a repeat then completes it.
    answer: KeptAnswer | None = None


def delivery_id(event_id: str, webhook_id: WebhookId) -> DeliveryId:
    """Derives the delivery id of an event and a webhook; `event_id` is a UUID."""
    return DeliveryId(str(uuid5(UUID(event_id), webhook_id)))
