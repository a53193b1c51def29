"""Reads of companies by number, phone, unit and identifier or in order, and of their sources."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pymongo.read_concern import ReadConcern

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.lookup import RegisterSource, SourcesReply, SourcesRequest
from common.domain.countries import day_of
from common.mongo import Database, Reads, translated_errors
from register_store.accounts import StoredAccounts
from register_store.documents import (
    BEGINNING,
    COMPANIES,
    CURSORS,
    LOADS,
    OWNED_FIELDS,
    PARTICIPANTS,
    ROW_FIELDS,
    TOMBSTONES,
    UNITS,
    CompanyRow,
    row_of,
)
from register_store.history import StoredHistory
from register_store.lists import StoredEntries, StoredUnits

#: Maximum units of a phone number that are considered; switchboards and accountants share theirs.
_MAX_UNITS_OF_A_PHONE = 200

#: Maximum companies of a phone number that are counted.
MAX_COMPANIES_OF_A_PHONE = 1000


class StoredRegister:
    """The registers in MongoDB."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._companies = reads[COMPANIES]
        self._units = reads[UNITS]
        self._participants = reads[PARTICIPANTS]
        self._tombstones = reads[TOMBSTONES]
        self.units = StoredUnits(reads)
        self.entries = StoredEntries(reads)
        self.history = StoredHistory(reads)
        self.accounts = StoredAccounts(reads)

    async def check(self) -> None:
        """Raises Unavailable if the members that reads go to do not answer."""
        await self._reads.ping()

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        """Returns the stored companies among `keys`, in one read."""
        return await self._rows(keys, ROW_FIELDS)

    async def owned(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        """Returns the stored companies among `keys` with their owners, and without roles."""
        return await self._rows(keys, OWNED_FIELDS)

    async def _rows(
        self, keys: Collection[CompanyKey], fields: Mapping[str, int]
    ) -> Mapping[CompanyKey, CompanyRow]:
        # A lone key without `$in`, which MongoDB would plan: a fifth less for both sides.
        wanted = {"$in": list(keys)} if len(keys) > 1 else next(iter(keys), None)
        found = await self._companies.find(
            {"_id": wanted}, fields, limit=len(keys), batch_size=len(keys) + 1
        )
        return {
            CompanyKey.parse(document["_id"]): row_of(document)
            for document in found
            if document["core"] is not None
        }

    async def known(self, keys: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the keys among `keys` whose company is stored."""
        # Before a company's own record there may be one of its owners or units alone.
        wanted = {"_id": {"$in": list(keys)}, "core": {"$ne": None}}
        found = await self._companies.find(wanted, {"_id": 1}, batch_size=len(keys) + 1)
        return {CompanyKey.parse(document["_id"]) for document in found}

    async def removed(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, str]:
        """Returns the day on which each was removed by order of its register, if it was."""
        # The number of a removed unit is no company's.
        found = await self._tombstones.find(
            {"_id": {"$in": list(keys)}, "is_unit": {"$ne": True}}, {"removed_at": 1}
        )
        return {
            CompanyKey.parse(stone["_id"]): day_of(stone["removed_at"]).isoformat()
            for stone in found
        }

    async def companies_of_units(self, units: Collection[UnitKey]) -> Mapping[UnitKey, CompanyKey]:
        """Returns the company of each stored or listed unit."""
        stored = await self._units.find({"_id": {"$in": list(units)}}, {"company": 1})
        companies = {unit["_id"]: unit["company"] for unit in stored}
        # Danish companies list their units, which may not be stored themselves.
        missing = [unit for unit in units if unit not in companies]
        if missing:
            # No register has withdrawn them; companies may still list those.
            stones = await self._tombstones.find({"_id": {"$in": missing}}, {"_id": 1})
            missing = list(set(missing).difference(stone["_id"] for stone in stones))
        listing = (
            await self._companies.find({"units": {"$in": missing}}, {"units": 1}) if missing else []
        )
        listed = {unit: company["_id"] for company in listing for unit in company["units"]}
        companies |= {unit: listed[unit] for unit in missing if unit in listed}
        return {
            UnitKey.parse(unit): CompanyKey.parse(company)
            for unit, company in companies.items()
            if company is not None
        }

    async def holders(self, identifiers: Collection[str]) -> Mapping[str, CompanyKey | UnitKey]:
        """Returns the holders of registered e-invoicing identifiers that have one."""
        found = await self._participants.find(
            {"_id": {"$in": list(identifiers)}, "holder": {"$ne": None}}, {"holder": 1}
        )
        return {document["_id"]: CompanyKey.parse(document["holder"]) for document in found}

    async def companies_of_phones(
        self, country: Country, phones: Collection[str], limit: int = MAX_COMPANIES_OF_A_PHONE
    ) -> Mapping[str, Sequence[CompanyKey]]:
        """Returns at most `limit` companies of each number, best first.

        Companies with the number itself precede those with a unit that has it.
        """
        answers = await asyncio.gather(*(self._of_phone(f"{country}:{p}", limit) for p in phones))
        return dict(zip(phones, answers, strict=True))

    async def _of_phone(self, phone: str, limit: int) -> list[CompanyKey]:
        own, units = await asyncio.gather(
            self._best({"phones": phone}, limit),
            self._units.find({"phones": phone}, {"company": 1}, limit=_MAX_UNITS_OF_A_PHONE),
        )
        others = {unit["company"] for unit in units}.difference(own)
        if not others or len(own) == limit:
            return own
        return own + await self._best({"_id": {"$in": list(others)}}, limit - len(own))

    async def _best(self, condition: dict[str, object], limit: int) -> list[CompanyKey]:
        found = await self._companies.find(
            {**condition, "core": {"$ne": None}}, {"_id": 1}, sort=[("rank", 1)], limit=limit
        )
        return [CompanyKey.parse(document["_id"]) for document in found]


#: Companies that are read and decoded at once, in a tenth of a millisecond, which lookups wait for.
#: With 250, a copy takes a third less time, and concurrent lookups have 3.6 times their p99.
_BATCH = 50

Rows = Sequence[tuple[CompanyKey, CompanyRow]]


class StoredCopies:
    """Reads of companies for a copy; all may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        # A failover must not roll back what a reader has copied.
        self._companies = database.get_collection(COMPANIES, read_concern=ReadConcern("majority"))

    def following(self, country: Country, after: str, limit: int) -> AsyncIterator[Rows]:
        """Yields the companies that follow a number, in order, in small batches."""
        # ";" follows ":"
        return self._read({"$gt": f"{country}:{after}", "$lt": f"{country};"}, limit)

    def numbered(self, country: Country, numbers: Iterable[str]) -> AsyncIterator[Rows]:
        """Yields the companies that have one of these numbers, in order, in small batches."""
        keys = [CompanyKey(country, number) for number in numbers]
        return self._read({"$in": keys}, len(keys))

    async def _read(self, ids: dict[str, Any], limit: int) -> AsyncIterator[Rows]:
        query = {"_id": ids, "core": {"$ne": None}}
        order = [("_id", 1)]
        with translated_errors():
            async with self._companies.find(
                query, ROW_FIELDS, sort=order, limit=limit, batch_size=_BATCH
            ) as cursor:
                while documents := await cursor.to_list(_BATCH):
                    yield [(CompanyKey.parse(each["_id"]), row_of(each)) for each in documents]


@dataclass(frozen=True, slots=True)
class StoredSources:
    """The sources, as ingest has loaded and read them. Every method may raise `Unavailable`."""

    reads: Reads

    async def __call__(self, requests: Sequence[SourcesRequest]) -> list[SourcesReply]:
        """Returns how fresh each source is, by name, with one read for all requests."""
        cursors = await self.reads[CURSORS].find({}, {"until": 1})
        loads = await self.reads[LOADS].find({"state": "loaded"}, {"finished_at": 1})
        until: dict[str, datetime] = {each["_id"]: each["until"] for each in cursors}
        loaded: dict[str, datetime] = {each["_id"]: each["finished_at"] for each in loads}
        sources = tuple(
            RegisterSource(
                source=name,
                # A first load that goes on has read nothing up to a time.
                current_until=None if until.get(name) == BEGINNING else until.get(name),
                loaded_at=loaded.get(name),
            )
            for name in sorted({*until, *loaded})
        )
        return [SourcesReply(sources=sources)] * len(requests)
