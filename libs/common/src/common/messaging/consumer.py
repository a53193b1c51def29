"""Consumer of work queues: acks after processing, holds messages during an outage."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from random import Random
from typing import Any, Protocol, assert_never

import structlog
from aio_pika.abc import AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import ChannelInvalidStateError
from prometheus_client import Counter, Gauge

from common.contracts.contract import read
from common.contracts.failures import Unavailable
from common.messaging.connection import (
    CONNECT_TIMEOUT,
    Attachment,
    BrokerUnavailable,
    SupervisedConnection,
    broker_calls,
)
from common.messaging.queues import Topology, declare
from common.runtime import tracing
from common.runtime.tasks import delays

log = structlog.get_logger()


class Consumption:
    """The consumption of a queue; once stopped, no restored connection begins it again."""

    def __init__(self) -> None:
        self._queue: AbstractQueue | None = None
        self._tag = ""
        self._stopped = asyncio.Event()

    async def begin(
        self,
        queue: AbstractQueue,
        take: Callable[[AbstractIncomingMessage], Coroutine[Any, Any, None]],
        *,
        no_ack: bool = False,
    ) -> bool:
        """Starts consuming; with acks the channel's prefetch bounds the messages in flight.

        After `stop` it does nothing and returns False.
        """
        if self._stopped.is_set():
            return False
        tag = await queue.consume(take, no_ack=no_ack, timeout=CONNECT_TIMEOUT)
        if self._stopped.is_set():  # meanwhile
            await queue.cancel(tag, timeout=CONNECT_TIMEOUT)
            return False
        self._tag, self._queue = tag, queue
        return True

    def forget(self) -> None:
        """Drops the closed channel."""
        self._queue = None

    async def stop(self) -> None:
        """Stops consuming for good."""
        self._stopped.set()
        if self._queue is not None:
            try:
                with broker_calls():
                    await self._queue.cancel(self._tag, timeout=CONNECT_TIMEOUT)
            except BrokerUnavailable as error:
                log.debug("consumer.cancel_failed", reason=str(error))


async def drained(handlers: Collection[asyncio.Task[None]], grace: float) -> None:
    """Waits at most `grace` seconds for running handlers, and cancels the others."""
    if handlers:
        _, late = await asyncio.wait(handlers, timeout=grace)
        for task in late:
            task.cancel()


class Drained(Attachment, Protocol):
    """An attachment that handles messages."""

    async def drain(self, grace: float) -> None:
        """Stops consuming, then waits at most `grace` seconds for running handlers."""


@asynccontextmanager
async def attached(
    connection: SupervisedConnection, consumer: Drained, *, drain_timeout: float
) -> AsyncIterator[None]:
    """Consumes during the body; leaving stops consuming first, then waits for running handlers."""
    await connection.add(consumer)
    try:
        yield
    finally:
        await consumer.drain(drain_timeout)
        connection.remove(consumer)


#: Handles one message. Raises `Unavailable` if it has to be retried later; any other exception is
#: a failed try.
Handler = Callable[[bytes], Awaitable[None]]

#: Seconds for which a message is held during an outage before it is requeued, well below the
#: broker's consumer timeout (30 minutes).
HOLD_TIMEOUT = 900.0
#: Failed tries of one message, with growing waits between them, before it is a dead letter.
MAX_TRIES = 5

_CONSUMED = Counter("broker_messages_consumed_total", "Messages by outcome", ["queue", "outcome"])
_HELD = Gauge("broker_messages_held", "Messages held while a dependency is unavailable", ["queue"])


class _Outcome(StrEnum):
    HANDLED = "handled"
    FAILED = "failed"
    HELD_TOO_LONG = "held_too_long"
    GIVEN_OUT_AGAIN = "given_out_again"


class Consumer:
    """Takes messages off one queue, at most `prefetch` at a time.

    During an outage the messages in hand are kept unacked and tried again with backoff, and the
    broker delivers no further ones. A message whose tries fail otherwise is rejected after
    `MAX_TRIES`, which makes it a dead letter. Only tries count: a lost connection does not.
    """

    def __init__(  # noqa: PLR0913 (each is a fact about the one queue)
        self,
        connection: SupervisedConnection,
        queue: str,
        handler: Handler,
        *,
        topology: Topology,
        prefetch: int,
        random: Random,
        hold_timeout: float = HOLD_TIMEOUT,
    ) -> None:
        """`hold_timeout` in seconds."""
        self._supervised = connection
        self._queue_name = queue
        self._handler = handler
        self._topology = topology
        self._prefetch = prefetch
        self._random = random
        self._hold_timeout = hold_timeout
        self._consumption = Consumption()
        self._handlers: set[asyncio.Task[None]] = set()
        for outcome in _Outcome:  # Prometheus sees no increase in a counter's first sample
            _CONSUMED.labels(queue, outcome)
        _HELD.labels(queue)

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares the topology and consumes the queue."""
        channel = await self._supervised.open_channel(connection, confirms=False)
        await channel.set_qos(prefetch_count=self._prefetch, timeout=CONNECT_TIMEOUT)
        await self._supervised.declare(
            self._queue_name, channel, partial(declare, topology=self._topology)
        )
        queue = await channel.get_queue(self._queue_name, ensure=False)
        await self._consumption.begin(queue, self._take)

    def detach(self) -> None:
        """Forgets the messages in flight, which the broker redelivers, here or elsewhere."""
        # Running handlers finish; settling their messages fails harmlessly.
        self._consumption.forget()

    async def drain(self, grace: float) -> None:
        """Stops consuming, then waits at most `grace` seconds for running handlers."""
        await self._consumption.stop()
        await drained(self._handlers, grace)

    async def _take(self, message: AbstractIncomingMessage) -> None:
        # In a task: when a channel closes, aiormq cancels the awaits of its callbacks, and a lost
        # connection must not interrupt work in progress.
        handler = asyncio.create_task(self._work(message))
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)

    async def _work(self, message: AbstractIncomingMessage) -> None:
        held = _Held(self._queue_name)
        span = self._begin(message)
        try:
            outcome = await self._outcome(message, held)
        finally:
            held.end()
        if span is not None:
            span.end(error=None if outcome is _Outcome.HANDLED else outcome)
        _CONSUMED.labels(self._queue_name, outcome).inc()
        await self._settle(message, outcome)

    def _begin(self, message: AbstractIncomingMessage) -> tracing.Span | None:
        trace = read(message.headers) if message.headers else None
        queue = self._queue_name
        span = tracing.continued(f"process {queue}", tracing.Kind.CONSUMER, queue, trace)
        tracing.CURRENT.set(trace if span is None else span.context)
        return span

    async def _outcome(self, message: AbstractIncomingMessage, held: "_Held") -> _Outcome:
        waits = delays(self._random)
        clock = asyncio.get_running_loop().time
        held_until = clock() + self._hold_timeout
        failures = 0
        while True:
            try:
                await self._handler(message.body)
                return _Outcome.HANDLED
            except Unavailable as outage:
                # Only between two tries: a running one may have effects that must be recorded.
                if clock() >= held_until:
                    return _Outcome.HELD_TOO_LONG
                held.begin(outage)
            except Exception as error:
                failures += 1
                if failures == MAX_TRIES:
                    log.exception("consumer.failed", queue=self._queue_name, id=message.message_id)
                    return _Outcome.FAILED
                log.warning("consumer.retrying", queue=self._queue_name, error=type(error).__name__)
            if _is_lost(message):
                return _Outcome.GIVEN_OUT_AGAIN
            await asyncio.sleep(next(waits))

    async def _settle(self, message: AbstractIncomingMessage, outcome: _Outcome) -> None:
        try:
            # The library waits for the write without a limit. A message whose acknowledgement is
            # lost with its connection is given out again.
            with broker_calls():
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    match outcome:
                        case _Outcome.HANDLED:
                            await message.ack()
                        case _Outcome.FAILED:
                            await message.reject(requeue=False)
                        case _Outcome.HELD_TOO_LONG:
                            await message.reject(requeue=True)
                        case _Outcome.GIVEN_OUT_AGAIN:
                            pass  # the broker requeued it when its channel closed
                        case _:
                            assert_never(outcome)
        except BrokerUnavailable as error:
            log.debug("consumer.settle_failed", queue=self._queue_name, reason=str(error))


class _Held:
    """Shows in the metrics that a message is held during an outage."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._begun = False

    def begin(self, outage: Unavailable) -> None:
        if not self._begun:
            self._begun = True
            _HELD.labels(self._queue).inc()
            log.warning("consumer.holding", queue=self._queue, reason=str(outage))

    def end(self) -> None:
        if self._begun:
            _HELD.labels(self._queue).dec()


def _is_lost(message: AbstractIncomingMessage) -> bool:
    try:
        return message.channel.is_closed
    except ChannelInvalidStateError:
        return True
