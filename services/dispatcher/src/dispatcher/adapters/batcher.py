"""Calls that wait at the same moment share one list: one round trip instead of many."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from common.contracts.failures import Unavailable
from common.runtime.tasks import beside

Q = TypeVar("Q")
A = TypeVar("A")

#: Answers a list of questions with as many answers, in order.
Work = Callable[[Sequence[Q]], Awaitable[Sequence[A]]]


class Batcher(Generic[Q, A]):
    """Collects questions while a list is under way, and sends them as the next one.

    There is no timer: a question that comes alone goes alone and at once, and the lists grow by
    themselves as the load does.
    """

    def __init__(self, work: Work[Q, A], *, max_batch_size: int) -> None:
        self._work = work
        self._max_batch_size = max_batch_size
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._some = asyncio.Event()

    async def __call__(self, question: Q) -> A:
        """The answer; raises what the question alone raised, or the `Unavailable` of its list."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        self._some.set()
        return await answer

    async def run(self) -> None:
        """Works lists off until cancelled."""
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
        except Exception as error:  # noqa: BLE001 (it is handed to those who asked)
            if len(batch) > 1 and not isinstance(error, Unavailable):
                # One of them is to blame: it fails alone.
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
async def running(*batchers: Batcher[Q, A]) -> AsyncIterator[None]:
    """Works all of them off while the body runs, each one list after the other.

    Two of the same at a time are no faster: each is half as long, and costs nearly as much.
    """
    async with beside(*(one.run() for one in batchers)):
        yield
