"""Taking messages off a queue, and stopping without dropping what has begun."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from common.messaging.connection import CONNECT_TIMEOUT, BrokerUnavailable, broker_calls

log = structlog.get_logger()


class InFlightHandlers:
    """Gives each message to `work`, in a task of its own, and knows which tasks still run."""

    def __init__(
        self, work: Callable[[AbstractIncomingMessage], Coroutine[Any, Any, None]]
    ) -> None:
        self._work = work
        self._queue: AbstractQueue | None = None
        self._tag = ""
        self._running: set[asyncio.Task[None]] = set()
        self._ended = False

    async def begin(self, queue: AbstractQueue) -> None:
        """Consumes from now on; the channel's prefetch says how many messages at a time.

        After `drain` it does nothing: a connection may come back while its process stops.
        """
        if self._ended:
            return
        self._tag = await queue.consume(self._take, timeout=CONNECT_TIMEOUT)
        self._queue = queue

    def forget(self) -> None:
        """The channel is gone. What runs ends by itself; settling its message fails harmlessly."""
        self._queue = None

    async def drain(self, limit: float) -> None:
        """Takes no more, then lets what runs finish, at most `limit` seconds."""
        self._ended = True
        if self._queue is not None:
            try:
                with broker_calls():
                    await self._queue.cancel(self._tag, timeout=CONNECT_TIMEOUT)
            except BrokerUnavailable as error:
                log.debug("intake.cancel_failed", reason=str(error))
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=limit)
            for task in late:
                task.cancel()

    async def _take(self, message: AbstractIncomingMessage) -> None:
        # Not awaited here: when a channel closes, aiormq cancels what its callbacks wait for, and
        # a lost connection must not cut off work that has begun.
        task = asyncio.create_task(self._work(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
