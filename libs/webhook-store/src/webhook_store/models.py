"""Webhooks as the registry and the dispatcher know them."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID, uuid5

from pydantic import SecretStr

from common.contracts.company import CompanyKey, Country
from common.contracts.webhooks import DeliveryId, DisabledReason, WebhookId, WebhookStatus


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which companies' events; an empty tuple restricts nothing, and both must match."""

    countries: tuple[Country, ...] = ()
    companies: tuple[CompanyKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook without its secret."""

    id: WebhookId
    owner: str
    url: str
    #: The host of `url` in lower case, without a trailing dot: what the caps count by.
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
    #: Raised by each disable and each enable, so that what was begun under another state of the
    #: webhook can be told from what belongs to this one.
    generation: int = 1

    @property
    def enabled(self) -> bool:
        return self.status is WebhookStatus.ENABLED


@dataclass(frozen=True, slots=True)
class Match:
    """A webhook that an event is for."""

    webhook_id: WebhookId
    owner: str
    host: str
    generation: int
    #: When not, the delivery is stored as cancelled, to be recovered later.
    enabled: bool


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    newest: SecretStr
    #: The one before, while it still signs too.
    previous: SecretStr | None = None


@dataclass(frozen=True, slots=True)
class Sendable:
    """What a POST needs to know of its webhook now."""

    webhook_id: WebhookId
    owner: str
    url: str
    host: str
    generation: int
    enabled: bool
    #: None when none of this process' keys opens them: our own fault, so the delivery waits.
    secrets: SigningSecrets | None


@dataclass(frozen=True, slots=True)
class Registered:
    """A webhook with its newest secret: what is shown once."""

    webhook: Webhook
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class MadeBefore:
    """The webhook was there already."""

    registered: Registered
    #: The call that made its newest secret.
    call_id: UUID


@dataclass(frozen=True, slots=True)
class OwnerIsFull:
    """The owner has as many webhooks as one may have; nothing was created."""


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret to take the place of another."""

    secret: SecretStr
    #: The call that made it: delivered again, it makes no other.
    call_id: UUID
    at: datetime
    #: Until then the replaced one signs too.
    previous_until: datetime


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Where an `Idempotency-Key` counts: one owner's requests to one path."""

    owner: str
    path: str
    key: str

    @property
    def id(self) -> str:
        return sha256("\0".join((self.owner, self.path, self.key)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer as it is repeated: it never holds a secret."""

    status: int
    body: bytes
    location: str | None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What an `Idempotency-Key` was used for."""

    #: The call that used it first; what the request makes is named after it.
    call_id: UUID
    #: SHA-256 of the request body: a repeat has the same.
    fingerprint: bytes
    #: None until what was asked for is done; a repeat then does it.
    answer: KeptAnswer | None = None


def delivery_id(event_id: str, webhook_id: WebhookId) -> DeliveryId:
    """One for each event and webhook; `event_id` is a UUID's text."""
    return DeliveryId(str(uuid5(UUID(event_id), webhook_id)))
