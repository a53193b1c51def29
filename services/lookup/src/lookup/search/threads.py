"""Threads that search, in turns by client."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from prometheus_client import Histogram

from common.contracts.company import Country
from lookup.search.index.budget import Budget
from lookup.search.turns import Turns

_SECONDS = Histogram(
    "search_duration_seconds",
    "Duration of an index search, including the wait for a thread",
    ["country", "type"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
)
_WAITS = Histogram(
    "search_thread_wait_seconds",
    "Wait of a search for a thread",
    ["type"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
)
T = TypeVar("T")


class SearchThreads:
    """Threads of which one client uses at most `of_one`; one more is left for the others."""

    def __init__(self, pool: ThreadPoolExecutor, turns: Turns) -> None:
        self._pool = pool
        self._turns = turns

    async def run(
        self, country: Country, search_type: str, search: Callable[[Budget], T], *, client: str
    ) -> T:
        """Searches in a thread, which stops soon after the caller is cancelled."""
        budget, submitted_at = Budget(), time.perf_counter()

        def timed() -> T:
            _WAITS.labels(search_type).observe(time.perf_counter() - submitted_at)
            budget.begin()
            try:
                return search(budget)
            finally:
                budget.note()

        with _SECONDS.labels(country, search_type).time():
            await self._turns.begin(client)
            loop = asyncio.get_running_loop()
            running = self._pool.submit(timed)
            # The turn ends with the thread, which runs on for a while when its caller is cancelled.
            running.add_done_callback(
                lambda _: loop.call_soon_threadsafe(self._turns.end, client, budget.used)
            )
            try:
                return await asyncio.wrap_future(running)
            finally:
                budget.abandon()


@contextmanager
def search_threads(of_one: int, name: str) -> Iterator[SearchThreads]:
    """Threads for searches, of which one client uses at most `of_one`."""
    with ThreadPoolExecutor(of_one + 1, thread_name_prefix=name) as pool:
        yield SearchThreads(pool, Turns(of_one))
