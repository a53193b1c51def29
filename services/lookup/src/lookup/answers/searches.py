"""Answers from the search index: suggestions, companies by filters, and records of customers."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.failures import FailureCode
from common.contracts.find import (
    CodeText,
    Facet,
    FindReply,
    FindRequest,
    FoundCompany,
)
from common.contracts.lookup import SuggestReply, SuggestRequest
from common.contracts.match import MatchReply, MatchRequest, WeighedRecord
from common.contracts.watchlists import KnownReply, KnownRequest
from lookup.answers.rendering import Candidate, Extras, answer, removed, summary
from lookup.search.indexed_company import SearchHit, SuggestionPage, company_key
from lookup.search.match import CandidateCompany, NumberMatches, ReadRecord, read_record
from lookup.search.searcher import IndexSearches
from register_store.documents import CompanyRow
from register_store.reads import StoredRegister


def suggestion_list(page: SuggestionPage, rows: Mapping[CompanyKey, CompanyRow]) -> SuggestReply:
    """Returns the public response (`SuggestionList`) for a page, with the stored companies."""
    suggestions = [
        {**summary(rows[hit.key].core, hit.score), "matched_name": hit.matched_name}
        for hit in page.hits
        # A company that was just removed may still be in the index.
        if hit.key in rows
    ]
    return SuggestReply(body=orjson.dumps({"suggestions": suggestions, "cursor": page.cursor}))


@dataclass(frozen=True, slots=True)
class AnswerSuggestions:
    """Answers batches of requests for suggestions."""

    searches: IndexSearches
    register: StoredRegister

    async def __call__(self, requests: Sequence[SuggestRequest]) -> list[SuggestReply]:
        """Returns one reply per request, in order, with one read for all; raises `Unavailable`."""
        pages = await asyncio.gather(
            *(
                self.searches.suggest(
                    each.country, each.text, each.limit, each.after, client=each.client
                )
                for each in requests
            )
        )
        keys = {hit.key for page in pages for hit in page.hits}
        rows = await self.register.companies(keys) if keys else {}
        return [suggestion_list(page, rows) for page in pages]


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
        keys = {company_key(one.country, one.number): one for one in found.positions}
        rows = await self.register.companies(keys) if keys else {}
        return FindReply(
            companies=tuple(
                FoundCompany(position=position, body=_body(key, rows.get(key)))
                for key, position in keys.items()
            ),
            total=found.total,
            has_more=found.has_more,
            limited=request.numbers is not None,
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


async def check_numbers(
    register: StoredRegister, requests: Sequence[KnownRequest]
) -> list[KnownReply]:
    """Returns the numbers of each request that the register lacks; may raise `Unavailable`."""

    async def unknown(request: KnownRequest) -> KnownReply:
        keys = {number: CompanyKey(request.country, number) for number in request.numbers}
        known = await register.known(keys.values())
        return KnownReply(unknown=tuple(number for number in keys if keys[number] not in known))

    return await asyncio.gather(*map(unknown, requests))


#: Companies of a phone number that are compared.
_MAX_OF_A_PHONE = 8


class _Numbers(NamedTuple):
    """The companies of the numbers of some records."""

    phones: Mapping[str, Sequence[CompanyKey]]
    units: Mapping[UnitKey, CompanyKey]

    def of_phones(self, record: ReadRecord) -> list[CompanyKey]:
        """Returns the companies of a record's phone numbers."""
        return [key for phone in record.phones for key in self.phones.get(phone, ())]


@dataclass(frozen=True, slots=True)
class AnswerMatches:
    """Answers batches of records from the stored registers and the search index."""

    searches: IndexSearches
    register: StoredRegister

    async def __call__(self, requests: Sequence[MatchRequest]) -> list[MatchReply]:
        """Returns one reply per request, in order; raises `Unavailable`."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, request: MatchRequest) -> MatchReply:
        country, client = request.country, request.client
        records = [read_record(record, country) for record in request.records]
        numbers = await self._numbers(country, records)
        keys = await asyncio.gather(
            *(self._candidates(country, each, numbers, client) for each in records)
        )
        wanted = {key for found in keys for key in found or ()}
        rows = await self.register.companies(wanted) if wanted else {}
        answers = await asyncio.gather(
            *(
                self._weighed(request, record, found, rows, numbers)
                for record, found in zip(records, keys, strict=True)
            )
        )
        given = [
            CompanyKey(country, "" if record.is_assumed else record.number) for record in records
        ]
        missing = {key for key in given if key.number and key not in rows}
        gone = await self.register.removed(missing) if missing else {}
        failures = {key: removed(on) for key, on in gone.items()}
        return MatchReply(
            records=tuple(
                weighed
                if (failure := failures.get(key)) is None
                else WeighedRecord(
                    failure=failure.code, detail=failure.detail, removed_on=failure.removed_on
                )
                for key, weighed in zip(given, answers, strict=True)
            )
        )

    async def _numbers(self, country: Country, records: Sequence[ReadRecord]) -> _Numbers:
        phones = {phone for record in records for phone in record.phones}
        units = {UnitKey(country, record.unit) for record in records if record.unit}
        return _Numbers(
            await self.register.companies_of_phones(country, phones, _MAX_OF_A_PHONE)
            if phones
            else {},
            await self.register.companies_of_units(units) if units else {},
        )

    async def _candidates(
        self, country: Country, record: ReadRecord, numbers: _Numbers, client: str
    ) -> list[CompanyKey] | None:
        """Returns the companies that a record may be; None if their search takes too long."""
        found = numbers.of_phones(record)
        if record.number:
            found.append(CompanyKey(country, record.number))
        if unit := numbers.units.get(UnitKey(country, record.unit)):
            found.append(unit)
        try:
            return found + await self.searches.match_candidates(country, record, client=client)
        except TimeoutError:
            return None

    async def _weighed(
        self,
        request: MatchRequest,
        record: ReadRecord,
        keys: Sequence[CompanyKey] | None,
        rows: Mapping[CompanyKey, CompanyRow],
        numbers: _Numbers,
    ) -> WeighedRecord:
        if keys is None:
            return WeighedRecord(failure=FailureCode.DEADLINE_EXCEEDED)
        country = request.country
        read = WeighedRecord(
            unread=record.unread, assumed_number=record.number if record.is_assumed else None
        )
        of_phone = numbers.of_phones(record)
        of_unit = numbers.units.get(UnitKey(country, record.unit))
        companies = [
            CandidateCompany(rows[key].core, NumberMatches(key in of_phone, key == of_unit))
            for key in dict.fromkeys(keys)
            if key in rows
        ]
        if not companies:
            return read
        try:
            ranked = await self.searches.weighed(country, record, companies, client=request.client)
        except TimeoutError:
            return WeighedRecord(failure=FailureCode.DEADLINE_EXCEEDED)
        others = sum(exp(one.log_odds) for one in ranked[request.limit :])
        found = {"candidates": tuple(ranked[: request.limit]), "other_odds": others}
        return read.model_copy(update=found)
