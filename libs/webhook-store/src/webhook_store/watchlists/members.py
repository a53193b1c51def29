"""The companies of watchlists, one document for each company in each list.

Each write is of at most `BATCH` documents, well within the timeout of an operation.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from common.contracts.company import CompanyKey
from common.contracts.watchlists import WatchedCompanies, WatchedQuery, WatchlistId
from common.mongo import Database, translated_errors
from webhook_store.duplicates import insert_new
from webhook_store.watchlists.documents import (
    MEMBERS,
    Document,
    company_of,
    ids_of,
    member_id,
    parts_of,
)

T = TypeVar("T")

#: Documents of one write, and companies of one read.
BATCH = 1000

_ID = {"_id": 1}


class Members:
    """The companies in lists. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._members = database[MEMBERS]

    async def lists_of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, tuple[WatchlistId, ...]]:
        """Returns the lists of any owner that have a company, of each company in one."""
        lists: defaultdict[CompanyKey, list[WatchlistId]] = defaultdict(list)
        if not companies:
            return {}
        with translated_errors():
            cursor = self._members.find({"_id": ids_of(companies)}, _ID, batch_size=10 * BATCH)
            for member in await cursor.to_list(None):
                company, watchlist_id = parts_of(member["_id"])
                lists[company].append(watchlist_id)
        return {company: tuple(found) for company, found in lists.items()}

    async def page(self, watchlist_id: str, query: WatchedQuery) -> WatchedCompanies:
        """Returns a page of a list's companies, in the order of their keys."""
        found = await self._read(watchlist_id, after=query.after, limit=query.limit + 1)
        page = found[: query.limit]
        cursor = page[-1] if len(found) > query.limit else None
        return WatchedCompanies(companies=tuple(page), cursor=cursor)

    async def all(self, watchlist_id: str) -> set[CompanyKey]:
        """Returns all companies of a list."""
        companies: set[CompanyKey] = set()
        last: CompanyKey | None = None
        while True:
            page = await self._read(watchlist_id, after=last, limit=20 * BATCH)
            companies.update(page)
            if len(page) < 20 * BATCH:
                return companies
            last = page[-1]

    async def present(
        self, watchlist_ids: Sequence[str], companies: Collection[CompanyKey]
    ) -> set[CompanyKey]:
        """Returns the companies that one of the lists has."""
        found: set[CompanyKey] = set()
        for part in _parts(companies):
            ids = [member_id(company, one) for company in part for one in watchlist_ids]
            with translated_errors():
                members = await self._members.find(
                    {"_id": {"$in": ids}}, _ID, batch_size=len(ids) + 1
                ).to_list(None)
            found.update(company_of(member["_id"]) for member in members)
        return found

    async def count(self, watchlist_id: str) -> int:
        """Returns the number of companies of a list."""
        with translated_errors():
            return await self._members.count_documents({"list": watchlist_id}, hint="list")

    async def add(self, watchlist_id: str, companies: Collection[CompanyKey]) -> None:
        """Adds companies that the list does not have yet."""
        for part in _parts(companies):
            documents: list[Document] = [
                {"_id": member_id(company, watchlist_id), "list": watchlist_id} for company in part
            ]
            await insert_new(self._members, documents)

    async def remove(self, watchlist_id: str, companies: Collection[CompanyKey]) -> None:
        """Removes companies."""
        for part in _parts(companies):
            ids = [member_id(company, watchlist_id) for company in part]
            with translated_errors():
                await self._members.delete_many({"_id": {"$in": ids}})

    async def remove_some(self, watchlist_id: str) -> int:
        """Removes a batch of a list's companies; returns their number, 0 when none is left."""
        found = await self._read(watchlist_id, after=None, limit=BATCH)
        await self.remove(watchlist_id, found)
        return len(found)

    async def _read(
        self, watchlist_id: str, *, after: CompanyKey | None, limit: int
    ) -> list[CompanyKey]:
        query: Document = {"list": watchlist_id}
        if after is not None:
            query["_id"] = {"$gt": member_id(after, watchlist_id)}
        with translated_errors():
            found = await self._members.find(
                query, _ID, sort=[("_id", 1)], limit=limit, batch_size=limit + 1, hint="list"
            ).to_list(None)
        return [company_of(member["_id"]) for member in found]


def _parts(companies: Collection[T]) -> Iterator[list[T]]:
    remaining = iter(companies)
    while part := list(islice(remaining, BATCH)):
        yield part
