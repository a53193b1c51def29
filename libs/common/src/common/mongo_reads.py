"""Reads from MongoDB that go on while its primary is lost or does not answer (ADR 0073)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pymongo import ReadPreference
from pymongo.asynchronous.collection import AsyncCollection

from common.mongo import Database, translated_errors

T = TypeVar("T")
M = TypeVar("M")
Document = dict[str, Any]

#: Seconds that a read waits for the primary; one takes a millisecond.
PATIENCE = 0.3
#: Seconds for which reads go to a secondary at once, after one waited for the primary in vain.
_AWAY = 1.0


class Reads:
    """Reads of a database; each method of its collections raises Unavailable.

    The driver notices a closed connection at once, but a primary that hangs or is cut off only
    after timeouts that outlast a lookup. So a read that the primary has not answered within
    `PATIENCE` is made from a secondary, which may lack the last moments.
    """

    def __init__(
        self, database: Database, *, from_secondaries: bool = True, patience: float = PATIENCE
    ) -> None:
        """Without `from_secondaries` all reads are the primary's, and wait for it."""
        preference = (
            ReadPreference.PRIMARY_PREFERRED if from_secondaries else ReadPreference.PRIMARY
        )
        self._first = database.with_options(read_preference=preference)
        self._second = database.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
        self._patience = patience if from_secondaries else None
        self._away_until = float("-inf")

    def __getitem__(self, name: str) -> "ReadCollection":
        return ReadCollection(self, self._first[name], self._second[name])

    async def ping(self) -> None:
        """Raises Unavailable if no member that reads go to answers."""
        await self.first(_ping, self._first, self._second)

    async def first(self, read: Callable[[M], Awaitable[T]], primary: M, secondary: M) -> T:
        """Returns what is read from the primary, or from a secondary if that takes too long."""
        clock = asyncio.get_running_loop().time
        with translated_errors():
            if self._patience is None:
                return await read(primary)
            if clock() >= self._away_until:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._patience):
                        return await read(primary)
                self._away_until = clock() + _AWAY
            return await read(secondary)


async def _ping(database: Database) -> None:
    await database.command("ping", read_preference=database.read_preference)


class ReadCollection:
    """A collection that is only read."""

    def __init__(self, reads: Reads, *members: AsyncCollection[Document]) -> None:
        self._reads = reads
        self._members = members

    async def find(
        self, condition: Mapping[str, Any], fields: Mapping[str, Any], **options: Any
    ) -> list[Document]:
        """Returns all documents that fit, with these fields; options as the driver's."""

        async def read(collection: AsyncCollection[Document]) -> list[Document]:
            return await collection.find(condition, fields, **options).to_list(None)

        return await self._reads.first(read, *self._members)

    async def find_one(self, condition: Mapping[str, Any], *fields: Any) -> Document | None:
        """Returns the first document that fits."""

        async def read(collection: AsyncCollection[Document]) -> Document | None:
            return await collection.find_one(condition, *fields)

        return await self._reads.first(read, *self._members)

    async def aggregate(self, pipeline: list[Document]) -> list[Document]:
        """Returns the results of a pipeline."""

        async def read(collection: AsyncCollection[Document]) -> list[Document]:
            return await (await collection.aggregate(pipeline)).to_list(None)

        return await self._reads.first(read, *self._members)
