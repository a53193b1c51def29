"""Searches by name and address: one index per country, in threads of their own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import TypeVar

from prometheus_client import Gauge

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.contracts.find import FindRequest
from common.mongo import Database
from common.runtime.tasks import background
from lookup.search.find.pages import FindPage
from lookup.search.folding import cut
from lookup.search.follower import Follower
from lookup.search.index.addresses import search_addresses
from lookup.search.index.candidates import match_candidates, search_contacts
from lookup.search.index.names import many_share, search_names
from lookup.search.index.schema import View
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed_company import SearchHit, SuggestionPage, company_key
from lookup.search.match import CandidateCompany, ReadRecord, Weighed, weighed
from lookup.search.scheduling import Budget, SearchThreads, search_threads

_SIZE = Gauge("search_index_companies", "Companies in the index", ["country"])
T = TypeVar("T")


class IndexInUse(Exception):
    """Another process uses the index; only one may open it."""


@dataclass
class IndexSearches:
    """Searches by name and address, and suggestions, in the indexes of this process."""

    indexes: Mapping[Country, SearchIndex]
    followers: Mapping[Country, Follower]
    threads: SearchThreads
    #: Separate threads, so that suggestions never wait for slow searches.
    suggest_threads: SearchThreads

    @property
    def countries(self) -> Collection[Country]:
        """The countries whose registers this process searches."""
        return self.indexes.keys()

    async def by_name(
        self, country: Country, name: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        """Returns at most `limit` companies, best first, each once.

        Companies of which only a figure in the name differs may follow, see `SearchHit.is_other`.
        Searches in a thread; raises `Unavailable` until the index is built, and TimeoutError for a
        search that takes too long.
        """
        return await self._search(
            country, "name", lambda view: search_names(view, cut(name), limit), client
        )

    async def many_share(self, country: Country, name: str, *, client: str = "") -> bool:
        """Returns True if the words are too common to find one company, and several have all."""
        return await self._search(country, "name", lambda view: many_share(view, cut(name)), client)

    async def by_address(
        self, country: Country, address: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        """Returns at most `limit` companies at the address; see `by_name`."""
        return await self._search(
            country, "address", lambda view: search_addresses(view, cut(address), limit), client
        )

    async def by_contact(
        self, country: Country, contact: str, limit: int = 1, *, client: str = ""
    ) -> Sequence[SearchHit]:
        """Returns at most `limit` companies with an e-mail address or a domain; see `by_name`."""
        return await self._search(
            country, "contact", lambda view: search_contacts(view, contact, limit), client
        )

    async def suggest(
        self, country: Country, text: str, limit: int, after: str | None = None, *, client: str = ""
    ) -> SuggestionPage:
        """Returns at most `limit` companies, or those after a page's cursor; see `by_name`.

        Searches in threads that only suggestions use.
        """
        search = partial(self._answering(country).suggest, text, limit, after=after)
        return await self.suggest_threads.run(country, "suggest", search, client=client)

    async def find(self, request: FindRequest) -> FindPage:
        """Searches in a thread; raises as `by_name` does."""
        search = partial(self._answering(request.country).find, request)
        return await self.threads.run(request.country, "find", search, client=request.client)

    async def owned_companies(
        self, country: Country, owners: Collection[CompanyKey], limit: int, *, client: str = ""
    ) -> list[CompanyKey]:
        """Returns the companies that some of these own, the lowest numbers first; see `by_name`.

        Of companies of the other register: the records that they have in this one.
        """
        numbers = {int(owner.vat) for owner in owners}
        search = partial(self._answering(country).owned, numbers, limit)
        found = await self.threads.run(country, "find", search, client=client)
        return [company_key(country, number) for number in found]

    async def apart(
        self, country: Country, kind: str, work: Callable[[Budget], T], *, client: str = ""
    ) -> T:
        """Runs other work of a request in the threads and the turns of searches."""
        return await self.threads.run(country, kind, work, client=client)

    async def having(
        self, country: Country, field: str, values: Collection[str], *, client: str = ""
    ) -> Mapping[str, CompanyKey]:
        """Returns for each of these values of a field a company that has it; see `by_name`."""
        search = partial(self._answering(country).having, field, values)
        numbers = await self.threads.run(country, "find", search, client=client)
        return {value: company_key(country, number) for value, number in numbers.items()}

    async def match_candidates(
        self, country: Country, record: ReadRecord, *, client: str = ""
    ) -> list[CompanyKey]:
        """Returns the companies that a record may be, each once, in no order; see `by_name`."""
        return await self._search(
            country, "match", lambda view: match_candidates(view, record), client
        )

    async def weighed(
        self,
        country: Country,
        record: ReadRecord,
        companies: Sequence[CandidateCompany],
        *,
        client: str = "",
    ) -> Weighed:
        """Returns the companies that a record may be; see `by_name`.

        Before the client's searches for other records: those that it began with end first, and not
        all at once, which may be too late.
        """
        return await self._search(
            country,
            "match",
            lambda view: weighed(record, companies, view.weigh),
            client,
            first=True,
        )

    async def find_numbers(self, request: FindRequest, *, after: int, limit: int) -> Sequence[int]:
        """Returns the next numbers, in order, of the companies that fit; see `find`.

        Raises `Unavailable` also while the index is behind; see `Follower.check_lag`.
        """
        index = self._answering(request.country)
        self.followers[request.country].check_lag()
        search = partial(index.find_numbers, request, after=after, limit=limit)
        return await self.threads.run(request.country, "export", search, client=request.client)

    async def check(self, country: Country) -> None:
        """Raises `Unavailable` until the country's index is built."""
        self._answering(country)

    async def _search(
        self,
        country: Country,
        search_type: str,
        search: Callable[[View], T],
        client: str,
        *,
        first: bool = False,
    ) -> T:
        index = self._answering(country)
        return await self.threads.run(
            country,
            search_type,
            lambda budget: search(index.view(budget)),
            client=client,
            first=first,
        )

    def _answering(self, country: Country) -> SearchIndex:
        if not self.followers[country].can_answer:
            raise Unavailable("the search index is being built")
        return self.indexes[country]


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
        searching, suggesting = (
            stack.enter_context(search_threads(threads, name)) for name in ("search", "suggest")
        )
        building = asyncio.Lock()
        indexes: dict[Country, SearchIndex] = {}
        followers: dict[Country, Follower] = {}
        for country in countries:
            index = await asyncio.to_thread(_opened, folder, country)
            stack.callback(index.close)
            _SIZE.labels(country).set_function(partial(attrgetter("size.companies"), index))
            follower = Follower(
                register,
                index,
                country,
                interval=interval.total_seconds(),
                random=random,
                building=building,
            )
            await stack.enter_async_context(background(follower.run()))
            indexes[country], followers[country] = index, follower
        yield IndexSearches(indexes, followers, searching, suggesting)


def _opened(folder: Path, country: Country) -> SearchIndex:
    try:
        return SearchIndex.open(folder, country)
    except BlockingIOError:
        raise IndexInUse(f"the index folder {folder} is used by another process") from None
