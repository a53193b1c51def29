"""Listing, retries and recoveries of deliveries, and test events."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType, RegistryEvent
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.contracts.webhooks import AcceptedDelivery, Recovered
from webhook_registry.deliveries.examples import Events
from webhook_registry.deliveries.recovering import DeliveryQueue, Recovering
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    ACCEPTED,
    DELIVERY_NOT_FOUND,
    DELIVERY_PENDING,
    OK,
    WEBHOOK_DISABLED,
    Rejected,
    rendered,
    reply,
)
from webhook_registry.webhooks.bodies import read_test, read_window
from webhook_registry.webhooks.manage import enabled, owned
from webhook_store.deliveries.models import NotRepeated, Recovery
from webhook_store.deliveries.owned import OwnedDeliveries
from webhook_store.webhooks.models import delivery_id
from webhook_store.webhooks.registrations import Registrations


@dataclass(frozen=True, slots=True)
class ManageDeliveries:
    """Operations on the deliveries of a webhook; each raises Rejected or Unavailable."""

    registrations: Registrations
    deliveries: OwnedDeliveries
    delivery_queue: DeliveryQueue
    recoveries: Recovering
    events: Events
    #: An invented event of each type.
    examples: Mapping[EventType, RegistryEvent]
    idempotency: Idempotency
    now: Clock

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a page of attempts, or of cancelled deliveries, newest first."""
        webhook = await owned(self.registrations, request)
        return reply(OK, await self.deliveries.listed(webhook, request.query))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a delivery, its request and its attempts."""
        webhook = await owned(self.registrations, request)
        delivery = await self.deliveries.find(webhook, request.delivery_id)
        if delivery is None:
            raise Rejected(DELIVERY_NOT_FOUND)
        return reply(OK, delivery)

    async def retry(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 and schedules an attempt now, a scheduled one or one more."""
        webhook = await enabled(self.registrations, request)
        result = await self.deliveries.retry(
            webhook, request.delivery_id, call_id=request.call_id, at=self.now()
        )
        match result:
            case DeliveryTask():
                await self.delivery_queue.enqueue([result])
                return reply(ACCEPTED, AcceptedDelivery(delivery_id=result.delivery_id))
            case NotRepeated.PENDING:
                raise Rejected(DELIVERY_PENDING)
            case NotRepeated.NOT_FOUND:
                raise Rejected(DELIVERY_NOT_FOUND)

    async def recover(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the number of deliveries that restart their schedule."""
        webhook = await owned(self.registrations, request)
        window = read_window(request.body, now=self.now())
        if not webhook.enabled:
            raise Rejected(WEBHOOK_DISABLED)
        count = await self.recoveries.ask(
            Recovery(request.call_id, webhook.id, webhook.generation, window.since, window.until)
        )
        return reply(ACCEPTED, Recovered(count=count))

    async def send_test(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the delivery id of a test event, sent once per `Idempotency-Key`."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        event_type = read_test(request.body)
        webhook = await enabled(self.registrations, request)
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        event = self.examples[event_type].model_copy(
            update={
                "id": str(once.call_id),
                "occurred_at": rfc3339_milliseconds(self.now()),
                # Events of type `webhook.test` need no mark.
                "test": event_type is not EventType.WEBHOOK_TEST,
            }
        )
        await self.events.publish_for(webhook.id, event)
        document = AcceptedDelivery(delivery_id=delivery_id(event.id, webhook.id))
        answer = WebhookReply(status=ACCEPTED, body=rendered(document), replayed=once.is_repeat)
        return await self.idempotency.end(once, answer, body=answer.body)
