"""Deliveries in MongoDB."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from uuid import UUID

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import AttemptStatus, DeliveryId, PublicAttempt
from webhook_registry.adapters.delivery_queue import DeliveryQueue
from webhook_registry.adapters.recovering import Recovering
from webhook_registry.domain.answers import rfc3339
from webhook_registry.domain.bodies import Window
from webhook_registry.ports import Retried
from webhook_store.attempts import Attempts
from webhook_store.delivery_models import ListedAttempt
from webhook_store.models import Webhook
from webhook_store.recoveries import Recovery
from webhook_store.redelivery import NotRepeated, Redelivery


@dataclass(frozen=True, slots=True)
class StoredDeliveries:
    """`Deliveries` over the rows of the dispatcher."""

    made: Attempts
    redelivery: Redelivery
    recovering: Recovering
    delivery_queue: DeliveryQueue

    async def attempts(
        self, webhook: Webhook, status: AttemptStatus | None
    ) -> Sequence[PublicAttempt]:
        read = self.made.latest if status is None else self.redelivery.cancelled
        listed = await read(webhook.id, generation=webhook.generation)
        return [_public(attempt) for attempt in listed]

    async def retry(
        self, webhook: Webhook, delivery_id: DeliveryId, *, call_id: UUID, at: datetime
    ) -> Retried:
        result = await self.redelivery.retry(
            webhook.id, delivery_id, generation=webhook.generation, call_id=call_id, at=at
        )
        match result:
            case DeliveryTask():
                await self.delivery_queue.enqueue([result])
                return Retried.ACCEPTED
            case NotRepeated.NOT_FOUND:
                return Retried.NOT_FOUND
            case NotRepeated.PENDING:
                return Retried.PENDING
            case _:
                assert_never(result)

    async def recover(self, webhook: Webhook, window: Window, *, call_id: UUID) -> int:
        return await self.recovering.ask(
            Recovery(call_id, webhook.id, webhook.generation, window.since, window.until)
        )


def _public(attempt: ListedAttempt) -> PublicAttempt:
    return PublicAttempt(
        delivery_id=attempt.delivery_id,
        event_id=attempt.event_id,
        event_type=attempt.event_type,
        attempt=attempt.attempt,
        status=attempt.status,
        response_code=attempt.response_code,
        error=attempt.error,
        duration_ms=attempt.duration_ms,
        attempted_at=_text(attempt.attempted_at),
        next_attempt_at=_text(attempt.next_attempt_at),
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
