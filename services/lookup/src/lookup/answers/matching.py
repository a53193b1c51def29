"""Records of customers: the index finds companies that they may be, and evidence weighs them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.match import MatchReply, MatchRequest, WeighedRecord
from lookup.answers.rendering import removed
from lookup.search.match.evidence import Known
from lookup.search.match.record import ReadRecord, read_record
from lookup.search.match.weighing import CandidateCompany
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister

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
        weighed = await asyncio.gather(
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
        return MatchReply(
            records=tuple(
                _failed(removed(gone[key])) if key in gone else answer
                for key, answer in zip(given, weighed, strict=True)
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
            CandidateCompany(rows[key].core, Known(key in of_phone, key == of_unit))
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


def _failed(failure: Failure) -> WeighedRecord:
    """Returns the answer to a record that a failure prevents."""
    return WeighedRecord(failure=failure.code, detail=failure.detail, removed_on=failure.removed_on)
