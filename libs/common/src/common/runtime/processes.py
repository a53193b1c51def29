"""The process: its open files and freed memory, and worker processes for CPU-bound work."""

import asyncio
import ctypes
import multiprocessing
import os
import resource
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from common.contracts.failures import Unavailable
from common.runtime.workers import follow_parent

#: Enough for a busy process; less is used where the hard limit is lower.
_WANTED = 65_536


def raise_file_limit() -> int:
    """Raises the soft limit as far as the hard one allows; returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


# glibc's own; other C libraries do not keep as much.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)


def release_freed_memory() -> None:
    """Returns freed memory to the operating system; blocks for some milliseconds.

    Threads that allocate much at long intervals, as the index writer's do for each commit, leave
    an arena of several megabytes each, which glibc would return only from its end.
    """
    if _TRIM is not None:
        _TRIM(0)


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Workers:
    """Processes that are started on demand, and end with this one, or when they are idle."""

    def __init__(self, count: int, *, idle: float | None = None) -> None:
        """`idle` are the seconds without a call after which they end; None: never."""
        self._count = count
        self._idle = idle
        self._calls = 0
        self._ending: asyncio.TimerHandle | None = None
        self._pool: ProcessPoolExecutor | None = None

    async def run(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Result:
        """Calls a module's function in a worker; raises `Unavailable` when the worker died."""
        pool = self._pool = self._pool or self._new_pool()
        self._calls += 1
        if self._ending is not None:
            self._ending.cancel()
        try:
            return await asyncio.wrap_future(pool.submit(function, *arguments, **named))
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None  # the next call starts a new pool
            raise Unavailable("a process that worked for this one has died") from None
        finally:
            self._calls -= 1
            if self._idle is not None and not self._calls:
                self._ending = asyncio.get_running_loop().call_later(self._idle, self._end)

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    async def close(self) -> None:
        """Ends the processes and cancels queued calls. A later call starts new ones."""
        if self._ending is not None:
            self._ending.cancel()
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
async def workers(count: int, *, idle: float | None = None) -> AsyncIterator[Workers]:
    """Workers during the body, at most `count` processes, which end after `idle` seconds."""
    made = Workers(count, idle=idle)
    try:
        yield made
    finally:
        await made.close()


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
