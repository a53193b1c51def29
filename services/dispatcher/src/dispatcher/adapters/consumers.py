"""Consumers of the dispatcher's queues."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from common.contracts.deliveries import DeliveryTasks
from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumer
from common.messaging.topology import Topology

#: Prefetch counts. A delivery message is acked once its deliveries are claimed, however slow
#: their receivers are.
EVENTS_IN_HAND = 200
DELIVERIES_IN_HAND = 400
RETRIES_IN_HAND = 200


@dataclass(frozen=True, slots=True)
class Work:
    """Handlers of each queue's messages."""

    fan_out: Callable[[bytes], Awaitable[None]]
    deliver: Callable[[DeliveryTasks], Awaitable[None]]
    #: Drains the posts in flight; takes the timeout in seconds.
    drain: Callable[[float], Awaitable[None]]

    async def deliver_message(self, body: bytes) -> None:
        await self.deliver(DeliveryTasks.model_validate_json(body))


@asynccontextmanager
async def consumers(
    link: SupervisedConnection,
    work: Work,
    *,
    topology: Topology,
    random: Random,
    shutdown_grace: float,
) -> AsyncIterator[None]:
    """Consumes during the body; on exit stops consuming, then drains the work in flight."""
    queues = (
        (EVENTS_QUEUE, work.fan_out, EVENTS_IN_HAND),
        (DELIVERIES_QUEUE, work.deliver_message, DELIVERIES_IN_HAND),
        (RETRIES_QUEUE, work.deliver_message, RETRIES_IN_HAND),
    )
    running = [
        Consumer(link, queue, handler, topology=topology, prefetch=in_hand, random=random)
        for queue, handler, in_hand in queues
    ]
    for consumer in running:
        await link.add(consumer)
    try:
        yield
    finally:
        clock = asyncio.get_running_loop().time
        stop_at = clock() + shutdown_grace
        # Concurrently: while one consumer drains, the others must not accept messages.
        await asyncio.gather(*(consumer.drain(shutdown_grace) for consumer in running))
        # Afterwards: a message in flight may still start posts.
        await work.drain(max(0.0, stop_at - clock()))
        for consumer in running:
            link.remove(consumer)
