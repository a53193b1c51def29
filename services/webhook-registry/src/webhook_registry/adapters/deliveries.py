"""Deliveries in MongoDB, and the word to the dispatcher that some became due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

import structlog

from common.contracts.deliveries import LONGEST_LIST, DeliveryTask, encode_tasks
from common.contracts.outage import Outage
from common.contracts.topology import DELIVERIES_QUEUE
from common.contracts.webhooks import AttemptStatus, DeliveryId, PublicAttempt
from common.messaging.publisher import Publisher, Unroutable
from webhook_registry.domain.answers import rfc3339
from webhook_registry.domain.bodies import Window
from webhook_registry.ports import Retried
from webhook_store.attempts import Attempts
from webhook_store.delivery_models import ListedAttempt
from webhook_store.models import Webhook
from webhook_store.redelivery import NotRepeated, Redelivery

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoredDeliveries:
    """`Deliveries` as the dispatcher keeps them."""

    made: Attempts
    redelivery: Redelivery
    publisher: Publisher

    async def attempts(
        self, webhook: Webhook, status: AttemptStatus | None
    ) -> Sequence[PublicAttempt]:
        read = self.made.latest if status is None else self.redelivery.cancelled
        listed = await read(webhook.id, generation=webhook.generation)
        return [_public(attempt) for attempt in listed]

    async def retry(self, webhook: Webhook, delivery_id: DeliveryId, *, at: datetime) -> Retried:
        result = await self.redelivery.retry(
            webhook.id, delivery_id, generation=webhook.generation, at=at
        )
        match result:
            case DeliveryTask():
                await self._wake([result])
                return Retried.ACCEPTED
            case NotRepeated.NOT_FOUND:
                return Retried.NOT_FOUND
            case NotRepeated.PENDING:
                return Retried.PENDING
            case _:
                assert_never(result)

    async def recover(self, webhook: Webhook, window: Window, *, at: datetime) -> int:
        generation = webhook.generation
        count = await self.redelivery.recover(
            webhook.id, generation=generation, since=window.since, until=window.until, at=at
        )
        # Whatever the count: the rows may be those of a call before, which died without a word.
        some = await self.redelivery.to_wake(webhook.id, generation=generation, at=at)
        await self._wake(some, more=len(some) == LONGEST_LIST)
        return count

    async def _wake(self, tasks: Sequence[DeliveryTask], *, more: bool = False) -> None:
        """Tells the dispatcher at once; what it does not hear of, its sweeper finds."""
        try:
            for message in encode_tasks(tasks, more=more):
                await self.publisher.publish(message, routing_key=DELIVERIES_QUEUE)
        except (Outage, Unroutable) as error:
            log.warning("deliveries.not_woken", count=len(tasks), reason=str(error))


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
