"""Reads from MongoDB that go on while its primary is lost or does not answer (ADR 0048)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pymongo import ReadPreference
from pymongo.asynchronous.collection import AsyncCollection

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors

T = TypeVar("T")
Document = dict[str, Any]

#: Seconds that a read waits for the primary; one takes a millisecond.
PATIENCE = 0.3
#: Seconds that a secondary has to answer a ping, before it is read; and that one has to answer
#: anything before another is asked beside it.
PING_TIMEOUT, SECONDARY_PATIENCE = 0.4, 0.1
#: Seconds for which reads go to a secondary at once, after one waited for the primary in vain.
_AWAY = 1.0
#: Seconds between two reads that try, while no member answers; the others fail at once.
PROBE_INTERVAL = 0.5


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
        preferences = (
            (ReadPreference.PRIMARY_PREFERRED, ReadPreference.SECONDARY_PREFERRED)
            if from_secondaries
            else (ReadPreference.PRIMARY,)
        )
        self._databases = [database.with_options(read_preference=each) for each in preferences]
        self._patience = patience
        self._secondary_until = float("-inf")
        #: While no member answers: the time of the next try.
        self._probe_at: float | None = None

    def __getitem__(self, name: str) -> "ReadCollection":
        return ReadCollection(self, [database[name] for database in self._databases])

    async def ping(self) -> None:
        """Raises Unavailable if no member that reads go to answers."""
        await self.first(self._ping)

    async def _ping(self, which: int) -> None:
        database = self._databases[which]
        await database.command("ping", read_preference=database.read_preference)

    async def first(self, read: Callable[[int], Awaitable[T]]) -> T:
        """Returns what is read by the first preference, or by the last if that takes too long."""
        clock = asyncio.get_running_loop().time
        if self._probe_at is not None:
            if clock() < self._probe_at:
                raise Unavailable("the database does not answer")
            await self._find_secondary(clock)
        last = len(self._databases) - 1
        if last and clock() >= self._secondary_until:
            try:
                return await _within(self._patience, read(0))
            except Unavailable:
                await self._find_secondary(clock)
        with translated_errors():
            return await (_first_of_two(lambda: read(last)) if last else read(last))

    async def _find_secondary(self, clock: Callable[[], float]) -> None:
        """Reads from a secondary for a while; raises Unavailable if no member answers.

        Without it, each read would wait for the driver's timeouts when all members are lost.
        """
        self._probe_at = clock() + PROBE_INTERVAL if self._probe_at is not None else None
        try:
            await _within(PING_TIMEOUT, _first_of_two(lambda: self._ping(-1)))
        except Unavailable:
            self._probe_at = clock() + PROBE_INTERVAL
            raise
        self._probe_at, self._secondary_until = None, clock() + _AWAY


async def _first_of_two(read: Callable[[], Awaitable[T]]) -> T:
    """Returns what is read, or what is read beside it if that takes long.

    The member may hang, as one may that is back after a partition. For the second read the driver
    chooses another: of two, the one with fewer operations.
    """
    tasks = {_task(read())}
    try:
        done, waiting = await asyncio.wait(tasks, timeout=SECONDARY_PATIENCE)
        if waiting:
            tasks.add(_task(read()))
            waiting = set(tasks)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if any(task.exception() is None for task in done):
                break
        return min(done, key=lambda task: task.exception() is not None).result()
    finally:
        for task in tasks:
            task.cancel()


def _task(read: Awaitable[T]) -> asyncio.Future[T]:
    """Begins to read; an error that nobody waits for any more is no news."""
    task = asyncio.ensure_future(read)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


async def _within(seconds: float, read: Awaitable[T]) -> T:
    """Returns what is read; raises Unavailable if that takes longer."""
    try:
        with translated_errors():
            async with asyncio.timeout(seconds):
                return await read
    except TimeoutError:
        raise Unavailable("the database does not answer in time") from None


class ReadCollection:
    """A collection that is only read."""

    def __init__(self, reads: Reads, members: Sequence[AsyncCollection[Document]]) -> None:
        self._reads = reads
        self._members = members

    async def find(
        self, condition: Mapping[str, Any], fields: Mapping[str, Any], **options: Any
    ) -> list[Document]:
        """Returns all documents that fit, with these fields; options as the driver's."""

        async def read(which: int) -> list[Document]:
            return await self._members[which].find(condition, fields, **options).to_list(None)

        return await self._reads.first(read)

    async def find_one(self, condition: Mapping[str, Any], *fields: Any) -> Document | None:
        """Returns the first document that fits."""

        async def read(which: int) -> Document | None:
            return await self._members[which].find_one(condition, *fields)

        return await self._reads.first(read)

    async def aggregate(self, pipeline: list[Document]) -> list[Document]:
        """Returns the results of a pipeline."""

        async def read(which: int) -> list[Document]:
            return await (await self._members[which].aggregate(pipeline)).to_list(None)

        return await self._reads.first(read)
