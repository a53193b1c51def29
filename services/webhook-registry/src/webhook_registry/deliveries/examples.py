"""Test events: an invented one of each type, and their publishing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

import orjson

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.events import EventType, RegistryEvent, routing_key
from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhooks import (
    AcceptedDelivery,
    WebhookId,
    WebhookReply,
    WebhookRequest,
    encode_for,
)
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.topology import Topology
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import ACCEPTED, rendered
from webhook_registry.webhooks.bodies import read_test
from webhook_registry.webhooks.manage import enabled
from webhook_store.webhooks.models import delivery_id
from webhook_store.webhooks.registrations import Registrations

TOPOLOGY = Topology(topic_exchanges=(EVENTS_EXCHANGE,))


class Events(Protocol):
    """Publisher of events into the delivery pipeline."""

    async def publish_for(self, webhook_id: WebhookId, event: RegistryEvent) -> None:
        """Publishes an event for one webhook; returns when the broker confirms it.

        An event that is published twice is delivered once.
        """


@dataclass(frozen=True, slots=True)
class BrokerEvents:
    """`Events` over the broker."""

    publisher: Publisher

    async def publish_for(self, webhook_id: WebhookId, event: RegistryEvent) -> None:
        """Publishes an event for one webhook; raises Unavailable if no queue receives it."""
        try:
            await self.publisher.publish(
                encode_for(webhook_id, event),
                exchange=EVENTS_EXCHANGE,
                routing_key=routing_key(event.type, event.country),
            )
        except Unroutable:
            # The dispatcher declares its queue when it first starts.
            raise Unavailable("no queue is bound to the exchange of events") from None


def example_events() -> Mapping[EventType, RegistryEvent]:
    """Returns an invented event of each type, read from the package's files."""
    folder = files("webhook_registry") / "examples"
    documents = {
        kind: orjson.loads((folder / f"{kind.value}.json").read_bytes()) for kind in EventType
    }
    return {
        # Without data, `data` is an empty object.
        kind: RegistryEvent.model_validate({**document, "data": document["data"] or None})
        for kind, document in documents.items()
    }


@dataclass(frozen=True, slots=True)
class SendTest:
    """Operation that sends a test event to one enabled webhook, once per `Idempotency-Key`."""

    registrations: Registrations
    events: Events
    #: An invented event of each type.
    examples: Mapping[EventType, RegistryEvent]
    idempotency: Idempotency
    now: Clock

    async def __call__(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the delivery id of a test event for this webhook only."""
        path = f"/api/webhooks/{request.webhook_id}/test"
        stored = await self.idempotency.repeated(request, path)
        if stored is not None:
            return stored
        kind = read_test(request.body)
        webhook = await enabled(self.registrations, request)
        once = await self.idempotency.begin(request, path)
        if isinstance(once, WebhookReply):
            return once
        event = self.examples[kind].model_copy(
            update={
                "id": str(once.call_id),
                "occurred_at": rfc3339_milliseconds(self.now()),
                # Events of type `webhook.test` need no mark.
                "test": kind is not EventType.WEBHOOK_TEST,
            }
        )
        await self.events.publish_for(webhook.id, event)
        document = AcceptedDelivery(delivery_id=delivery_id(event.id, webhook.id))
        answer = WebhookReply(status=ACCEPTED, body=rendered(document), replayed=once.is_repeat)
        return await self.idempotency.end(once, answer, body=answer.body)
