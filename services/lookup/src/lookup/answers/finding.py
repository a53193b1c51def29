"""Companies by filters, from index and store, and checks of numbers for watchlists."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import orjson

from common.contracts.company import CompanyKey, Country
from common.contracts.find import (
    CodeText,
    Facet,
    FindPosition,
    FindReply,
    FindRequest,
    FoundCompany,
)
from common.contracts.watchlists import KnownReply, KnownRequest
from common.domain.countries import FORMATS
from lookup.answers.rendering import Candidate, Extras, answer
from lookup.search.hits import SearchHit
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister

#: Fields of which companies have a code and its text.
_CODED = (Facet.INDUSTRY, Facet.FORM)
#: The type of a match in a list, where a lookup has its search type.
_MATCH = "find"


@dataclass(frozen=True, slots=True)
class AnswerFinds:
    """Answers batches of requests for companies that fit filters."""

    finds: IndexSearches
    register: StoredRegister
    #: The texts of codes by country and field, each read once from a company that has it.
    _texts: defaultdict[tuple[Country, Facet], dict[str, CodeText]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    async def __call__(self, requests: Sequence[FindRequest]) -> list[FindReply]:
        """Returns one reply per request, in order; raises `Unavailable`."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, request: FindRequest) -> FindReply:
        found = await self.finds.find(request)
        keys = {key_of(position): position for position in found.positions}
        rows = await self.register.companies(keys) if keys else {}
        return FindReply(
            companies=tuple(
                FoundCompany(position=position, body=_body(key, rows.get(key)))
                for key, position in keys.items()
            ),
            total=found.total,
            has_more=found.has_more,
            facets=found.facets,
            texts={
                facet.value: await self._texts_of(request, facet, found.facets[facet].keys())
                for facet in request.facets
                if facet in _CODED
            },
        )

    async def _texts_of(
        self, request: FindRequest, facet: Facet, codes: Set[str]
    ) -> Mapping[str, CodeText]:
        known = self._texts[request.country, facet]
        if new := codes - known.keys():
            having = await self.finds.having(
                request.country, facet.value, new, client=request.client
            )
            rows = await self.register.companies(having.values()) if having else {}
            known |= {code: _text(rows[key], facet) for code, key in having.items() if key in rows}
        return {code: known[code] for code in codes if code in known}


def _text(row: CompanyRow, facet: Facet) -> CodeText:
    coded = orjson.loads(row.core).get(facet.value) or {}
    return CodeText(text=coded.get("description"), short=coded.get("short"))


def _body(key: CompanyKey, row: CompanyRow | None) -> bytes:
    """Returns a company's JSON; empty if it was just removed and is still in the index."""
    if row is None:
        return b""
    return answer(Candidate(_MATCH, SearchHit(key, 100.0), row), (), Extras()).body


def key_of(position: FindPosition) -> CompanyKey:
    """Returns the company at a place in a list."""
    digits = FORMATS[position.country].vat_digits
    return CompanyKey(position.country, f"{position.number:0{digits}d}")


@dataclass(frozen=True, slots=True)
class AnswerKnown:
    """Answers requests for the numbers that the register lacks."""

    register: StoredRegister

    async def __call__(self, requests: Sequence[KnownRequest]) -> list[KnownReply]:
        """Returns one reply per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._unknown, requests))

    async def _unknown(self, request: KnownRequest) -> KnownReply:
        keys = {number: CompanyKey(request.country, number) for number in request.numbers}
        known = await self.register.known(keys.values())
        return KnownReply(unknown=tuple(number for number in keys if keys[number] not in known))
