"""Consumers of the dispatcher's queues."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumer, Handler
from common.messaging.topology import Topology

#: Prefetch counts. A delivery message is acked once its deliveries are claimed, however slow
#: their receivers are.
EVENTS_IN_HAND = 200
DELIVERIES_IN_HAND = 400
RETRIES_IN_HAND = 200


@asynccontextmanager
async def consumers(  # noqa: PLR0913 (the handlers and their surroundings)
    link: SupervisedConnection,
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
        (EVENTS_QUEUE, fan_out, EVENTS_IN_HAND),
        (DELIVERIES_QUEUE, deliver, DELIVERIES_IN_HAND),
        (RETRIES_QUEUE, deliver, RETRIES_IN_HAND),
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
        await drain(max(0.0, stop_at - clock()))
        for consumer in running:
            link.remove(consumer)
