"""Searches by name and address: one index a country, in threads of their own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from prometheus_client import Gauge, Histogram

from common.contracts.company import Country
from common.contracts.failures import Unavailable
from common.mongo import Database
from common.runtime.processes import processors, workers
from common.runtime.tasks import beside
from lookup.search.follower import Follower
from lookup.search.hits import SearchHit
from lookup.search.index.budget import Budget
from lookup.search.index.search_index import SearchIndex
from lookup.search.suggesting import Suggested

_SECONDS = Histogram(
    "search_seconds",
    "A search in the index, waiting for a thread included",
    ["country", "type"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1),
)
T = TypeVar("T")

_SIZE = Gauge("index_companies", "Companies in the index", ["country"])


#: Processes that make an index, 75 MB each; a container may have fewer processors than it sees.
_BUILDERS = 2


class IndexInUse(Exception):
    """Two processes must not share an index: each applies the same changes to it."""


@dataclass(frozen=True, slots=True)
class IndexSearches:
    """`Searches` and `Suggestions` in the process' own indexes."""

    indexes: Mapping[Country, SearchIndex]
    followers: Mapping[Country, Follower]
    pool: ThreadPoolExecutor
    #: Of its own, so that whoever types never waits for slow searches.
    suggest_pool: ThreadPoolExecutor

    async def by_name(self, country: Country, name: str, limit: int = 1) -> Sequence[SearchHit]:
        index = self._answering(country)
        with _SECONDS.labels(country, "name").time():
            hits = await _bounded(self.pool, partial(index.search_names, name, limit))
        return [SearchHit(hit.key, hit.score, hit.matched_name) for hit in hits]

    async def by_address(
        self, country: Country, address: str, limit: int = 1
    ) -> Sequence[SearchHit]:
        index = self._answering(country)
        with _SECONDS.labels(country, "address").time():
            hits = await _bounded(self.pool, partial(index.search_addresses, address, limit))
        return [SearchHit(hit.key, hit.score) for hit in hits]

    async def suggest(self, country: Country, text: str, limit: int) -> Sequence[Suggested]:
        index = self._answering(country)
        with _SECONDS.labels(country, "suggest").time():
            return await _bounded(self.suggest_pool, partial(index.suggest, text, limit))

    async def health(self) -> str | None:
        """A health check: None, or a word on what is wrong."""
        building = [country for country, it in self.followers.items() if not it.can_answer]
        return f"being built: {', '.join(building)}" if building else None

    def _answering(self, country: Country) -> SearchIndex:
        if not self.followers[country].can_answer:
            raise Unavailable("the search index is still being built")
        return self.indexes[country]


async def _bounded(pool: ThreadPoolExecutor, search: Callable[[Budget], T]) -> T:
    """Search in a thread; the thread stops soon after the caller is cancelled."""
    budget = Budget()
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, search, budget)
    finally:
        budget.abandon()


@asynccontextmanager
async def followed_indexes(  # noqa: PLR0913 (what an index needs to live)
    register: Database,
    countries: Sequence[Country],
    *,
    folder: Path,
    threads: int,
    interval: timedelta,
    random: Random,
) -> AsyncIterator[IndexSearches]:
    """The countries' indexes, opened from their saved copies and followed while the body runs."""
    async with AsyncExitStack() as stack:
        builders = await stack.enter_async_context(workers(min(processors(), _BUILDERS)))
        pool, suggest_pool = (
            stack.enter_context(ThreadPoolExecutor(threads, thread_name_prefix=what))
            for what in ("search", "suggest")
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
