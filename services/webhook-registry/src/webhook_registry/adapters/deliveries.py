"""Deliveries in MongoDB."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.contracts.webhooks import (
    AttemptStatus,
    Delivery,
    DeliveryId,
    DeliveryQuery,
    Webhook,
)
from webhook_registry.adapters.delivery_queue import DeliveryQueue
from webhook_registry.adapters.recovering import Recovering
from webhook_registry.domain.bodies import Window
from webhook_store.attempts import Attempts
from webhook_store.delivery_models import Listed, ListPosition, NotRepeated
from webhook_store.events import Events
from webhook_store.headers import shown_headers
from webhook_store.recoveries import Recovery
from webhook_store.redelivery import Redelivery


@dataclass(frozen=True, slots=True)
class StoredDeliveries:
    """`Deliveries` over the rows of the dispatcher."""

    made: Attempts
    redelivery: Redelivery
    events: Events
    recovering: Recovering
    delivery_queue: DeliveryQueue

    async def listed(
        self, webhook: Webhook, query: DeliveryQuery, *, after: ListPosition | None
    ) -> Listed:
        is_cancelled = query.status is AttemptStatus.CANCELLED
        read = self.redelivery.cancelled if is_cancelled else self.made.page
        return await read(webhook.id, query, generation=webhook.generation, after=after)

    async def find(self, webhook: Webhook, delivery_id: DeliveryId) -> Delivery | None:
        generation = webhook.generation
        shown = await self.redelivery.find(webhook.id, delivery_id, generation=generation)
        if shown is None:
            return None
        attempts, bodies = await asyncio.gather(
            self.made.of_delivery(shown.id, made=shown.attempts, generation=generation),
            self.events.bodies([shown.event_id]),
        )
        body = bodies.get(shown.event_id)
        sent_at = attempts[-1].attempted_at if attempts else shown.next_attempt_at
        return Delivery(
            delivery_id=shown.id,
            event_id=shown.event_id,
            event_type=shown.event_type,
            occurred_at=shown.occurred_at,
            status=shown.status,
            reason=shown.reason,
            next_attempt_at=shown.next_attempt_at,
            body=None if body is None else body.bytes.decode(),
            headers=dict(
                shown_headers(
                    shown.event_type,
                    shown.id,
                    sent_at or shown.occurred_at,
                    own=webhook.headers,
                )
            ),
            attempts=tuple(attempts),
        )

    async def retry(
        self, webhook: Webhook, delivery_id: DeliveryId, *, call_id: UUID, at: datetime
    ) -> NotRepeated | None:
        result = await self.redelivery.retry(
            webhook.id, delivery_id, generation=webhook.generation, call_id=call_id, at=at
        )
        if isinstance(result, NotRepeated):
            return result
        await self.delivery_queue.enqueue([result])
        return None

    async def recover(self, webhook: Webhook, window: Window, *, call_id: UUID) -> int:
        return await self.recovering.ask(
            Recovery(call_id, webhook.id, webhook.generation, window.since, window.until)
        )
