"""Deliveries for owners: listed, retried and recovered; and test events.

Recoveries run in the background, by any process of the registry. A response waits only for the
count. Another process continues an unfinished recovery, or the same one after its restart.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from common.contracts.contract import rfc3339_milliseconds
from common.contracts.events import EventType, RegistryEvent, routing_key
from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DELIVERIES_QUEUE,
    EVENTS_EXCHANGE,
    MAX_BATCH_SIZE,
    DeliveryTask,
    encode_tasks,
)
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.contracts.webhooks import AcceptedDelivery, Recovered, WebhookId, encode_for
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.queues import Topology
from common.runtime.tasks import repeat
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
from webhook_registry.webhook_bodies import ExampleRequest, Window
from webhook_registry.webhooks import enabled_webhook, owned_webhook
from webhook_store.deliveries import delivery_id
from webhook_store.owned import OwnedDeliveries, RetryRefusal
from webhook_store.recoveries import Recoveries, Recovery
from webhook_store.webhooks import Registrations

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


#: Seconds between checks for unfinished recoveries, such as rows in flight.
LOOK_AGAIN = 10.0

log = structlog.get_logger()


class DeliveryQueue(Protocol):
    """Queue of due deliveries."""

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, more: bool = False) -> None:
        """Enqueues deliveries; `more` marks that the webhooks have others due.

        Never raises: the dispatcher finds deliveries whose message is lost.
        """


@dataclass(frozen=True, slots=True)
class BrokerDeliveryQueue:
    """Publishes due deliveries; the dispatcher's requeue job finds unpublished ones."""

    publisher: Publisher

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, more: bool = False) -> None:
        """Publishes deliveries; a failure is logged as a warning and not raised."""
        try:
            for message in encode_tasks(tasks, more=more):
                await self.publisher.publish(message, routing_key=DELIVERIES_QUEUE)
        except (Unavailable, Unroutable) as error:
            log.warning("deliveries.not_queued", count=len(tasks), reason=str(error))


class RecoveryJob:
    """Runs stored recoveries in the background."""

    def __init__(
        self, stored: Recoveries, delivery_queue: DeliveryQueue, *, now: Callable[[], datetime]
    ) -> None:
        self._stored = stored
        self._delivery_queue = delivery_queue
        self._now = now
        self._asked = asyncio.Event()

    async def ask(self, recovery: Recovery) -> int:
        """Stores a recovery durably; returns its number of deliveries.

        Raises Unavailable.
        """
        count = await self._stored.keep(recovery)
        self._asked.set()
        return count

    async def run(self) -> None:
        """Runs until cancelled."""
        await repeat(
            self.work,
            every=LOOK_AGAIN,
            unavailable="recoveries.unavailable",
            failed="recoveries.failed",
            level=logging.WARNING,
            asked=self._asked,
        )

    async def work(self) -> None:
        """Runs unfinished recoveries. Raises Unavailable."""
        for recovery in await self._stored.unfinished():
            await self._do(recovery)

    async def _do(self, recovery: Recovery) -> None:
        count = 0
        last: Sequence[DeliveryTask] = ()
        async for last in self._stored.begin_anew(recovery, now=self._now):
            count += len(last)
        is_done = await self._stored.finish(recovery, at=self._now())
        if count:
            log.info(
                "deliveries.recovered",
                webhook_id=recovery.webhook_id,
                count=count,
                is_done=is_done,
            )
        # Afterwards: earlier, the dispatcher would find rows that are not rescheduled yet and
        # cancel them. For any count: the process that rescheduled them may have crashed.
        await self._delivery_queue.enqueue(
            last[:MAX_BATCH_SIZE] or await self._stored.due(recovery, at=self._now()), more=True
        )


@dataclass(frozen=True, slots=True)
class DeliveryOperations:
    """Operations on the deliveries of a webhook; each raises Rejected or Unavailable."""

    registrations: Registrations
    deliveries: OwnedDeliveries
    delivery_queue: DeliveryQueue
    recoveries: RecoveryJob
    events: Events
    #: An invented event of each type.
    examples: Mapping[EventType, RegistryEvent]
    idempotency: Idempotency
    now: Clock

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a page of attempts, or of cancelled deliveries, newest first."""
        webhook = await owned_webhook(self.registrations, request)
        return reply(OK, await self.deliveries.listed(webhook, request.query))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a delivery, its request and its attempts."""
        webhook = await owned_webhook(self.registrations, request)
        delivery = await self.deliveries.find(webhook, request.delivery_id)
        if delivery is None:
            raise Rejected(DELIVERY_NOT_FOUND)
        return reply(OK, delivery)

    async def retry(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 and schedules an attempt now, a scheduled one or one more."""
        webhook = await enabled_webhook(self.registrations, request)
        result = await self.deliveries.retry(
            webhook, request.delivery_id, call_id=request.call_id, at=self.now()
        )
        match result:
            case DeliveryTask():
                await self.delivery_queue.enqueue([result])
                return reply(ACCEPTED, AcceptedDelivery(delivery_id=result.delivery_id))
            case RetryRefusal.PENDING:
                raise Rejected(DELIVERY_PENDING)
            case RetryRefusal.NOT_FOUND:
                raise Rejected(DELIVERY_NOT_FOUND)

    async def recover(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the number of deliveries that restart their schedule."""
        webhook = await owned_webhook(self.registrations, request)
        since, until = Window.parse(request.body).until_now(self.now())
        if not webhook.enabled:
            raise Rejected(WEBHOOK_DISABLED)
        count = await self.recoveries.ask(
            Recovery(request.call_id, webhook.id, webhook.generation, since, until)
        )
        return reply(ACCEPTED, Recovered(count=count))

    async def send_test(self, request: WebhookRequest) -> WebhookReply:
        """Returns 202 with the delivery id of a test event, sent once per `Idempotency-Key`."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        event_type = ExampleRequest.parse(request.body or b"{}").type
        webhook = await enabled_webhook(self.registrations, request)
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
