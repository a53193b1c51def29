"""Threads that search, shared fairly by clients, and the processor time of one search.

The client that has used the least time is next (start-time fair queuing): a client with slow
searches has fewer of them, and the first search of another does not wait behind them.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from prometheus_client import Histogram

from common.contracts.company import Country

#: Seconds of processor time; a search of 3 million names takes some 20 ms.
_MAX_SECONDS = 1.0


class Budget:
    """The processor time of one search, from `begin` on, in the thread that searches.

    A query cannot be stopped, so a search checks its budget before each.
    """

    def __init__(self, seconds: float = _MAX_SECONDS) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._used = 0.0
        self._abandoned = False

    @property
    def used(self) -> float:
        """Seconds used so far; any thread may read them."""
        return self._used

    def begin(self) -> None:
        """Starts counting, before the text is parsed."""
        self._began = time.thread_time()

    def abandon(self) -> None:
        """Ends the search before its next query; any thread may call this."""
        self._abandoned = True

    def check(self) -> None:
        """Raises TimeoutError if the search was abandoned or its time is over."""
        if self._began is None:
            self.begin()
        self.note()
        if self._abandoned or self._used > self._seconds:
            raise TimeoutError("the search took too long")

    def note(self) -> None:
        """Counts the time used so far."""
        if self._began is not None:
            self._used = time.thread_time() - self._began


#: Above this number, clients without a search are forgotten; all are when no search runs.
_MAX_KNOWN = 1_000


class FairQueue:
    """Places for `per_client` searches of each client, and `others` that one client cannot take."""

    def __init__(self, per_client: int, others: int = 1) -> None:
        self._per_client = per_client
        self._free = per_client + others
        #: Clients with waiting searches; none is empty.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._running: Counter[str] = Counter()
        #: The time that each client has used. A client that comes, or comes back, starts at `_now`,
        #: the time of the client that was served last: quiet clients save nothing up.
        self._used: dict[str, float] = {}
        self._now = 0.0

    async def begin(self, client: str, *, first: bool = False) -> None:
        """Waits for the client's turn, which `end` ends; `first` before its other searches."""
        self._used[client] = max(self._used.get(client, 0.0), self._now)
        turn = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(client, deque())
        if first:
            waiting.appendleft(turn)
        else:
            waiting.append(turn)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.end(client, 0.0)
            raise

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Holds a turn during the body."""
        await self.begin(client)
        now = asyncio.get_running_loop().time
        began = now()
        try:
            yield
        finally:
            self.end(client, now() - began)

    def end(self, client: str, seconds: float) -> None:
        """Ends a turn that took this many seconds."""
        self._used[client] = self._used.get(client, self._now) + seconds
        self._free += 1
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        if not self._running or len(self._used) > _MAX_KNOWN:
            here = self._running.keys() | self._waiting.keys()
            self._used = {one: used for one, used in self._used.items() if one in here}
        self._serve()

    def _serve(self) -> None:
        while self._free and (client := self._next()) is not None:
            turn = self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client]
            if turn.cancelled():
                continue
            self._free -= 1
            self._running[client] += 1
            self._now = max(self._now, self._used[client])
            turn.set_result(None)

    def _next(self) -> str | None:
        able = (client for client in self._waiting if self._running[client] < self._per_client)
        return min(able, key=self._used.__getitem__, default=None)


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
    """Threads of which one client uses at most `per_client`; one more is left for the others."""

    def __init__(self, pool: ThreadPoolExecutor, queue: FairQueue) -> None:
        self._pool = pool
        self._queue = queue

    async def run(
        self,
        country: Country,
        search_type: str,
        search: Callable[[Budget], T],
        *,
        client: str,
        first: bool = False,
    ) -> T:
        """Searches in a thread, which stops soon after the caller is cancelled.

        `first` puts it before the client's other searches; other clients have their turns.
        """
        budget, submitted_at = Budget(), time.perf_counter()

        def timed() -> T:
            _WAITS.labels(search_type).observe(time.perf_counter() - submitted_at)
            budget.begin()
            try:
                return search(budget)
            finally:
                budget.note()

        with _SECONDS.labels(country, search_type).time():
            await self._queue.begin(client, first=first)
            loop = asyncio.get_running_loop()
            running = self._pool.submit(timed)
            # The turn ends with the thread, which runs on for a while when its caller is cancelled.
            running.add_done_callback(
                lambda _: loop.call_soon_threadsafe(self._queue.end, client, budget.used)
            )
            try:
                return await asyncio.wrap_future(running)
            finally:
                budget.abandon()


@contextmanager
def search_threads(per_client: int, name: str) -> Iterator[SearchThreads]:
    """Threads for searches, of which one client uses at most `per_client`."""
    with ThreadPoolExecutor(per_client + 1, thread_name_prefix=name) as pool:
        yield SearchThreads(pool, FairQueue(per_client))
