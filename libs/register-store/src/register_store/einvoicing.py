"""E-invoicing identifiers of companies, which hold them themselves or through production units."""

from collections.abc import Collection, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country
from common.mongo import Database, Reads, translated_errors
from register_store.documents import PARTICIPANTS, UNITS

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
        return EntryPage([entry for _, entry in shown], await self._count(holders), following)

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
        for some in _parts(holders if limit else ()):
            found = await self._participants.find(
                {"holder": {"$in": some}, "_id": {"$gt": last}},
                {"entry": 1},
                sort=[("_id", 1)],
                limit=limit,
                batch_size=limit + 1,
            )
            first = nsmallest(limit, (*first, *((one["_id"], one["entry"]) for one in found)))
        return first

    async def _count(self, holders: Sequence[str]) -> int:
        counted = await self._participants.aggregate(
            [{"$match": {"holder": {"$in": holders}}}, {"$count": "total"}]
        )
        return sum(one["total"] for one in counted)


def _parts(holders: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(holders)
    while part := list(islice(rest, _MERGED)):
        yield part


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
