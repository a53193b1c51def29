"""Reads of a whole register in the order of its numbers (ADR 0055)."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from pymongo.read_concern import ReadConcern

from common.contracts.company import CompanyKey, Country
from common.mongo import Database, translated_errors
from register_store.documents import COMPANIES, ROW_FIELDS, CompanyRow, row_of

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
