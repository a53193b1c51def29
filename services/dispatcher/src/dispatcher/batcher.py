"""Batching of concurrent calls: one round trip instead of many."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from common.contracts.failures import Unavailable
from common.runtime.tasks import background

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
