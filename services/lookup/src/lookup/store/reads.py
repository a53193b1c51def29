"""Reads for lookups: each takes a batch and makes one request to MongoDB."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from common.contracts.company import CompanyKey, Country, UnitKey
from common.mongo import Database, translated_errors
from lookup.store.documents import COMPANIES, PARTICIPANTS, TOMBSTONES, UNITS, CompanyRow

#: Maximum units of a phone number that are considered; switchboards and accountants share theirs.
_MAX_UNITS_OF_A_PHONE = 200

#: Units of one read, about as many bytes as a message of lookups may have.
MAX_UNITS = 25_000

_ROW = {"revision": 1, "core": 1, "owners": 1, "roles": 1, "updated_at": 1}


class StoredRegister:
    """The registers in MongoDB."""

    def __init__(self, database: Database) -> None:
        self._companies = database[COMPANIES]
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]
        self._tombstones = database[TOMBSTONES]

    async def companies(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, CompanyRow]:
        with translated_errors():
            # A lone key without `$in`, which MongoDB would plan: a fifth less for both sides.
            wanted = {"$in": list(keys)} if len(keys) > 1 else next(iter(keys), None)
            found = await self._companies.find(
                {"_id": wanted}, _ROW, limit=len(keys), batch_size=len(keys) + 1
            ).to_list(None)
        return {
            CompanyKey.parse(document["_id"]): CompanyRow(
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
            # Danish companies list their units, which may not be stored themselves.
            missing = await self._not_removed(unit for unit in units if unit not in companies)
            listing = (
                await self._companies.find({"units": {"$in": missing}}, {"units": 1}).to_list(None)
                if missing
                else []
            )
        listed = {unit: company["_id"] for company in listing for unit in company["units"]}
        companies |= {unit: listed[unit] for unit in missing if unit in listed}
        return {
            UnitKey.parse(unit): CompanyKey.parse(company)
            for unit, company in companies.items()
            if company is not None
        }

    async def _not_removed(self, units: Iterable[UnitKey]) -> list[UnitKey]:
        """The units that their register has not ordered removed; companies may still list those."""
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
        return {document["_id"]: CompanyKey.parse(document["holder"]) for document in found}

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
                {"phones": phone}, {"company": 1}, limit=_MAX_UNITS_OF_A_PHONE
            ).to_list(None)
            others = {unit["company"] for unit in units}.difference(own)
            if not others:
                return own
            return own + await self._best({"_id": {"$in": list(others)}}, limit - len(own))

    async def _best(self, condition: dict[str, object], limit: int) -> list[CompanyKey]:
        found = await self._companies.find(
            {**condition, "core": {"$ne": None}}, {"_id": 1}, sort=[("rank", 1)], limit=limit
        ).to_list(None)
        return [CompanyKey.parse(document["_id"]) for document in found]

    async def units_of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[tuple[UnitKey, bytes | None]]]:
        keys = sorted(companies)
        with translated_errors():
            found, listing = await asyncio.gather(
                self._units.find(
                    {"company": {"$in": keys}},
                    {"company": 1, "core": 1},
                    sort=[("company", 1)],
                    limit=MAX_UNITS if len(keys) > 1 else 0,
                ).to_list(None),
                self._companies.find({"_id": {"$in": keys}}, {"units": 1}).to_list(None),
            )
            if len(keys) > 1 and len(found) == MAX_UNITS:
                # The limit may have cut off the last company; the first of all is read alone.
                cut = found[-1]["company"]
                if cut == keys[0]:
                    return await self.units_of(keys[:1])
                keys = [key for key in keys if key < cut]
                found = [document for document in found if document["company"] < cut]
                listing = [company for company in listing if company["_id"] < cut]
            stored = {document["_id"] for document in found}
            listed = {
                UnitKey.parse(unit): CompanyKey.parse(company["_id"])
                for company in listing
                for unit in company["units"]
                if unit not in stored
            }
            unloaded = await self._unloaded(listed)
        units: dict[CompanyKey, list[tuple[UnitKey, bytes | None]]] = {key: [] for key in keys}
        for document in found:
            company, unit = CompanyKey.parse(document["company"]), UnitKey.parse(document["_id"])
            units[company].append((unit, document["core"]))
        for unit in unloaded:
            units[listed[unit]].append((unit, None))
        return units

    async def _unloaded(self, units: Collection[UnitKey]) -> list[UnitKey]:
        """The listed units that are neither stored, perhaps at another company, nor removed."""
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
            holder = CompanyKey.parse(document["holder"])
            entries[holder].append((document["_id"], document["entry"]))
        return entries
