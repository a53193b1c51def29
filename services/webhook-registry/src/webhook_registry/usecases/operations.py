"""Use case of every operation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import SecretStr

from common.contracts.events import EventType, RegistryEvent
from common.contracts.webhooks import Operation, WebhookReply, WebhookRequest
from webhook_registry.domain.answers import OK, reply
from webhook_registry.domain.event_types import event_types
from webhook_registry.ports import (
    Deliveries,
    DeliveryQueue,
    Events,
    Health,
    IdempotencyKeys,
    Recoveries,
    Registrations,
    Resolver,
)
from webhook_registry.usecases.create import CreateWebhook
from webhook_registry.usecases.deliveries import (
    ListDeliveries,
    RecoverDeliveries,
    RetryDelivery,
    SendTest,
    ShowDelivery,
)
from webhook_registry.usecases.destinations import Destinations
from webhook_registry.usecases.idempotent import Clock, Idempotency
from webhook_registry.usecases.manage import (
    ChangeWebhook,
    DeleteWebhook,
    ListWebhooks,
    RotateSecret,
    ShowWebhook,
    WithHealth,
)
from webhook_store.addresses import Network

#: Runs one operation; raises Rejected or Unavailable.
UseCase = Callable[[WebhookRequest], Awaitable[WebhookReply]]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies of the operations."""

    registrations: Registrations
    keys: IdempotencyKeys
    deliveries: Deliveries
    delivery_queue: DeliveryQueue
    recoveries: Recoveries
    health: Health
    events: Events
    #: An invented event of each type.
    examples: Mapping[EventType, RegistryEvent]
    resolver: Resolver
    new_secret: Callable[[], SecretStr]
    now: Clock


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits and durations from the settings."""

    #: Maximum webhooks per owner.
    limit: int
    #: Time for which a replaced secret still signs, with the new one.
    overlap: timedelta
    #: Retention of an `Idempotency-Key`.
    key_lifetime: timedelta
    allowed_networks: Sequence[Network]


def operations(dependencies: Dependencies, policy: Policy) -> Mapping[Operation, UseCase]:
    """Builds the use case of every operation."""
    registrations, deliveries, now = (
        dependencies.registrations,
        dependencies.deliveries,
        dependencies.now,
    )
    destinations = Destinations(dependencies.resolver, policy.allowed_networks)
    with_health = WithHealth(dependencies.health, now)
    idempotency = Idempotency(dependencies.keys, now, policy.key_lifetime)
    return {
        Operation.CREATE: CreateWebhook(
            registrations, destinations, idempotency, dependencies.new_secret, now, policy.limit
        ),
        Operation.LIST: ListWebhooks(registrations, with_health),
        Operation.GET: ShowWebhook(registrations, with_health),
        Operation.CHANGE: ChangeWebhook(registrations, destinations, with_health, now),
        Operation.DELETE: DeleteWebhook(registrations, now),
        Operation.ROTATE_SECRET: RotateSecret(
            registrations, dependencies.new_secret, now, policy.overlap, with_health
        ),
        Operation.TEST: SendTest(
            registrations, dependencies.events, dependencies.examples, idempotency, now
        ),
        Operation.DELIVERIES: ListDeliveries(registrations, deliveries),
        Operation.DELIVERY: ShowDelivery(registrations, deliveries),
        Operation.RETRY: RetryDelivery(registrations, deliveries, dependencies.delivery_queue, now),
        Operation.RECOVER: RecoverDeliveries(registrations, dependencies.recoveries, now),
        Operation.EVENT_TYPES: _list_event_types(),
    }


def _list_event_types() -> UseCase:
    answer = reply(OK, event_types())  # the same for every client, so it is built once

    async def listed(_request: WebhookRequest) -> WebhookReply:
        return answer

    return listed
