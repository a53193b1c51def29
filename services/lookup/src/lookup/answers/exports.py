"""Pages of a copy: companies in the order of their numbers, none older than the first page."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.contracts.company import CompanyKey
from common.contracts.export import ExportPage, ExportRequest
from common.contracts.find import FindRequest
from common.domain.countries import FORMATS
from common.mongo import Database
from lookup.answers.parts import NO_EXTRAS, OF_UNITS, read_units
from lookup.answers.rendering import Candidate, Extras, line
from lookup.events.feed import StoredFeed
from lookup.search.results import SearchHit
from lookup.search.scheduling import Turns
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.exports import CausalReads, Rows, causal_reads
from lookup.store.reads import StoredRegister

#: The type of a match in a copy, where a lookup has its search type.
_MATCH = "export"
#: Bytes of a page; it may exceed this by a batch of companies.
MAX_BYTES = 1024 * 1024
#: Companies of a page with units or e-invoicing, each of which takes reads of its own, and the
#: number of these that are read at once.
_WITH_UNITS = 100
_AT_ONCE = 10
#: Companies that are rendered between lookups, in less than a tenth of a millisecond: a lookup
#: needs several turns of the event loop, and may wait for a slice in each.
_AT_A_TIME = 5


@dataclass(frozen=True, slots=True)
class AnswerExports:
    """Answers requests for pages of a copy, one at a time for each client."""

    database: Database
    feed: StoredFeed
    searches: IndexSearches
    #: For units and e-invoicing.
    register: StoredRegister
    turns: Turns = field(default_factory=lambda: Turns(of_one=1))

    async def __call__(self, requests: Sequence[ExportRequest]) -> list[ExportPage]:
        """Returns one page per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._in_turn, requests))

    async def _in_turn(self, request: ExportRequest) -> ExportPage:
        async with (
            self.turns.taken(request.client),
            causal_reads(self.database, request.state) as reads,
        ):
            if request.state:
                return await self._page(request, reads)
            # Before the first row: a change that is in no row is an event after the position.
            position = await self.feed.position(reads.session)
            begun = request.model_copy(update={"state": reads.state})
            page = await self._page(begun, reads)
            return page.model_copy(update={"position": position, "state": begun.state})

    async def _page(self, request: ExportRequest, reads: CausalReads) -> ExportPage:
        limit = request.limit if OF_UNITS.isdisjoint(request.include) else _WITH_UNITS
        if request.filter is None:
            batches = reads.following(request.country, request.after, limit)
            numbers: Sequence[str] = ()
        else:
            numbers = await self._numbers(request, request.filter, reads, limit)
            batches = reads.numbered(request.country, numbers)
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
        return ExportPage(lines=b"".join(lines), count=len(lines), last=last if has_more else None)

    async def _numbers(
        self, request: ExportRequest, filters: FindRequest, reads: CausalReads, limit: int
    ) -> Sequence[str]:
        """Returns the next numbers that fit, from an index as new as the first page's."""
        seen = (time.monotonic() - request.age, reads.time)
        wanted = filters.model_copy(update={"client": request.client})
        after = int(request.after or 0)
        numbers = await self.searches.find_numbers(wanted, seen, after=after, limit=limit)
        digits = FORMATS[request.country].vat_digits
        return [f"{number:0{digits}d}" for number in numbers]

    async def _companies(self, request: ExportRequest, rows: Rows) -> list[bytes]:
        if OF_UNITS.isdisjoint(request.include):
            lines: list[bytes] = []
            for start in range(0, len(rows), _AT_A_TIME):
                some = rows[start : start + _AT_A_TIME]
                lines += [_line(request, key, row, NO_EXTRAS) for key, row in some]
                await asyncio.sleep(0)
            return lines
        room = asyncio.Semaphore(_AT_ONCE)

        async def with_units(key: CompanyKey, row: CompanyRow) -> bytes:
            async with room:
                extras = await read_units(self.register, key, row.core, request.include)
            return _line(request, key, row, extras)

        return await asyncio.gather(*(with_units(*each) for each in rows))


def _line(request: ExportRequest, key: CompanyKey, row: CompanyRow, extras: Extras) -> bytes:
    found = Candidate(_MATCH, SearchHit(key, 100.0), row)
    return line(found, request.include, extras)
