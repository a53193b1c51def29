"""Documents are read in processes of their own, beside the one that writes to the database."""

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager

from common.contracts.outage import Outage
from common.runtime.workers import follow_parent
from lookup.adapters.registers.reading import understood
from lookup.domain.records import Kind, Record, Refused, Unread

#: Fewer documents than a process could read while it is started are read here.
_WORTH_IT = 200
#: More of them than this would wait for the process that writes.
_MOST = 2


class ReadInProcesses:
    """`Reader`. Its processes are started when there is work for them."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    async def __call__(self, kind: Kind, documents: Sequence[Unread]) -> Sequence[Record | Refused]:
        if len(documents) < _WORTH_IT:
            return _all_understood(kind, documents)
        pool = self._pool = self._pool or _new_pool(self._processes)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(pool, _all_understood, kind, documents)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None  # the next list starts a new one
            raise Outage("the process that reads documents has died") from None

    async def close(self) -> None:
        if self._pool is not None:
            await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
            self._pool = None


@asynccontextmanager
async def reading_processes() -> AsyncIterator[ReadInProcesses]:
    """A reader for the body's time; it leaves a processor to the process that writes."""
    processors = len(os.sched_getaffinity(0))
    reader = ReadInProcesses(min(max(processors - 1, 1), _MOST))
    try:
        yield reader
    finally:
        await reader.close()


def _new_pool(processes: int) -> ProcessPoolExecutor:
    # Spawned, not forked: a fork would copy the threads' locks and the open connections.
    return ProcessPoolExecutor(
        processes, mp_context=multiprocessing.get_context("spawn"), initializer=follow_parent
    )


def _all_understood(kind: Kind, documents: Sequence[Unread]) -> Sequence[Record | Refused]:
    return [understood(kind, document) for document in documents]
