"""Delivery messages over RabbitMQ: published immediately, or through a delay queue."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from common.contracts.deliveries import DeliveryTask, encode_tasks
from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DEAD_LETTERS_ARGUMENTS,
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    EVENTS_EXCHANGE,
    EVENTS_QUEUE,
    RETRIES_QUEUE,
    WORK_ARGUMENTS,
    delay_arguments,
    delay_queue,
)
from common.messaging.depth import QueueDepths
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.topology import Queue, Topology
from dispatcher.batcher import Batcher

#: Maximum number of concurrent calls that are published as one batch.
_MAX_BATCH_SIZE = 64


def delivery_topology(delays: Sequence[timedelta] = ()) -> Topology:
    """Returns the queues from event to dead letter, and a delay queue for each of `delays`."""
    return Topology(
        topic_exchanges=(EVENTS_EXCHANGE,),
        queues=(
            Queue(DEAD_LETTERS_QUEUE, DEAD_LETTERS_ARGUMENTS),
            Queue(EVENTS_QUEUE, WORK_ARGUMENTS, EVENTS_EXCHANGE),
            Queue(DELIVERIES_QUEUE, WORK_ARGUMENTS),
            Queue(RETRIES_QUEUE, WORK_ARGUMENTS),
            *(Queue(delay_queue(delay), delay_arguments(delay)) for delay in dict.fromkeys(delays)),
        ),
    )


class DelayQueues:
    """`DeliveryQueue` over RabbitMQ."""

    def __init__(
        self,
        publisher: Publisher,
        depths: QueueDepths,
        delays: Sequence[timedelta],
        *,
        renew: Callable[[str], None],
    ) -> None:
        """`renew` reconnects, which redeclares deleted queues."""
        self._publisher = publisher
        self._depths = depths
        self._renew = renew
        self._first = self._batcher(DELIVERIES_QUEUE)
        self._retries = self._batcher(RETRIES_QUEUE)
        # Retries that start to wait together also become due together.
        self._later = {delay: self._batcher(delay_queue(delay)) for delay in dict.fromkeys(delays)}
        self.batchers = (self._first, self._retries, *self._later.values())

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        """Publishes deliveries to a work queue; concurrent calls share messages."""
        await (self._retries if retries else self._first)(tasks)

    async def schedule(self, task: DeliveryTask, *, after: timedelta) -> None:
        """Publishes a delivery to the delay queue of `after`, one of the configured delays."""
        await self._later[after]([task])

    async def waiting(self) -> int:
        """Returns the ready messages of both work queues; those in delay queues do not count."""
        depths = [await self._depths.ready(queue) for queue in (DELIVERIES_QUEUE, RETRIES_QUEUE)]
        return sum(depths)

    def _batcher(self, queue: str) -> Batcher[Sequence[DeliveryTask], None]:
        async def publish(asked: Sequence[Sequence[DeliveryTask]]) -> Sequence[None]:
            messages = encode_tasks([task for tasks in asked for task in tasks])
            await asyncio.gather(*(self._publish(queue, message) for message in messages))
            return [None] * len(asked)

        return Batcher(publish, max_batch_size=_MAX_BATCH_SIZE)

    async def _publish(self, queue: str, message: bytes) -> None:
        try:
            await self._publisher.publish(message, routing_key=queue)
        except Unroutable:
            self._renew(f"the queue {queue} does not take messages")
            raise Unavailable(f"the queue {queue} does not take messages") from None
