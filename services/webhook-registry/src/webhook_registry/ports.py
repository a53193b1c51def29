"""Interfaces that the use cases need. Every method may raise `Unavailable`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from common.contracts.events import RegistryEvent
from common.contracts.webhooks import AttemptStatus, DeliveryId, PublicAttempt, WebhookId
from webhook_registry.domain.bodies import Window
from webhook_store.addresses import Address
from webhook_store.models import (
    KeptAnswer,
    KeyScope,
    KeyUse,
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    Webhook,
)


class Registrations(Protocol):
    """The webhooks of owners; another owner's is never found."""

    async def create(
        self, new: Registered, *, call_id: UUID, limit: int
    ) -> Registered | MadeBefore | OwnerIsFull:
        """Keeps a webhook unless its owner has `limit` of them."""

    async def find(self, owner: str, webhook_id: str) -> Webhook | None: ...

    async def of_owner(self, owner: str) -> Sequence[Webhook]:
        """The newest first."""

    async def change(
        self, owner: str, webhook_id: str, decide: Callable[[Webhook], Webhook]
    ) -> Webhook | None:
        """Makes of the webhook what the pure `decide` makes of it, which may run several times."""

    async def delete(self, owner: str, webhook_id: str, *, call_id: UUID, at: datetime) -> bool:
        """Whether there was one, now or when the same call was here before."""

    async def rotate(self, owner: str, webhook_id: str, new: NewSecret) -> Registered | None:
        """Gives the webhook the new secret, or, to a call that did so before, the one from then."""


class IdempotencyKeys(Protocol):
    """What keys were used for, as long as that is kept."""

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None: ...

    async def use(self, scope: KeyScope, new: KeyUse, *, at: datetime, until: datetime) -> KeyUse:
        """The use that is noted: this one, unless another is still kept or came first."""

    async def answer(self, scope: KeyScope, answer: KeptAnswer) -> None:
        """Notes that what was asked for is done, and what its repeats are answered."""


class Resolver(Protocol):
    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """What a name stands for now; nothing when it does not resolve, or not in time."""


class Events(Protocol):
    """The way into the pipeline that every delivery takes."""

    async def publish_for(self, webhook_id: WebhookId, event: RegistryEvent) -> None:
        """Returns when the broker keeps the event for this webhook alone.

        Published twice, it is delivered once.
        """


class Retried(StrEnum):
    """What came of asking for one more attempt."""

    ACCEPTED = "accepted"
    NOT_FOUND = "not_found"
    #: It is not finished: its next attempt comes by itself.
    PENDING = "pending"


class Deliveries(Protocol):
    """What was delivered to one webhook, or will be."""

    async def attempts(
        self, webhook: Webhook, status: AttemptStatus | None
    ) -> Sequence[PublicAttempt]:
        """The last 50 made, the newest first; or, with `cancelled`, what was cancelled instead."""

    async def retry(
        self, webhook: Webhook, delivery_id: DeliveryId, *, call_id: UUID, at: datetime
    ) -> Retried:
        """One more attempt of a finished delivery, and none more to the same call again."""

    async def recover(self, webhook: Webhook, window: Window, *, call_id: UUID) -> int:
        """Has sent again what failed for good or was cancelled; how many that are.

        It may still go on afterwards. The same call again is told the same.
        """
