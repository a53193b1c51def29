"""Structured concurrency: background tasks, which end with their body, and calls that are shared.

A body ends when one of its tasks fails. Concurrent calls become one, or one batch.
"""

import asyncio
import logging
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any, Generic, TypeVar

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

    Raises the error of a first call that fails before that, or of both.
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
    """Returns the result within a time; unlike `asyncio.wait_for`, never in a task of its own."""
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


V = TypeVar("V")


class SingleFlight(Generic[V]):
    """Runs at most one call for each key at a time."""

    def __init__(self) -> None:
        self._calls: dict[str, asyncio.Future[V]] = {}

    async def __call__(self, key: str, work: Callable[[], Awaitable[V]]) -> V:
        """Returns what `work` returns, or what the call in flight does; raises its exception.

        A cancelled request cancels no other: if it made the call, one that waits makes it again.
        """
        while (call := self._calls.get(key)) is not None:
            await asyncio.wait([call])
            if not call.cancelled():
                return call.result()
        call = self._calls[key] = asyncio.get_running_loop().create_future()
        try:
            call.set_result(await work())
        except Exception as error:  # noqa: BLE001 (raised to all)
            call.set_exception(error)
        finally:
            del self._calls[key]
            call.cancel()
        return call.result()

    async def ended(self, key: str) -> bool:
        """Waits for the end of the call in flight, however it ends; False without one."""
        call = self._calls.get(key)
        if call is not None:
            await asyncio.wait([call])
        return call is not None


Q = TypeVar("Q")
A = TypeVar("A")

#: Maximum questions in one batch, unless a batcher has its own; further ones join the next.
MAX_BATCH_SIZE = 200

#: Processes a batch: one answer per question, in order.
Work = Callable[[Sequence[Q]], Awaitable[Sequence[A]]]


class Batcher(Generic[Q, A]):
    """Collects questions while a batch is in flight and sends them as the next batch.

    There is no timer: a single question is sent immediately, and batches grow with the load.
    """

    def __init__(self, work: Work[Q, A], *, max_batch_size: int = MAX_BATCH_SIZE) -> None:
        self._work = work
        self._max_batch_size = max_batch_size
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._some = asyncio.Event()

    def __call__(self, question: Q) -> "asyncio.Future[A]":
        """Returns a future: the answer, the question's own error or the batch's `Unavailable`."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        self._some.set()
        return answer

    async def run(self) -> None:
        """Processes batches until cancelled."""
        while True:
            await self._some.wait()
            batch = [
                self._waiting.popleft()
                for _ in range(min(self._max_batch_size, len(self._waiting)))
            ]
            if not self._waiting:
                self._some.clear()
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: Sequence[tuple[Q, "asyncio.Future[A]"]]) -> None:
        try:
            answers = await self._work([question for question, _ in batch])
        except Exception as error:  # noqa: BLE001 (re-raised to the callers)
            if len(batch) > 1 and not isinstance(error, Unavailable):
                # One question is at fault: retry each one alone.
                for one in batch:
                    await self._answer([one])
                return
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), answer in zip(batch, answers, strict=True):
            if not waiting.done():
                waiting.set_result(answer)


@asynccontextmanager
async def running(*batchers: Batcher[Any, Any]) -> AsyncIterator[None]:
    """Runs the batchers during the body; each processes one batch at a time.

    Two concurrent batches are no faster: each is half as long and costs nearly as much.
    """
    async with background(*(one.run() for one in batchers)):
        yield
