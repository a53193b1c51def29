"""The word to the dispatcher that deliveries became due."""

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
    """Tells the dispatcher at once; what it does not hear of, its sweeper finds."""

    publisher: Publisher

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, more: bool = False) -> None:
        """`more` says that others of the same webhooks are due, too; raises nothing."""
        try:
            for message in encode_tasks(tasks, more=more):
                await self.publisher.publish(message, routing_key=DELIVERIES_QUEUE)
        except (Unavailable, Unroutable) as error:
            log.warning("deliveries.not_woken", count=len(tasks), reason=str(error))
