"""Models of webhooks, shared by registry and dispatcher."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

from pydantic import SecretStr

from common.contracts.events import RegistryEvent
from common.contracts.webhook_api import WebhookReply
from common.contracts.webhooks import DeliveryId, Webhook, WebhookId


@dataclass(frozen=True, slots=True)
class Match:
    """Webhook that matches an event."""

    webhook_id: WebhookId
    generation: int
    #: If False, the delivery is stored as cancelled and can be recovered later.
    enabled: bool


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """Secrets that sign a delivery: two of them during the overlap after a rotation."""

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
    #: The owner's headers.
    headers: Mapping[str, SecretStr] = field(default_factory=dict)


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
class RotationPending:
    """The secret before the newest still signs; nothing was rotated."""

    until: datetime


@dataclass(frozen=True, slots=True)
class KeyScope:
    """Scope of an `Idempotency-Key`: one owner's requests to one path."""

    owner: str
    path: str
    key: str

    @property
    def id(self) -> str:
        """Returns the id of the stored use: a SHA-256 of owner, path and key."""
        return sha256("\0".join((self.owner, self.path, self.key)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Use of an `Idempotency-Key`."""

    #: The call that first used it; created objects are named after it.
    call_id: UUID
    #: SHA-256 of the request body; a repeat has the same.
    fingerprint: bytes
    #: The answer to repeats, which contains no secret. None until the request is completed; a
    #: repeat then completes it.
    answer: WebhookReply | None = None


@dataclass(frozen=True, slots=True)
class OwnerNotice:
    """The events of one webhook that are due."""

    webhook_id: WebhookId
    owner: str
    events: tuple[RegistryEvent, ...]
    #: The stored notices, which are removed unless others were added.
    stored: Mapping[str, Any]


def delivery_id(event_id: str, webhook_id: WebhookId) -> DeliveryId:
    """Returns the delivery id of an event, given by its UUID, and a webhook."""
    return DeliveryId(str(uuid5(UUID(event_id), webhook_id)))
