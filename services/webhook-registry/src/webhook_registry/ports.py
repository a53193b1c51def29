"""Ports of the use cases. Every method may raise `Unavailable`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from common.contracts.deliveries import DeliveryTask
from common.contracts.events import RegistryEvent
from common.contracts.webhooks import (
    Delivery,
    DeliveryQuery,
    Webhook,
    WebhookHealth,
    WebhookId,
    WebhookReply,
)
from webhook_store.deliveries.models import Listed, ListPosition, NotRepeated, Recovery
from webhook_store.webhooks.addresses import Address
from webhook_store.webhooks.models import (
    KeyScope,
    KeyUse,
    MadeBefore,
    NewSecret,
    OwnerIsFull,
    Registered,
    RotationPending,
)


class Registrations(Protocol):
    """Webhooks by owner; another owner's webhook is never found."""

    async def create(
        self, new: Registered, *, call_id: UUID, limit: int
    ) -> Registered | MadeBefore | OwnerIsFull:
        """Stores a webhook unless its owner has `limit` of them."""

    async def find(self, owner: str, webhook_id: str) -> Webhook | None: ...

    async def of_owner(self, owner: str) -> Sequence[Webhook]:
        """Returns an owner's webhooks, newest first."""

    async def change(
        self, owner: str, webhook_id: str, decide: Callable[[Webhook], Webhook]
    ) -> Webhook | None:
        """Applies `decide`, a pure function that may run several times."""

    async def delete(self, owner: str, webhook_id: str, *, call_id: UUID, at: datetime) -> bool:
        """Deletes a webhook; False if absent. A redelivered call returns True again."""

    async def rotate(
        self, owner: str, webhook_id: str, new: NewSecret
    ) -> Registered | RotationPending | None:
        """Rotates the secret unless a replaced one still signs.

        A redelivered call returns the secret it created.
        """


class Health(Protocol):
    async def of(
        self, webhooks: Sequence[WebhookId], *, at: datetime, max_age: timedelta = timedelta()
    ) -> Mapping[WebhookId, WebhookHealth]:
        """Returns how the recent attempts of these webhooks ended, as of up to `max_age` ago."""


class IdempotencyKeys(Protocol):
    """Stored uses of idempotency keys."""

    async def find(self, scope: KeyScope, *, at: datetime) -> KeyUse | None: ...

    async def use(self, scope: KeyScope, new: KeyUse, *, at: datetime, until: datetime) -> KeyUse:
        """Stores a use; returns it, or the earlier unexpired use of the key."""

    async def answer(self, scope: KeyScope, answer: WebhookReply) -> None:
        """Stores the answer for repeats of a completed request."""


class Resolver(Protocol):
    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Resolves a name; empty when it does not resolve in time."""


class Events(Protocol):
    """Publisher of events into the delivery pipeline."""

    async def publish_for(self, webhook_id: WebhookId, event: RegistryEvent) -> None:
        """Publishes an event for one webhook; returns when the broker confirms it.

        An event that is published twice is delivered once.
        """


class Deliveries(Protocol):
    """Deliveries of a webhook."""

    async def listed(
        self, webhook: Webhook, query: DeliveryQuery, *, after: ListPosition | None
    ) -> Listed:
        """Returns attempts behind a place, newest first; for `cancelled`, cancelled deliveries."""

    async def find(self, webhook: Webhook, delivery_id: str) -> Delivery | None:
        """Returns a delivery with its request and its attempts."""

    async def retry(
        self, webhook: Webhook, delivery_id: str, *, call_id: UUID, at: datetime
    ) -> DeliveryTask | NotRepeated:
        """Schedules an attempt now, a scheduled one or one more; once per call."""


class DeliveryQueue(Protocol):
    async def enqueue(self, tasks: Sequence[DeliveryTask]) -> None:
        """Enqueues deliveries for the dispatcher, which finds those that are lost. Never raises."""


class Recoveries(Protocol):
    async def ask(self, recovery: Recovery) -> int:
        """Resends failed and cancelled deliveries in the background; returns how many.

        A redelivered call returns the same count.
        """
