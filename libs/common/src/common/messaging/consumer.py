"""Consuming work: acked after it is done, held while our own infrastructure is away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import structlog
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from prometheus_client import Counter, Gauge

from common.contracts.outage import Outage
from common.messaging.connection import CONNECT_LIMIT, BrokerAway, Link, broker_calls
from common.messaging.intake import Intake
from common.messaging.topology import Topology, declare
from common.runtime.backoff import delays

#: Does the work of one message. Raising Outage means "not now"; anything else means "never".
Handler = Callable[[bytes], Awaitable[None]]

#: Seconds after which a message that cannot be done now is held no longer, well below the broker's
#: consumer timeout (30 minutes); it goes back, which counts towards the delivery limit once.
HOLD_LIMIT = 900.0

_CONSUMED = Counter(
    "broker_consumed_total", "Messages by what became of them", ["queue", "outcome"]
)
_HELD = Gauge("broker_messages_held", "Messages held while a dependency is away", ["queue"])

log = structlog.get_logger()


class Consumer:
    """Takes messages off one queue, at most `prefetch` at a time.

    During an outage the messages in hand are kept unacked and tried again with backoff: the broker
    hands out no further ones, and nothing counts towards the queue's delivery limit, as it would
    if they were put back.
    """

    def __init__(  # noqa: PLR0913 (each is a fact about the one queue)
        self,
        link: Link,
        queue: str,
        handler: Handler,
        *,
        topology: Topology,
        prefetch: int,
        random: Random,
        hold_limit: float = HOLD_LIMIT,
    ) -> None:
        """`hold_limit` in seconds."""
        self._link = link
        self._queue_name = queue
        self._handler = handler
        self._topology = topology
        self._prefetch = prefetch
        self._random = random
        self._hold_limit = hold_limit
        self._channel: AbstractChannel | None = None
        self._intake = Intake(self._work)

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self._link.open_channel(connection, confirms=False)
        await channel.set_qos(prefetch_count=self._prefetch, timeout=CONNECT_LIMIT)
        await declare(channel, self._topology)
        self._channel = channel
        await self._intake.begin(await channel.get_queue(self._queue_name, ensure=False))

    def detach(self) -> None:
        # The broker gives the unacked messages out again, here or elsewhere. What has begun ends
        # by itself; settling its message fails harmlessly.
        self._channel = None
        self._intake.forget()

    async def drain(self, limit: float) -> None:
        """Takes no more, then lets what runs finish, at most `limit` seconds."""
        await self._intake.drain(limit)

    async def _work(self, message: AbstractIncomingMessage) -> None:
        await self._settle(message, await self._outcome(message))

    async def _outcome(self, message: AbstractIncomingMessage) -> str:
        try:
            return await self._tried_until_possible(message)
        except Exception:
            # The loop outlives any handler: the message goes back, and the queue's delivery limit
            # sends one that fails each time to the dead letters.
            log.exception("consumer.failed", queue=self._queue_name, message_id=message.message_id)
            return "failed"

    async def _tried_until_possible(self, message: AbstractIncomingMessage) -> str:
        waits = delays(self._random)
        clock = asyncio.get_running_loop().time
        held_until = clock() + self._hold_limit
        held = False
        try:
            while True:
                try:
                    await self._handler(message.body)
                    return "handled"
                except Outage as outage:
                    if message.channel.is_closed:
                        return "given_out_again"
                    # Only between two tries: one that runs may have done what must be recorded.
                    if clock() >= held_until:
                        return "held_too_long"
                    if not held:
                        held = True
                        _HELD.labels(self._queue_name).inc()
                        log.warning("consumer.holding", queue=self._queue_name, reason=str(outage))
                    await asyncio.sleep(next(waits))
        finally:
            if held:
                _HELD.labels(self._queue_name).dec()

    async def _settle(self, message: AbstractIncomingMessage, outcome: str) -> None:
        _CONSUMED.labels(self._queue_name, outcome).inc()
        try:
            with broker_calls():
                if outcome == "handled":
                    await message.ack()
                else:
                    await message.reject(requeue=True)
        except BrokerAway as error:
            log.debug("consumer.settle_failed", queue=self._queue_name, reason=str(error))


@asynccontextmanager
async def consuming(link: Link, consumer: Consumer, *, drain_limit: float) -> AsyncIterator[None]:
    """Consumes for the body's time; leaving stops the intake first, then waits for what runs."""
    await link.add(consumer)
    try:
        yield
    finally:
        await consumer.drain(drain_limit)
        link.remove(consumer)
