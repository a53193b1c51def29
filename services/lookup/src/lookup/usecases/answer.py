"""Answering lookups: a list of requests is answered with as few reads as one of them would take."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from common.contracts.company import CompanyKey, Country, Include, UnitKey, company_key, unit_key
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.domain.numbers import InvalidIdentifier
from common.domain.participants import parse_participant
from lookup.domain.answers import Extras, Found, answer
from lookup.ports import CompanyRow, Register, Searches, SearchHit

NOT_FOUND = Failure(code=FailureCode.COMPANY_NOT_FOUND, detail="no company in the register matches")

_EXACT = 100.0
_NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class AnswerLookups:
    register: Register
    searches: Searches

    async def __call__(self, requests: Sequence[LookupRequest]) -> list[LookupReply | Failure]:
        """One result per request, in order; raises `Outage` when the database is away."""
        found = await self._find_all(requests)
        extras = await self._extras(requests, found)
        return [
            NOT_FOUND if one is None else answer(one, request.include, extra)
            for request, one, extra in zip(requests, found, extras, strict=True)
        ]

    async def _find_all(self, requests: Sequence[LookupRequest]) -> list[Found | None]:
        found: list[Found | None] = [None] * len(requests)
        for turn in range(max(len(request.questions) for request in requests)):
            open_ones = {
                number: (request.country, request.questions[turn])
                for number, request in enumerate(requests)
                if found[number] is None and turn < len(request.questions)
            }
            hits = await self._hits(list(open_ones.values()))
            rows = await self._rows(hit.key for hit in hits if hit is not None)
            for (number, (country, question)), hit in zip(open_ones.items(), hits, strict=True):
                if hit is not None and hit.key in rows:
                    found[number] = _found(country, question.type, hit, rows[hit.key])
        return found

    async def _rows(self, keys: Iterable[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        wanted = set(keys)
        return await self.register.companies(wanted) if wanted else {}

    async def _hits(self, asked: Sequence[tuple[Country, Question]]) -> list[SearchHit | None]:
        by_type: defaultdict[tuple[Country, SearchType], list[str]] = defaultdict(list)
        for country, question in asked:
            by_type[country, question.type].append(question.term)
        groups = list(by_type)
        answers = await asyncio.gather(
            *(self._keys(country, kind, by_type[country, kind]) for country, kind in groups)
        )
        hits = dict(zip(groups, answers, strict=True))
        return [hits[country, question.type].get(question.term) for country, question in asked]

    async def _keys(
        self, country: Country, kind: SearchType, terms: Sequence[str]
    ) -> Mapping[str, SearchHit]:
        match kind:
            case SearchType.VAT:
                return {term: SearchHit(company_key(country, term), _EXACT) for term in terms}
            case SearchType.PRODU:
                return _exact(await self._by_unit(country, terms))
            case SearchType.PHONE:
                return _exact(await self.register.companies_of_phones(country, set(terms)))
            case SearchType.EAN:
                return _exact(await self._by_identifier(country, terms))
            case SearchType.NAME | SearchType.ADDRESS:
                return await self._searched(country, kind, terms)

    async def _by_unit(self, country: Country, numbers: Sequence[str]) -> Mapping[str, CompanyKey]:
        units = {unit_key(country, number): number for number in numbers}
        companies = await self.register.companies_of_units(units)
        return {units[unit]: company for unit, company in companies.items()}

    async def _by_identifier(
        self, country: Country, identifiers: Sequence[str]
    ) -> Mapping[str, CompanyKey]:
        """A registered identifier's holder, else the number that the identifier itself is."""
        listed = await self.register.holders(identifiers)
        holders: dict[str, CompanyKey | UnitKey] = {}
        for identifier in identifiers:
            holder = listed.get(identifier) or _named_by(identifier)
            if holder is not None:
                holders[identifier] = holder
        of_units = await self.register.companies_of_units({UnitKey(h) for h in holders.values()})
        companies = {
            # A holder that is not a unit is a company; one that is neither is found by nothing.
            identifier: of_units.get(UnitKey(holder), CompanyKey(holder))
            for identifier, holder in holders.items()
        }
        return {
            identifier: key
            for identifier, key in companies.items()
            if key.startswith(f"{country}:")
        }

    async def _searched(
        self, country: Country, kind: SearchType, terms: Sequence[str]
    ) -> Mapping[str, SearchHit]:
        search = self._by_name if kind is SearchType.NAME else self.searches.by_address
        different = list(dict.fromkeys(terms))
        hits = await asyncio.gather(*(search(country, term) for term in different))
        return {term: hit for term, hit in zip(different, hits, strict=True) if hit is not None}

    async def _by_name(self, country: Country, name: str) -> SearchHit | None:
        return next(iter(await self.searches.by_name(country, name)), None)

    async def _extras(
        self, requests: Sequence[LookupRequest], found: Sequence[Found | None]
    ) -> list[Extras]:
        if not any(request.include for request in requests):
            return [_NO_EXTRAS] * len(requests)

        def asking(*parts: Include) -> set[CompanyKey]:
            return {
                _key(one)
                for request, one in zip(requests, found, strict=True)
                if one is not None and not set(parts).isdisjoint(request.include)
            }

        # An identifier may be registered for a unit, so e-invoicing asks for the units too.
        with_units = asking(Include.PRODUCTION_UNITS, Include.EINVOICING)
        with_einvoicing = asking(Include.EINVOICING)
        units = await self.register.units_of(with_units) if with_units else {}
        holders: list[CompanyKey | UnitKey] = [*with_einvoicing]
        holders += [unit for company in with_einvoicing for unit, _ in units.get(company, ())]
        entries = await self.register.einvoicing_of(holders) if holders else {}
        return [
            _NO_EXTRAS if one is None else _extras_of(_key(one), units, entries) for one in found
        ]


def _named_by(identifier: str) -> CompanyKey | UnitKey | None:
    """The company or unit whose number the identifier itself is."""
    try:
        return parse_participant(identifier).holder
    except InvalidIdentifier:
        return None


def _extras_of(
    company: CompanyKey,
    units: Mapping[CompanyKey, Sequence[tuple[UnitKey, bytes]]],
    entries: Mapping[CompanyKey | UnitKey, Sequence[tuple[str, bytes]]],
) -> Extras:
    """Identifiers come as events list them: its own, then those of all its units together."""
    of_company = units.get(company, ())
    own = sorted(entries.get(company, ()))
    of_units = sorted(entry for unit, _ in of_company for entry in entries.get(unit, ()))
    return Extras(
        units=[core for _, core in of_company],
        einvoicing=[entry for _, entry in (*own, *of_units)],
    )


def _exact(keys: Mapping[str, CompanyKey]) -> Mapping[str, SearchHit]:
    return {term: SearchHit(key, _EXACT) for term, key in keys.items()}


def _found(country: Country, kind: SearchType, hit: SearchHit, row: CompanyRow) -> Found:
    return Found(
        country=country,
        vat=hit.key.partition(":")[2],
        revision=row.revision,
        core=row.core,
        owners=row.owners,
        updated_at=row.updated_at,
        type=kind,
        score=hit.score,
    )


def _key(found: Found) -> CompanyKey:
    return company_key(found.country, found.vat)
