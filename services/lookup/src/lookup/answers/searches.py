"""Answers from the search index: suggestions, companies by filters, and records of customers."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.failures import Failure, FailureCode, FieldError
from common.contracts.find import (
    Between,
    CodeText,
    Facet,
    FindReply,
    FindRequest,
    FoundCompany,
)
from common.contracts.lookup import SourcesRequest, SuggestReply, SuggestRequest
from common.contracts.match import MatchReply, MatchRequest, WeighedRecord
from common.contracts.watchlists import KnownReply, KnownRequest
from lookup.answers.rendering import Candidate, Extras, answer, removed, summary
from lookup.search.indexed_company import SearchHit, SuggestionPage, company_key
from lookup.search.match import CandidateCompany, NumberMatches, ReadRecord, read_record
from lookup.search.searcher import IndexSearches
from register_store.accounts import SOURCES
from register_store.documents import CompanyRow
from register_store.reads import StoredRegister, StoredSources


def suggestion(hit: SearchHit, row: CompanyRow) -> dict[str, Any]:
    """Returns a company as the public response (`SuggestionList`) has it."""
    company = orjson.loads(row.core)
    return {
        **summary(row.core, hit.score),
        "matched_name": hit.matched_name,
        "country": hit.key.country,
        "form": company.get("form"),
        "postal_code": (company["address"] or {}).get("postal_code"),
    }


@dataclass(frozen=True, slots=True)
class AnswerSuggestions:
    """Answers batches of requests for suggestions."""

    searches: IndexSearches
    register: StoredRegister

    async def __call__(self, requests: Sequence[SuggestRequest]) -> list[SuggestReply]:
        """Returns one reply per request, in order, with one read for all; raises `Unavailable`."""
        pages = await asyncio.gather(*map(self._page, requests))
        keys = {hit.key for page in pages for hit in page.hits}
        rows = await self.register.companies(keys) if keys else {}
        return await asyncio.gather(
            *(self._reply(*each, rows) for each in zip(requests, pages, strict=True))
        )

    async def _page(self, request: SuggestRequest) -> SuggestionPage:
        return await self.searches.suggest(
            request.country, request.text, request.limit, request.after, client=request.client
        )

    async def _reply(
        self,
        request: SuggestRequest,
        page: SuggestionPage,
        rows: Mapping[CompanyKey, CompanyRow],
    ) -> SuggestReply:
        found = _suggestions(request, page, rows)
        # Companies of another status leave room for those of the next pages.
        for _ in range(_MAX_PAGES if request.statuses else 0):
            if page.cursor is None or len(found) >= request.limit:
                break
            left = {"after": page.cursor, "limit": request.limit - len(found)}
            page = await self._page(request.model_copy(update=left))
            keys = {hit.key for hit in page.hits}
            rows = await self.register.companies(keys) if keys else {}
            found += _suggestions(request, page, rows)
        return SuggestReply(body=orjson.dumps({"suggestions": found, "cursor": page.cursor}))


#: Further pages that are read for companies of a status.
_MAX_PAGES = 20


def _suggestions(
    request: SuggestRequest, page: SuggestionPage, rows: Mapping[CompanyKey, CompanyRow]
) -> list[dict[str, Any]]:
    # A company that was just removed may still be in the index.
    found = [suggestion(hit, rows[hit.key]) for hit in page.hits if hit.key in rows]
    return [one for one in found if not request.statuses or one["status"] in request.statuses]


#: Fields of which companies have a code and its text.
_CODED = (Facet.INDUSTRY, Facet.FORM)
#: The type of a match in a list, where a lookup has its search type.
_MATCH = "find"


@dataclass(frozen=True, slots=True)
class LateAccounts:
    """Says until which days accounts were due that are late today."""

    sources: StoredSources
    now: Callable[[], datetime]

    async def __call__(self, request: FindRequest) -> FindRequest | Failure:
        """Returns the request with these days, if it is about them; may raise `Unavailable`.

        Of a register that has not given all accounts yet, accounts that are only not loaded
        would be late. Norway's own record of a company says the year of the last ones.
        """
        if request.accounts_late is None:
            return request
        if request.country is Country.DK and not await self._are_loaded(SOURCES[Country.DK]):
            return _NOT_LOADED
        today = self.now().date()
        yesterday = today - timedelta(days=1)
        due = (
            Between(last=yesterday.isoformat())
            if request.accounts_late
            else Between(first=today.isoformat())
        )
        return request.model_copy(update={"accounts_due": due})

    async def _are_loaded(self, source: str) -> bool:
        [reply] = await self.sources([SourcesRequest()])
        return any(one.source == source and one.loaded_at for one in reply.sources)


_NOT_LOADED = Failure(
    code=FailureCode.INVALID_PARAMETER,
    errors=(
        FieldError(
            parameter="accounts_late",
            message="not all accounts of the Danish register are loaded; send country=no",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class AnswerFinds:
    """Answers batches of requests for companies that fit filters."""

    finds: IndexSearches
    register: StoredRegister
    late: LateAccounts
    #: The texts of codes by country and field, each read once from a company that has it.
    _texts: defaultdict[tuple[Country, Facet], dict[str, CodeText]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    async def __call__(self, requests: Sequence[FindRequest]) -> list[FindReply | Failure]:
        """Returns one reply per request, in order; raises `Unavailable`."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, given: FindRequest) -> FindReply | Failure:
        request = await self.late(given)
        if isinstance(request, Failure):
            return request
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
            unknown=found.unknown,
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
            found = await self.searches.weighed(country, record, companies, client=request.client)
        except TimeoutError:
            return WeighedRecord(failure=FailureCode.DEADLINE_EXCEEDED)
        return read.model_copy(
            update={
                "candidates": tuple(found.ranked[: request.limit]),
                "other_odds": sum(exp(one.log_odds) for one in found.ranked[request.limit :]),
                "numbered": found.numbered,
                "named": found.named,
            }
        )
