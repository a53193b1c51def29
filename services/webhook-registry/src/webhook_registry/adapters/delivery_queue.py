"""Queue of due deliveries."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from common.contracts.deliveries import DeliveryTask, encode_tasks
from common.contracts.failures import Unavailable
from common.contracts.topology import DELIVERIES_QUEUE
from common.messaging.publisher import Publisher, Unroutable

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    """Publishes due deliveries; the dispatcher's requeue job finds unpublished ones."""

    publisher: Publisher

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, more: bool = False) -> None:
        """Enqueues deliveries; `more` marks that the webhooks have others due. Never raises."""
        try:
            for message in encode_tasks(tasks, more=more):
                await self.publisher.publish(message, routing_key=DELIVERIES_QUEUE)
        except (Unavailable, Unroutable) as error:
            log.warning("deliveries.not_queued", count=len(tasks), reason=str(error))
