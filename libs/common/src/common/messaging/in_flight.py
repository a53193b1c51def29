"""Handlers in flight: consuming, and draining without dropping work in progress."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from common.messaging.connection import CONNECT_TIMEOUT, BrokerUnavailable, broker_calls

log = structlog.get_logger()


class InFlightHandlers:
    """Runs `work` on each message in its own task, and tracks the running tasks."""

    def __init__(
        self, work: Callable[[AbstractIncomingMessage], Coroutine[Any, Any, None]]
    ) -> None:
        self._work = work
        self._queue: AbstractQueue | None = None
        self._tag = ""
        self._running: set[asyncio.Task[None]] = set()
        self._ended = False

    async def begin(self, queue: AbstractQueue) -> None:
        """Starts consuming; the channel's prefetch bounds the messages in flight.

        After `drain` it does nothing: a connection may be restored during shutdown.
        """
        if self._ended:
            return
        self._tag = await queue.consume(self._take, timeout=CONNECT_TIMEOUT)
        self._queue = queue

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
                log.debug("intake.cancel_failed", reason=str(error))
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=grace)
            for task in late:
                task.cancel()

    async def _take(self, message: AbstractIncomingMessage) -> None:
        # Not awaited here: when a channel closes, aiormq cancels the awaits of its callbacks,
        # and a lost connection must not interrupt work in progress.
        task = asyncio.create_task(self._work(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
