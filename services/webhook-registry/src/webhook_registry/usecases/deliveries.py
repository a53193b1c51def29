"""Test events, listing of deliveries, retries and recoveries."""

from dataclasses import dataclass

from common.contracts.events import EventType, RegistryEvent
from common.contracts.webhooks import (
    AcceptedDelivery,
    AttemptList,
    DeliveryId,
    Recovered,
    WebhookReply,
    WebhookRequest,
)
from webhook_registry.domain.answers import ACCEPTED, OK, rendered, reply, rfc3339
from webhook_registry.domain.bodies import read_window
from webhook_registry.domain.refusals import (
    delivery_not_found,
    delivery_pending,
    webhook_disabled,
)
from webhook_registry.ports import Deliveries, Events, Registrations, Retried
from webhook_registry.usecases.idempotent import Clock, Idempotency
from webhook_registry.usecases.manage import owned
from webhook_store.models import Webhook, delivery_id


@dataclass(frozen=True, slots=True)
class SendTest:
    registrations: Registrations
    events: Events
    idempotency: Idempotency
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the delivery id of a test event for this webhook only."""
        path = f"/api/webhooks/{request.webhook_id}/test"
        stored = await self.idempotency.repeated(request, path)
        if stored is not None:
            return stored
        webhook = await enabled(self.registrations, request)
        once = await self.idempotency.begin(request, path)
        if isinstance(once, WebhookReply):
            return once
        event = RegistryEvent(
            id=str(once.call_id), type=EventType.WEBHOOK_TEST, occurred_at=rfc3339(self.now())
        )
        await self.events.publish_for(webhook.id, event)
        document = AcceptedDelivery(delivery_id=delivery_id(event.id, webhook.id))
        answer = WebhookReply(status=ACCEPTED, body=rendered(document), replayed=once.is_repeat)
        return await self.idempotency.end(once, answer, body=answer.body)


@dataclass(frozen=True, slots=True)
class ListDeliveries:
    registrations: Registrations
    deliveries: Deliveries

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        webhook = await owned(self.registrations, request)
        attempts = await self.deliveries.attempts(webhook, request.status)
        return reply(OK, AttemptList(deliveries=tuple(attempts)))


@dataclass(frozen=True, slots=True)
class RetryDelivery:
    registrations: Registrations
    deliveries: Deliveries
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 and schedules one more attempt of a finished delivery."""
        webhook = await enabled(self.registrations, request)
        wanted = DeliveryId(request.delivery_id)
        retried = await self.deliveries.retry(
            webhook, wanted, call_id=request.call_id, at=self.now()
        )
        match retried:
            case Retried.ACCEPTED:
                return reply(ACCEPTED, AcceptedDelivery(delivery_id=wanted))
            case Retried.PENDING:
                raise delivery_pending()
            case Retried.NOT_FOUND:
                raise delivery_not_found()


@dataclass(frozen=True, slots=True)
class RecoverDeliveries:
    registrations: Registrations
    deliveries: Deliveries
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the number of deliveries that restart their schedule."""
        webhook = await owned(self.registrations, request)
        window = read_window(request.body, now=self.now())
        if not webhook.enabled:
            raise webhook_disabled()
        count = await self.deliveries.recover(webhook, window, call_id=request.call_id)
        return reply(ACCEPTED, Recovered(count=count))


async def enabled(registrations: Registrations, request: WebhookRequest) -> Webhook:
    """Returns the owner's webhook; raises Rejected if absent or disabled."""
    webhook = await owned(registrations, request)
    if not webhook.enabled:
        raise webhook_disabled()
    return webhook
