"""The queues that the dispatcher works off."""

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

#: Messages in hand. A wake-up is in hand until its deliveries are claimed, however slow their
#: receivers are.
EVENTS_IN_HAND = 200
DELIVERIES_IN_HAND = 400
RETRIES_IN_HAND = 200


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with the messages of each queue."""

    fan_out: Callable[[bytes], Awaitable[None]]
    deliver: Callable[[DeliveryTasks], Awaitable[None]]
    #: Ends the posts in flight, within so many seconds.
    drain: Callable[[float], Awaitable[None]]

    async def deliver_message(self, body: bytes) -> None:
        await self.deliver(DeliveryTasks.model_validate_json(body))


@asynccontextmanager
async def consumers(
    link: SupervisedConnection, work: Work, *, topology: Topology, random: Random, stop_limit: float
) -> AsyncIterator[None]:
    """Consumes for the body's time; leaving stops every intake, then waits for what runs."""
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
        stop_at = clock() + stop_limit
        # All at once: while one waits for its work, the others must not take any more.
        await asyncio.gather(*(consumer.drain(stop_limit) for consumer in running))
        # Only now: until then a message may still begin posts.
        await work.drain(max(0.0, stop_at - clock()))
        for consumer in running:
            link.remove(consumer)
