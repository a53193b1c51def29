"""Structured concurrency: background tasks end with their body, and end it when they fail."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any, TypeVar

import structlog

from common.contracts.failures import Unavailable

#: Seconds for a task to clean up before it is cancelled once more.
PATIENCE = 6.0

T = TypeVar("T")

log = structlog.get_logger()


class CannotContinue(Exception):
    """The process has to be started again; the message says why."""


@asynccontextmanager
async def background(
    *work: Coroutine[Any, Any, None], patience: float = PATIENCE
) -> AsyncIterator[None]:
    """Runs `work` during the body; leaving the body cancels it, its failure ends the body."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in work]
        try:
            yield
        finally:
            await _cancelled(tasks, patience)


async def _cancelled(tasks: Iterable[asyncio.Task[None]], patience: float) -> None:
    """Cancels the tasks and returns when all have ended.

    One cancellation is not always enough: before Python 3.12 `asyncio.wait_for`, which the drivers
    use, loses a cancellation that arrives just as its awaitable completes, and the task never ends.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=patience)


async def repeat(  # noqa: PLR0913 (a job, its times and its log events)
    job: Callable[[], Awaitable[None]],
    *,
    every: float,
    unavailable: str,
    failed: str,
    level: int = logging.DEBUG,
    asked: asyncio.Event | None = None,
) -> None:
    """Runs a job every so many seconds, or earlier when `asked`, until cancelled.

    A run that fails does not end it: `unavailable`, with `level`, or `failed` is logged.
    """
    asked = asked or asyncio.Event()
    while True:
        asked.clear()
        try:
            await job()
        except Unavailable as outage:
            log.log(level, unavailable, reason=str(outage))
        except Exception:
            log.exception(failed)
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                await asked.wait()


async def hedged(start: Callable[[], Awaitable[T]], *, after: float) -> T:
    """Returns what a call returns, or a second one that starts `after` seconds without a result.

    Raises its error only when both have failed.
    """
    tasks = {_started(start)}
    try:
        done, running = await asyncio.wait(tasks, timeout=after)
        if running:
            tasks.add(_started(start))
            running = set(tasks)
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if any(task.exception() is None for task in done):
                break
        return min(done, key=lambda task: task.exception() is not None).result()
    finally:
        for task in tasks:
            task.cancel()


def _started(start: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
    task = asyncio.ensure_future(start())
    # The error of a call whose result is no longer waited for is not reported.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


async def wait_for(awaitable: Awaitable[T], timeout: float | None) -> T:
    """Returns the result within a time, as `asyncio.wait_for` of Python 3.12 does."""
    async with asyncio.timeout(timeout):
        return await awaitable


def delays(random: Random, *, first: float = 0.1, max_delay: float = 5.0) -> Iterator[float]:
    """Yields the seconds to wait before each try: doubling up to `max_delay`, with full jitter.

    The jitter keeps processes that lost the same server from reconnecting simultaneously.
    """
    ceiling = first
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(ceiling * 2, max_delay)
