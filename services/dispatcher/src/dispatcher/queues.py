"""Queues of the dispatcher: their topology, delivery messages now or later, and consumers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Protocol

from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DEAD_LETTERS_ARGUMENTS,
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    EVENTS_EXCHANGE,
    FAN_OUT_QUEUE,
    RETRIES_QUEUE,
    WORK_ARGUMENTS,
    DeliveryTask,
    delay_arguments,
    delay_queue,
    encode_tasks,
)
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumer, Handler
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.queues import Queue, QueueDepths, Topology
from common.runtime.tasks import Batcher

#: Maximum number of concurrent calls that are published as one batch.
_MAX_BATCH_SIZE = 64


def delivery_topology(delays: Sequence[timedelta] = ()) -> Topology:
    """Returns the queues from event to dead letter, and a delay queue for each of `delays`."""
    return Topology(
        topic_exchanges=(EVENTS_EXCHANGE,),
        queues=(
            Queue(DEAD_LETTERS_QUEUE, DEAD_LETTERS_ARGUMENTS),
            Queue(FAN_OUT_QUEUE, WORK_ARGUMENTS, EVENTS_EXCHANGE),
            Queue(DELIVERIES_QUEUE, WORK_ARGUMENTS),
            Queue(RETRIES_QUEUE, WORK_ARGUMENTS),
            *(Queue(delay_queue(delay), delay_arguments(delay)) for delay in dict.fromkeys(delays)),
        ),
    )


class DeliveryQueue(Protocol):
    """Queue of due deliveries. Every method may raise `Unavailable`."""

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        """Enqueues deliveries for their first attempts or for retries."""

    async def schedule(self, task: DeliveryTask, *, after: timedelta) -> None:
        """Schedules a delivery after one of the schedule's delays."""

    async def waiting(self) -> int:
        """Returns the number of messages that no consumer has received."""


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


#: Prefetch counts. A delivery message is acked once its deliveries are claimed, however slow
#: their receivers are.
EVENTS_PREFETCH = 200
DELIVERIES_PREFETCH = 400
RETRIES_PREFETCH = 200


@asynccontextmanager
async def consumers(  # noqa: PLR0913 (the handlers and their dependencies)
    connection: SupervisedConnection,
    *,
    fan_out: Handler,
    deliver: Handler,
    drain: Callable[[float], Awaitable[None]],
    topology: Topology,
    random: Random,
    shutdown_grace: float,
) -> AsyncIterator[None]:
    """Consumes during the body; on exit stops consuming, then drains the work in flight.

    `drain` does so for posts, within a timeout in seconds.
    """
    queues = (
        (FAN_OUT_QUEUE, fan_out, EVENTS_PREFETCH),
        (DELIVERIES_QUEUE, deliver, DELIVERIES_PREFETCH),
        (RETRIES_QUEUE, deliver, RETRIES_PREFETCH),
    )
    running = [
        Consumer(connection, queue, handler, topology=topology, prefetch=prefetch, random=random)
        for queue, handler, prefetch in queues
    ]
    for consumer in running:
        await connection.add(consumer)
    try:
        yield
    finally:
        clock = asyncio.get_running_loop().time
        stop_at = clock() + shutdown_grace
        # Concurrently: while one consumer drains, the others must not accept messages.
        await asyncio.gather(*(consumer.drain(shutdown_grace) for consumer in running))
        # Afterwards: a message in flight may still start posts.
        await drain(max(0.0, stop_at - clock()))
        for consumer in running:
            connection.remove(consumer)
