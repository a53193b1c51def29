"""Reads for lookups: each takes a list and asks MongoDB once."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country, UnitKey
from common.mongo import Database, translated_errors
from lookup.store.documents import COMPANIES, PARTICIPANTS, TOMBSTONES, UNITS


class CompanyRow(NamedTuple):
    """What an answer is made of."""

    revision: int
    core: bytes
    #: A JSON list, or JSON's null where nothing is known of them.
    owners: bytes
    roles: bytes
    updated_at: datetime | None


#: A number that more units share than this (a switchboard, an accountant's) is answered from these.
_MOST_UNITS_OF_A_PHONE = 200

_ROW = {"revision": 1, "core": 1, "owners": 1, "roles": 1, "updated_at": 1}


class StoredRegister:
    """The register as MongoDB has it."""

    def __init__(self, database: Database) -> None:
        self._companies = database[COMPANIES]
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]
        self._tombstones = database[TOMBSTONES]

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        with translated_errors():
            found = await self._companies.find(
                {"_id": {"$in": list(keys)}}, _ROW, batch_size=len(keys) + 1
            ).to_list(None)
        return {
            document["_id"]: CompanyRow(
                document["revision"],
                document["core"],
                document["owners"] or b"null",
                document.get("roles") or b"null",
                document.get("updated_at"),
            )
            for document in found
            if document["core"] is not None
        }

    async def companies_of_units(self, units: Collection[UnitKey]) -> Mapping[UnitKey, CompanyKey]:
        with translated_errors():
            stored = await self._units.find({"_id": {"$in": list(units)}}, {"company": 1}).to_list(
                None
            )
            companies = {unit["_id"]: unit["company"] for unit in stored}
            # Danish companies list their units, some of which may not be loaded for themselves.
            missing = await self._not_removed(unit for unit in units if unit not in companies)
            listing = (
                await self._companies.find({"units": {"$in": missing}}, {"units": 1}).to_list(None)
                if missing
                else []
            )
        listed = {unit: company["_id"] for company in listing for unit in company["units"]}
        companies |= {unit: listed[unit] for unit in missing if unit in listed}
        return {unit: company for unit, company in companies.items() if company is not None}

    async def _not_removed(self, units: Iterable[UnitKey]) -> list[UnitKey]:
        """Those whose register has not ordered them removed: a company may go on listing them."""
        keys = list(units)
        if not keys:
            return []
        found = await self._tombstones.find({"_id": {"$in": keys}}, {"_id": 1}).to_list(None)
        removed = {stone["_id"] for stone in found}
        return [key for key in keys if key not in removed]

    async def holders(self, identifiers: Collection[str]) -> Mapping[str, CompanyKey | UnitKey]:
        with translated_errors():
            found = await self._participants.find(
                {"_id": {"$in": list(identifiers)}, "holder": {"$ne": None}}, {"holder": 1}
            ).to_list(None)
        return {document["_id"]: document["holder"] for document in found}

    async def companies_of_phones(
        self, country: Country, phones: Collection[str], limit: int = 1
    ) -> Mapping[str, Sequence[CompanyKey]]:
        answers = await asyncio.gather(*(self._of_phone(f"{country}:{p}", limit) for p in phones))
        return dict(zip(phones, answers, strict=True))

    async def _of_phone(self, phone: str, limit: int) -> list[CompanyKey]:
        with translated_errors():
            own = await self._best({"phones": phone}, limit)
            if len(own) == limit:
                return own
            units = await self._units.find(
                {"phones": phone}, {"company": 1}, limit=_MOST_UNITS_OF_A_PHONE
            ).to_list(None)
            others = {unit["company"] for unit in units}.difference(own)
            if not others:
                return own
            return own + await self._best({"_id": {"$in": list(others)}}, limit - len(own))

    async def _best(self, condition: dict[str, object], limit: int) -> list[CompanyKey]:
        found = await self._companies.find(
            {**condition, "core": {"$ne": None}}, {"_id": 1}, sort=[("rank", 1)], limit=limit
        ).to_list(None)
        return [document["_id"] for document in found]

    async def units_of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[tuple[UnitKey, bytes | None]]]:
        keys = list(companies)
        with translated_errors():
            # A limit would hold for all of them together and cut off whichever came last.
            found, listing = await asyncio.gather(
                self._units.find({"company": {"$in": keys}}, {"company": 1, "core": 1}).to_list(
                    None
                ),
                self._companies.find({"_id": {"$in": keys}}, {"units": 1}).to_list(None),
            )
            stored = {document["_id"] for document in found}
            listed = {
                unit: company["_id"]
                for company in listing
                for unit in company["units"]
                if unit not in stored
            }
            unloaded = await self._unloaded(listed)
        units: defaultdict[CompanyKey, list[tuple[UnitKey, bytes | None]]] = defaultdict(list)
        for document in found:
            units[document["company"]].append((document["_id"], document["core"]))
        for unit in unloaded:
            units[listed[unit]].append((unit, None))
        return units

    async def _unloaded(self, units: Collection[UnitKey]) -> list[UnitKey]:
        """Those that are neither stored, perhaps at another company, nor removed."""
        if not units:
            return []
        found = await self._units.find({"_id": {"$in": list(units)}}, {"_id": 1}).to_list(None)
        elsewhere = {unit["_id"] for unit in found}
        return await self._not_removed(unit for unit in units if unit not in elsewhere)

    async def einvoicing_of(
        self, holders: Collection[CompanyKey | UnitKey]
    ) -> Mapping[CompanyKey | UnitKey, Sequence[tuple[str, bytes]]]:
        with translated_errors():
            found = await self._participants.find(
                {"holder": {"$in": list(holders)}}, {"holder": 1, "entry": 1}
            ).to_list(None)
        entries: defaultdict[CompanyKey | UnitKey, list[tuple[str, bytes]]] = defaultdict(list)
        for document in found:
            entries[document["holder"]].append((document["_id"], document["entry"]))
        return entries
