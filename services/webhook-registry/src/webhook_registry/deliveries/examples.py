"""Test events: an invented one of each type, and their publishing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

import orjson

from common.contracts.events import EventType, RegistryEvent, routing_key
from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhooks import WebhookId, encode_for
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.topology import Topology

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
        event_type: orjson.loads((folder / f"{event_type.value}.json").read_bytes())
        for event_type in EventType
    }
    return {
        # Without data, `data` is an empty object.
        event_type: RegistryEvent.model_validate({**document, "data": document["data"] or None})
        for event_type, document in documents.items()
    }
