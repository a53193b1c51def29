"""The lists of a company: its production units and its e-invoicing identifiers."""

import asyncio
import hashlib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from common.contracts.company import CompanyKey, Country, Status, UnitKey
from common.contracts.lookup import MAX_LISTED
from common.mongo import Database, Reads, translated_errors
from register_store.documents import COMPANIES, PARTICIPANTS, TOMBSTONES, UNITS, Document

#: After every date.
_NEVER = "9999-12-31"


class UnitPosition(NamedTuple):
    """The place of a unit among those of its company; the main unit is before all others."""

    #: 0 active, 1 ended, 2 only listed by the company.
    section: int
    key: str


class UnitOrder(NamedTuple):
    """The units of a company: the main one, then the active ones, then the others, by number.

    No register marks the main unit. It is the one at the company's own address, or else the oldest,
    active units first.
    """

    main: UnitKey | None = None
    active: Sequence[str] = ()
    ended: Sequence[str] = ()
    #: Known only from their company's record (Denmark); without a document.
    listed: Sequence[str] = ()
    #: The first stored units, which are all of most companies.
    cores: Mapping[UnitKey, bytes] = MappingProxyType({})

    @property
    def total(self) -> int:
        """The number of units."""
        return len(self.active) + len(self.ended) + len(self.listed)

    @property
    def stored(self) -> list[str]:
        """The keys of the units that have a document of their own."""
        return [*self.active, *self.ended]

    def only(self, wanted: Collection[str]) -> "UnitOrder":
        """Returns the order of some of the units."""
        return self._replace(
            main=self.main if self.main in wanted else None,
            active=[key for key in self.active if key in wanted],
            ended=[key for key in self.ended if key in wanted],
            listed=[key for key in self.listed if key in wanted],
        )

    def page(
        self, limit: int, after: UnitPosition | None = None
    ) -> tuple[list[UnitKey], UnitPosition | None]:
        """Returns the units after a position, and the next position; None at the end."""
        found = list(islice(self._after(after), limit + 1))
        is_last = len(found) <= limit
        keys = [UnitKey.parse(position.key) for position in found[:limit]]
        if is_last or not keys:
            return keys, None
        return keys, UnitPosition(0, "") if keys[-1] == self.main else found[limit - 1]

    def _after(self, position: UnitPosition | None) -> Iterator[UnitPosition]:
        if position is None and self.main is not None:
            yield UnitPosition(0, self.main)
        first, last = position or (0, "")
        for section, keys in enumerate((self.active, self.ended, self.listed)):
            start = bisect_right(keys, last) if section == first else 0
            for key in islice(keys, start, None) if section >= first else ():
                if key != self.main:
                    yield UnitPosition(section, key)


class StoredUnits:
    """The units in MongoDB. Every method may raise `Unavailable`."""

    def __init__(self, reads: Reads) -> None:
        self._companies = reads[COMPANIES]
        self._units = reads[UNITS]
        self._tombstones = reads[TOMBSTONES]

    async def order(self, company: CompanyKey, core: bytes) -> UnitOrder:
        """Returns the order of the units of a company, which is given as it is stored."""
        home = place_of(orjson.loads(core)["address"])
        found, listing = await asyncio.gather(
            self._in_order(company, first=MAX_LISTED + 1),
            self._companies.find_one({"_id": company}, {"units": 1}),
        )
        units = found if len(found) <= MAX_LISTED else await self._in_order(company)

        def rank(unit: Document) -> tuple[bool, str, str]:
            is_away = unit.get("place") != (home or "")
            return is_away, unit.get("started") or _NEVER, unit["_id"]

        # A unit that an earlier release stored counts as active until `indexes` completes it.
        closed = [unit for unit in units if unit.get("ended") is True]
        alive = [unit for unit in units if unit.get("ended") is not True]
        best = min(alive or closed, key=rank, default=None)
        active, ended = ([unit["_id"] for unit in some] for some in (alive, closed))
        listed = set(listing["units"] if listing else ()).difference(active, ended)
        main = UnitKey.parse(best["_id"]) if best else None
        unloaded = sorted(await self._unloaded(listed))
        cores = {UnitKey.parse(unit["_id"]): unit["core"] for unit in found}
        return UnitOrder(main, active, ended, unloaded, cores)

    async def _in_order(self, company: CompanyKey, first: int = 0) -> list[Document]:
        """Returns the first units of a company with their JSON, or all from the index alone."""
        fields = {"ended": 1, "started": 1, "place": 1}
        return await self._units.find(
            {"company": company},
            {**fields, "core": 1} if first else fields,
            sort=[("ended", 1), ("_id", 1)],
            limit=first,
            batch_size=first + 1 if first else 0,
        )

    async def protected(self, company: CompanyKey, value: bool) -> Collection[str]:  # noqa: FBT001 (the value of a filter)
        """Returns the units whose protection against advertising is known to be this."""
        found = await self._units.find({"company": company, "protected": value}, {"_id": 1})
        return {one["_id"] for one in found}

    async def cores(self, order: UnitOrder, keys: Collection[UnitKey]) -> Mapping[UnitKey, bytes]:
        """Returns the stored units among these."""
        missing = [key for key in keys if key not in order.cores and key not in order.listed]
        if not missing:
            return order.cores
        found = await self._units.find(
            {"_id": {"$in": missing}}, {"core": 1}, batch_size=len(missing) + 1
        )
        read = {UnitKey.parse(one["_id"]): one["core"] for one in found}
        return {**order.cores, **read}

    async def _unloaded(self, units: Iterable[str]) -> list[str]:
        """Returns the units that are neither stored nor removed by their register."""
        keys = list(units)
        if not keys:
            return []
        found = await asyncio.gather(
            *(
                collection.find({"_id": {"$in": keys}}, {"_id": 1})
                for collection in (self._units, self._tombstones)
            )
        )
        known = {document["_id"] for documents in found for document in documents}
        return [key for key in keys if key not in known]


def order_fields(core: bytes) -> dict[str, object]:
    """Returns the fields of a stored unit by which units are ordered and selected."""
    unit = orjson.loads(core)
    return {
        "ended": unit["status"] == Status.ENDED,
        "started": unit["started"],
        "place": place_of(unit["address"]),
        "protected": unit.get("advertising_protected"),
    }


def place_of(address: Mapping[str, Any] | None) -> str | None:
    """Returns a short hash of an address, which an index has for units at the company's own."""
    if address is None:
        return None
    return hashlib.blake2b(address["text"].encode(), digest_size=8).hexdigest()


#: Keys of one read.
_BATCH = 2_000
#: Holders whose few identifiers are read at once, in a millisecond.
_FEW_HOLDERS = 500
#: Holders whose identifiers MongoDB merges in their order from the index.
_MERGED = 200


class EntryPosition(NamedTuple):
    """The place of an identifier among those of its company."""

    #: 0 the company's own, 1 those of its units.
    section: int
    identifier: str


class EntryPage(NamedTuple):
    """Some entries, the number of all, and the position that the next page follows."""

    entries: list[bytes]
    total: int
    following: EntryPosition | None


class StoredEntries:
    """The e-invoicing entries of companies, in pages. May raise `Unavailable`."""

    def __init__(self, reads: Reads) -> None:
        self._participants = reads[PARTICIPANTS]

    async def page(
        self,
        company: CompanyKey,
        units: Sequence[str],
        limit: int,
        after: EntryPosition | None = None,
    ) -> EntryPage:
        """Returns the entries after a position: those of the company, then those of its units."""
        holders = [company, *units]
        if after is None and len(holders) <= _FEW_HOLDERS:
            few = await self._few(company, holders, limit)
            if few is not None:
                return EntryPage(few, len(few), None)
        found: list[tuple[EntryPosition, bytes]] = []
        for section, some in enumerate(([company], units)):
            if after is None or section >= after.section:
                last = after.identifier if after and section == after.section else ""
                rest = limit + 1 - len(found)
                found += [
                    (EntryPosition(section, identifier), entry)
                    for identifier, entry in await self._following(some, last, rest)
                ]
        shown = found[:limit]
        following = shown[-1][0] if len(found) > limit else None
        counted = await self._participants.aggregate(
            [{"$match": {"holder": {"$in": holders}}}, {"$count": "total"}]
        )
        total = sum(one["total"] for one in counted)
        return EntryPage([entry for _, entry in shown], total, following)

    async def _few(
        self, company: CompanyKey, holders: Sequence[str], limit: int
    ) -> list[bytes] | None:
        """Returns all entries in their order; None if they are more than a page has."""
        found = await self._participants.find(
            {"holder": {"$in": holders}},
            {"holder": 1, "entry": 1},
            limit=limit + 1,
            batch_size=limit + 2,
        )
        if len(found) > limit:
            return None
        found.sort(key=lambda one: (one["holder"] != company, one["_id"]))
        return [one["entry"] for one in found]

    async def _following(
        self, holders: Sequence[str], last: str, limit: int
    ) -> list[tuple[str, bytes]]:
        """Returns the first identifiers of some holders after one, with their entries."""
        first: list[tuple[str, bytes]] = []
        for start in range(0, len(holders) if limit else 0, _MERGED):
            some = list(holders[start : start + _MERGED])
            found = await self._participants.find(
                {"holder": {"$in": some}, "_id": {"$gt": last}},
                {"entry": 1},
                sort=[("_id", 1)],
                limit=limit,
                batch_size=limit + 1,
            )
            first = nsmallest(limit, (*first, *((one["_id"], one["entry"]) for one in found)))
        return first


class StoredEinvoicing:
    """Reads of the holders of e-invoicing identifiers."""

    def __init__(self, database: Database) -> None:
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]

    async def receivers(self, country: Country) -> Collection[str]:
        """Returns the keys of every company of a country that receives electronic documents."""
        receivers: set[str] = set()
        of_country = {"holder": {"$gte": f"{country}:", "$lt": f"{country};"}}  # ";" follows ":"
        with translated_errors():
            cursor = self._participants.find(of_country, {"_id": 0, "holder": 1}, batch_size=_BATCH)
            while documents := await cursor.to_list(_BATCH):
                holders = {one["holder"] for one in documents}
                units = await self._units.find(
                    {"_id": {"$in": list(holders)}}, {"company": 1}
                ).to_list(None)
                receivers |= holders.difference(unit["_id"] for unit in units)
                receivers |= {unit["company"] for unit in units}
        return receivers

    async def receivers_among(self, companies: Sequence[CompanyKey]) -> Collection[CompanyKey]:
        """Returns those of some companies that receive electronic documents."""
        company_of = {str(key): key for key in companies}
        with translated_errors():
            units = await self._units.find(
                {"company": {"$in": list(company_of)}}, {"company": 1}
            ).to_list(None)
            company_of |= {unit["_id"]: company_of[unit["company"]] for unit in units}
            found = await self._participants.find(
                {"holder": {"$in": list(company_of)}}, {"_id": 0, "holder": 1}
            ).to_list(None)
        return {company_of[one["holder"]] for one in found}
