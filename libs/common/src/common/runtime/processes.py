"""Process pool for CPU-bound work, which would block the event loop."""

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from common.contracts.failures import Unavailable
from common.runtime.workers import follow_parent

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Workers:
    """Processes that are started on demand, and end with this one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    async def run(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Calls a module's function in a worker; raises `Unavailable` when the worker died."""
        pool = self._pool = self._pool or self._new_pool()
        try:
            return await asyncio.wrap_future(pool.submit(function, *arguments, **named))
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None  # the next call starts a new pool
            raise Unavailable("a process that worked for this one has died") from None

    async def close(self) -> None:
        """Ends the processes and cancels queued calls. A later call starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _new_pool(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a fork would copy the threads' locks and the open connections.
        return ProcessPoolExecutor(
            self._count,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=follow_parent,
        )


@asynccontextmanager
async def workers(count: int) -> AsyncIterator[Workers]:
    """Workers during the body, at most `count` processes."""
    made = Workers(count)
    try:
        yield made
    finally:
        await made.close()


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
