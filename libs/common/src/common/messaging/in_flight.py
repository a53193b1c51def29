"""Handlers in flight: consuming, and draining without dropping work in progress."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from common.messaging.connection import CONNECT_TIMEOUT, Attachment, SupervisedConnection
from common.messaging.errors import BrokerUnavailable, broker_calls

log = structlog.get_logger()


class InFlightHandlers:
    """Tracks the tasks that handle messages, each in its own."""

    def __init__(self) -> None:
        self._queue: AbstractQueue | None = None
        self._tag = ""
        self._running: set[asyncio.Task[None]] = set()
        self._ended = False

    async def begin(
        self,
        queue: AbstractQueue,
        take: Callable[[AbstractIncomingMessage], Coroutine[Any, Any, None]],
        *,
        no_ack: bool = False,
    ) -> bool:
        """Starts consuming; with acks the channel's prefetch bounds the messages in flight.

        After `drain` it does nothing and returns False: a connection may be restored during
        shutdown.
        """
        if self._ended:
            return False
        self._tag = await queue.consume(take, no_ack=no_ack, timeout=CONNECT_TIMEOUT)
        self._queue = queue
        return True

    def __len__(self) -> int:
        return len(self._running)

    def forget(self) -> None:
        """Drops the closed channel. Running handlers finish, though settling then fails."""
        self._queue = None

    async def drain(self, grace: float) -> None:
        """Stops consuming, then waits at most `grace` seconds for running handlers."""
        self._ended = True
        if self._queue is not None:
            try:
                with broker_calls():
                    await self._queue.cancel(self._tag, timeout=CONNECT_TIMEOUT)
            except BrokerUnavailable as error:
                log.debug("consumer.cancel_failed", reason=str(error))
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=grace)
            for task in late:
                task.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Handles one message.

        Not in the callback that takes it: when a channel closes, aiormq cancels the awaits of its
        callbacks, and a lost connection must not interrupt work in progress.
        """
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)


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
