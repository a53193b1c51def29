"""Operations: the use case of each, their RPC handler and their log."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from prometheus_client import Counter
from pydantic import SecretStr

from common.contracts.events import EventType, RegistryEvent
from common.contracts.failures import Failure
from common.contracts.webhooks import Operation, WebhookReply, WebhookRequest
from common.messaging.rpc import Asked, Result
from webhook_registry.deliveries.examples import Events, SendTest
from webhook_registry.deliveries.manage import (
    ListDeliveries,
    RecoverDeliveries,
    RetryDelivery,
    ShowDelivery,
)
from webhook_registry.deliveries.recovering import DeliveryQueue, Recovering
from webhook_registry.destinations.checks import Destinations, Resolver
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import OK, Rejected, reply
from webhook_registry.webhooks.event_types import event_types
from webhook_registry.webhooks.manage import (
    ChangeWebhook,
    CreateWebhook,
    DeleteWebhook,
    ListWebhooks,
    RotateSecret,
    ShowWebhook,
    WithHealth,
)
from webhook_store.deliveries.health import Health
from webhook_store.deliveries.owned import OwnedDeliveries
from webhook_store.webhooks.addresses import Network
from webhook_store.webhooks.idempotency import IdempotencyKeys
from webhook_store.webhooks.registrations import Registrations

#: Runs one operation; raises Rejected or Unavailable.
UseCase = Callable[[WebhookRequest], Awaitable[WebhookReply]]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies of the operations."""

    registrations: Registrations
    keys: IdempotencyKeys
    deliveries: OwnedDeliveries
    delivery_queue: DeliveryQueue
    recoveries: Recovering
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


_OPERATIONS = Counter(
    "webhook_operations_total", "Operations by what came of them", ["operation", "result"]
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Operations:
    """Runs the operations of a batch one after the other."""

    use_cases: Mapping[Operation, UseCase]

    async def __call__(
        self, requests: Sequence[WebhookRequest]
    ) -> Sequence[WebhookReply | Failure]:
        """Returns one result per request, in order; refusals are returned and not raised."""
        return [await self._result(request) for request in requests]

    async def _result(self, request: WebhookRequest) -> WebhookReply | Failure:
        try:
            return await self.use_cases[request.operation](request)
        except Rejected as refused:
            return refused.failure


def report(
    asked: Sequence[Asked[WebhookRequest]], results: Sequence[Result], seconds: float
) -> None:
    """Logs one line per operation, without body or URL, which may contain a token."""
    for item, result in zip(asked, results, strict=True):
        word = result.code.value if isinstance(result, Failure) else "ok"
        _OPERATIONS.labels(item.request.operation, word).inc()
        log.info(
            "webhook.operation",
            **item.ids,
            operation=item.request.operation,
            owner=item.request.owner,
            webhook_id=_webhook_of(item.request, result),
            delivery_id=item.request.delivery_id or None,
            replayed=isinstance(result, WebhookReply) and result.replayed,
            result=word,
            duration_ms=round(seconds * 1000, 2),
        )


def _webhook_of(request: WebhookRequest, result: Result) -> str | None:
    """Returns the id of the requested or created webhook."""
    if isinstance(result, WebhookReply) and result.location is not None:
        return result.location.rpartition("/")[2]
    return request.webhook_id or None
