"""Searches by name and address: one index per country, in threads of their own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TypeVar

from prometheus_client import Gauge, Histogram

from common.contracts.company import Country
from common.contracts.failures import Unavailable
from common.mongo import Database
from common.runtime.processes import processors, workers
from common.runtime.tasks import beside
from lookup.search.follower import Follower
from lookup.search.hits import SearchHit, SuggestionPage
from lookup.search.index.budget import Budget
from lookup.search.index.search_index import SearchIndex

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

_SIZE = Gauge("search_index_companies", "Companies in the index", ["country"])


#: Maximum worker processes that build an index, 75 MB each; a container may have fewer processors.
_BUILDERS = 2


class IndexInUse(Exception):
    """Another process uses the index; only one may open it."""


@dataclass(frozen=True, slots=True)
class IndexSearches:
    """`Searches` and `Suggestions` in the indexes of this process."""

    indexes: Mapping[Country, SearchIndex]
    followers: Mapping[Country, Follower]
    pool: ThreadPoolExecutor
    #: Separate threads, so that suggestions never wait for slow searches.
    suggest_pool: ThreadPoolExecutor

    async def by_name(self, country: Country, name: str, limit: int = 1) -> Sequence[SearchHit]:
        search = partial(self._answering(country).search_names, name, limit)
        return await _bounded(self.pool, country, "name", search)

    async def many_share(self, country: Country, name: str) -> bool:
        search = partial(self._answering(country).many_share, name)
        return await _bounded(self.pool, country, "name", search)

    async def by_address(
        self, country: Country, address: str, limit: int = 1
    ) -> Sequence[SearchHit]:
        search = partial(self._answering(country).search_addresses, address, limit)
        return await _bounded(self.pool, country, "address", search)

    async def suggest(
        self, country: Country, text: str, limit: int, after: str | None = None
    ) -> SuggestionPage:
        search = partial(self._answering(country).suggest, text, limit, after=after)
        return await _bounded(self.suggest_pool, country, "suggest", search)

    async def health(self) -> str | None:
        """A health check: None, or the reason."""
        building = [country for country, it in self.followers.items() if not it.can_answer]
        return f"being built: {', '.join(building)}" if building else None

    def _answering(self, country: Country) -> SearchIndex:
        if not self.followers[country].can_answer:
            raise Unavailable("the search index is being built")
        return self.indexes[country]


async def _bounded(
    pool: ThreadPoolExecutor, country: Country, kind: str, search: Callable[[Budget], T]
) -> T:
    """Searches in a thread, which stops soon after the caller is cancelled."""
    budget, submitted_at = Budget(), perf_counter()

    def run() -> T:
        _WAITS.labels(kind).observe(perf_counter() - submitted_at)
        return search(budget)

    try:
        with _SECONDS.labels(country, kind).time():
            return await asyncio.get_running_loop().run_in_executor(pool, run)
    finally:
        budget.abandon()


@asynccontextmanager
async def followed_indexes(  # noqa: PLR0913 (the dependencies of the indexes)
    register: Database,
    countries: Sequence[Country],
    *,
    folder: Path,
    threads: int,
    interval: timedelta,
    random: Random,
) -> AsyncIterator[IndexSearches]:
    """The countries' indexes, opened from their saved copies and updated while the body runs."""
    async with AsyncExitStack() as stack:
        builders = await stack.enter_async_context(workers(min(processors(), _BUILDERS)))
        pool, suggest_pool = (
            stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix=name))
            for name in ("search", "suggest")
        )
        indexes: dict[Country, SearchIndex] = {}
        followers: dict[Country, Follower] = {}
        for country in countries:
            index = await asyncio.to_thread(_opened, folder, country)
            stack.callback(index.close)
            _SIZE.labels(country).set_function(partial(_companies_in, index))
            follower = Follower(
                register,
                index,
                country,
                interval=interval.total_seconds(),
                random=random,
                builders=builders,
            )
            await stack.enter_async_context(beside(follower.run()))
            indexes[country], followers[country] = index, follower
        yield IndexSearches(indexes, followers, pool, suggest_pool)


def _opened(folder: Path, country: Country) -> SearchIndex:
    try:
        return SearchIndex.open(folder, country)
    except BlockingIOError:
        raise IndexInUse(f"the index folder {folder} is used by another process") from None


def _companies_in(index: SearchIndex) -> float:
    return index.size.companies
