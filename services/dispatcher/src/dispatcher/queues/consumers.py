"""Consumers of the dispatcher's queues, and the handler of delivery messages."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from common.contracts.deliveries import DeliveryTasks
from common.contracts.failures import Unavailable
from common.contracts.topology import DELIVERIES_QUEUE, EVENTS_QUEUE, RETRIES_QUEUE
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumer, Handler
from common.messaging.topology import Topology
from dispatcher.deliveries.backlogs import ThrottledWebhooks

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
        (EVENTS_QUEUE, fan_out, EVENTS_PREFETCH),
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


@dataclass(frozen=True, slots=True)
class Deliver:
    """Idempotent: a late or repeated message finds nothing to claim."""

    throttled: ThrottledWebhooks

    async def __call__(self, body: bytes) -> None:
        """Claims or defers every delivery; raises `Unavailable` when it must be retried."""
        message = DeliveryTasks.model_validate_json(body)
        # Not a TaskGroup: one failure must not cancel the other claims.
        ended = await asyncio.gather(
            *(self.throttled.deliver(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # Internal errors come first: a message that always fails must be dead-lettered.
        for error in sorted(errors, key=lambda error: isinstance(error, Unavailable)):
            raise error
