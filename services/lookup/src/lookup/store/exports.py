"""Reads of a whole register in the order of its numbers, none older than its first (ADR 0055)."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import bson
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.read_concern import ReadConcern

from common.contracts.company import CompanyKey, Country
from common.mongo import Database, translated_errors
from lookup.store.documents import COMPANIES, ROW_FIELDS, CompanyRow, Document, row_of

#: Companies that are read and decoded at once, in a tenth of a millisecond, which lookups wait for.
#: With 250, a copy takes a third less time, and lookups beside it have 3.6 times their p99.
_BATCH = 50

_CLUSTER, _OPERATION = "clusterTime", "operationTime"

Rows = Sequence[tuple[CompanyKey, CompanyRow]]


@dataclass(frozen=True, slots=True)
class CausalReads:
    """Reads of companies, each of which sees at least what the one before it saw."""

    companies: AsyncCollection[Document]
    session: AsyncClientSession

    @property
    def state(self) -> bytes:
        """The session's state, for the reads of other processes."""
        session = self.session
        return bson.encode({_CLUSTER: session.cluster_time, _OPERATION: session.operation_time})

    @property
    def time(self) -> datetime:
        """The database's time of the state, to the second."""
        seen = self.session.operation_time
        if seen is None:
            raise RuntimeError("nothing has been read")
        return seen.as_datetime()

    async def following(self, country: Country, after: str, limit: int) -> AsyncIterator[Rows]:
        """Yields the companies that follow a number, in order, in small batches."""
        # ";" follows ":"
        place = {"_id": {"$gt": f"{country}:{after}", "$lt": f"{country};"}}
        async for rows in self._read(place, limit):
            yield rows

    async def numbered(self, country: Country, numbers: Iterable[str]) -> AsyncIterator[Rows]:
        """Yields the companies that have one of these numbers, in order, in small batches."""
        keys = [CompanyKey(country, number) for number in numbers]
        async for rows in self._read({"_id": {"$in": keys}}, len(keys)):
            yield rows

    async def _read(self, place: dict[str, Any], limit: int) -> AsyncIterator[Rows]:
        query = {**place, "core": {"$ne": None}}
        async with self.companies.find(
            query, ROW_FIELDS, sort=[("_id", 1)], limit=limit, batch_size=_BATCH,
            session=self.session,
        ) as cursor:  # fmt: skip
            while documents := await cursor.to_list(_BATCH):
                yield [(CompanyKey.parse(each["_id"]), row_of(each)) for each in documents]


@asynccontextmanager
async def causal_reads(database: Database, state: bytes) -> AsyncIterator[CausalReads]:
    """Reads of the body that see at least `state`, of other reads; raises `Unavailable`."""
    # A failover must not roll back what a reader has copied.
    companies = database.get_collection(COMPANIES, read_concern=ReadConcern("majority"))
    with translated_errors():
        async with database.client.start_session(causal_consistency=True) as session:
            if state:
                seen = bson.decode(state)
                session.advance_cluster_time(seen[_CLUSTER])
                session.advance_operation_time(seen[_OPERATION])
            yield CausalReads(companies, session)
