"""Pages of a copy: companies in the order of their numbers, and where the event feed goes on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from common.contracts.company import CompanyKey
from common.contracts.failures import Failure
from common.contracts.find import ExportPage, ExportRequest, FindRequest
from lookup.answers.parts import NO_EXTRAS, READ_IN_COPIES, read_company
from lookup.answers.rendering import Candidate, Extras, line
from lookup.answers.searches import LateAccounts
from lookup.search.indexed_company import SearchHit, company_key
from lookup.search.scheduling import FairQueue
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow
from register_store.feed import StoredFeed
from register_store.reads import Rows, StoredCopies, StoredRegister

#: The type of a match in a copy, where a lookup has its search type.
_MATCH: Final = "export"
#: Bytes of a page; it may exceed this by a batch of companies.
MAX_BYTES: Final = 1024 * 1024
#: Companies of a page with units, e-invoicing or accounts, each of which takes reads of its own,
#: and the number of these that are read at once.
_WITH_PARTS, _AT_ONCE = 100, 10
#: Companies that are rendered between lookups, in less than a tenth of a millisecond: a lookup
#: needs several turns of the event loop, and may wait for a slice in each.
_AT_A_TIME: Final = 5


@dataclass(frozen=True, slots=True)
class AnswerExports:
    """Answers requests for pages of a copy, one at a time for each client."""

    copies: StoredCopies
    feed: StoredFeed
    searches: IndexSearches
    #: For units, e-invoicing and accounts.
    register: StoredRegister
    late: LateAccounts
    queue: FairQueue = field(default_factory=lambda: FairQueue(per_client=1))

    async def __call__(self, requests: Sequence[ExportRequest]) -> list[ExportPage | Failure]:
        """Returns one page per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._in_turn, requests))

    async def _in_turn(self, request: ExportRequest) -> ExportPage | Failure:
        if request.filter is not None:
            filters = await self.late(request.filter)
            if isinstance(filters, Failure):
                return filters
            request = request.model_copy(update={"filter": filters})
        async with self.queue.turn(request.client):
            position = await self.feed.copy_position()
            page = await self._page(request)
            return page.model_copy(update={"position": position})

    async def _page(self, request: ExportRequest) -> ExportPage:
        limit = request.limit if READ_IN_COPIES.isdisjoint(request.include) else _WITH_PARTS
        if request.filter is None:
            batches = self.copies.following(request.country, request.after, limit)
            numbers: Sequence[str] = ()
        else:
            numbers = await self._numbers(request, request.filter, limit)
            batches = self.copies.numbered(request.country, numbers)
        lines: list[bytes] = []
        size, last = 0, ""
        async for rows in batches:
            companies = await self._companies(request, rows)
            lines += companies
            size += sum(map(len, companies))
            last = rows[-1][0].vat
            if size > MAX_BYTES:
                break
        is_cut = size > MAX_BYTES
        if request.filter is not None and not is_cut:
            # The last may have been removed since the index was read.
            last, is_cut = (numbers[-1], len(numbers) == limit) if numbers else ("", False)
        has_more = is_cut or len(lines) == limit
        return ExportPage(
            lines=b"".join(lines),
            count=len(lines),
            last=last if has_more else None,
            limited=request.filter is not None and request.filter.numbers is not None,
        )

    async def _numbers(
        self, request: ExportRequest, filters: FindRequest, limit: int
    ) -> Sequence[str]:
        wanted = filters.model_copy(update={"client": request.client})
        after = int(request.after or 0)
        numbers = await self.searches.find_numbers(wanted, after=after, limit=limit)
        return [company_key(request.country, number).vat for number in numbers]

    async def _companies(self, request: ExportRequest, rows: Rows) -> list[bytes]:
        if READ_IN_COPIES.isdisjoint(request.include):
            lines: list[bytes] = []
            for start in range(0, len(rows), _AT_A_TIME):
                some = rows[start : start + _AT_A_TIME]
                lines += [_line(request, key, row, NO_EXTRAS) for key, row in some]
                await asyncio.sleep(0)
            return lines
        reading = asyncio.Semaphore(_AT_ONCE)

        async def with_parts(key: CompanyKey, row: CompanyRow) -> bytes:
            async with reading:
                extras = await read_company(self.register, key, row.core, request.include)
            return _line(request, key, row, extras)

        return await asyncio.gather(*(with_parts(*each) for each in rows))


def _line(request: ExportRequest, key: CompanyKey, row: CompanyRow, extras: Extras) -> bytes:
    found = Candidate(_MATCH, SearchHit(key, 100.0), row)
    return line(found, request.include, extras)
