"""Background processing of recoveries, by any process of the registry.

A response waits only for the count. Another process continues an unfinished recovery, or the same
one after its restart.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from common.contracts.deliveries import MAX_BATCH_SIZE, DeliveryTask, encode_tasks
from common.contracts.failures import Unavailable
from common.contracts.topology import DELIVERIES_QUEUE
from common.messaging.publisher import Publisher, Unroutable
from common.runtime.tasks import repeat
from webhook_store.deliveries.models import Recovery
from webhook_store.deliveries.recoveries import Recoveries

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


class Recovering:
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
