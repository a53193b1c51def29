"""Loading a register file: parse, compare with the stored records, write differences in batches."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from common.domain.sentences import counted
from ingest.changes.apply import touched
from ingest.changes.states import Verdict
from ingest.loading.batches import Found, Piece, Summary, Writes, distinct, fill, next_batch
from ingest.loading.progress import FileOrigin
from ingest.loading.read import ReadDocuments, UnchangedDocument
from ingest.loading.stores import Stores
from ingest.records.records import (
    FileBroken,
    OutOfScope,
    RegisteredInError,
    Rejected,
    SourceVersion,
    Stored,
)
from ingest.records.source import RegisterSource

#: Takes the next batch of a file.
TakeBatch = Callable[[], list[Piece]]
Apply = Callable[[Sequence[Stored]], Coroutine[Any, Any, Sequence[Verdict]]]

#: Batches that are parsed ahead of the writes.
_AHEAD = 4


class WrongSource(Exception):
    """A file of another source; the message has the reason."""


class NotWhole(Exception):
    """A file with too few records to be a register's whole file."""


def _ignore(_key: str) -> None:
    """Ignores stale records."""


def _count(items: Iterator[Piece]) -> int:
    return sum(1 for _ in items)


@dataclass(frozen=True, slots=True)
class LoadFile:
    """Loads a register file in batches: a check of the whole file, then parsing and writing."""

    stores: Stores
    read: ReadDocuments
    origin: FileOrigin
    #: Receives each refused record.
    refuse: Callable[[Rejected], None]
    #: Receives the key of each record that is older than the stored one.
    stale: Callable[[str], None] = _ignore

    async def check(
        self,
        source: RegisterSource,
        documents: Callable[[], Iterator[Piece]],
        *,
        force: bool = False,
    ) -> None:
        """Raises WrongSource and NotWhole before anything of a file is stored.

        `force` accepts any number of records. A truncated file is accepted here; loading reports
        how much of it is intact.
        """
        items = documents()
        first: list[Piece] = []
        try:
            await asyncio.to_thread(fill, first, items)
        except FileBroken as broken:
            if not first:
                raise WrongSource(str(broken)) from None
            return
        found = await self.read(source, first, self.stores.today())
        reasons = [one.reason for one in found if isinstance(one, Rejected)]
        if reasons and len(reasons) == len(found):
            records = counted(len(found), "record")
            raise WrongSource(f"of its first {records} none is valid ({reasons[0]})")
        before = await self.stores.states.records(source.name, self.origin)
        least = 1 if force else max((before + 1) // 2, 1)
        try:
            more = islice(items, max(least - len(first), 0))
            count = len(first) + await asyncio.to_thread(_count, more)
        except FileBroken:
            return
        if count < least:
            raise NotWhole(f"{counted(count, 'record')}; the last whole file had {before:,}")

    async def __call__(
        self,
        source: RegisterSource,
        items: Iterator[Piece],
        *,
        file_version: SourceVersion,
        publish_events: bool | None = None,
        force: bool = False,
    ) -> Summary:
        """Loads every intact document; a truncated file is loaded as far as it goes.

        `publish_events` decides whether changes become events; None publishes them once a file of
        the source has been loaded to its end. A file loaded with `force` may be a part of the
        register, so later files are not compared with it. Raises `Unavailable`; written records
        stay, and loading the same file again continues from there.
        """
        if publish_events is None:
            publish_events = await self.stores.states.is_loaded(source.name)
        await self.stores.states.begin(source.name, at=self.stores.now())
        summary = Summary()
        apply = partial(self.stores.apply, file_version=file_version, publish_events=publish_events)
        try:
            await self._load(source, partial(next_batch, items, summary), apply, summary)
        except ExceptionGroup as failures:
            # The first failure cancels the other tasks, so it is the cause.
            raise failures.exceptions[0] from None
        if summary.is_complete:
            whole = None if force else self.origin
            await self.stores.states.finish(
                source.name, at=self.stores.now(), counts=summary.counts(), whole=whole
            )
        return summary

    async def _load(
        self, source: RegisterSource, take_batch: TakeBatch, apply: Apply, summary: Summary
    ) -> None:
        async with (
            asyncio.TaskGroup() as group,
            aclosing(self._found(source, take_batch, group)) as found,
        ):
            writing = Writes(summary, self.stale)
            async for documents in found:
                for batch in distinct(self._to_store(documents, summary)):
                    keys = {key for one in batch for key in touched(one)}
                    await writing.room(for_keys=keys)
                    writing.begin(group.create_task(apply(batch)), batch, keys=keys)
            await writing.end()

    async def _found(
        self, source: RegisterSource, take_batch: TakeBatch, group: asyncio.TaskGroup
    ) -> AsyncGenerator[Sequence[Found], None]:
        """Yields the parsed batches in order; the next ones are parsed meanwhile."""
        reading: deque[asyncio.Task[Sequence[Found]]] = deque()
        while True:
            while len(reading) < _AHEAD and (documents := await asyncio.to_thread(take_batch)):
                today = self.stores.today()
                reading.append(group.create_task(self.read(source, documents, today)))
            if not reading:
                return
            yield await reading.popleft()

    def _to_store(self, found: Sequence[Found], summary: Summary) -> Iterator[Stored]:
        """Yields the records to store; the others are counted."""
        for one in found:
            match one:
                case UnchangedDocument():
                    summary.verdicts[Verdict.UNCHANGED] += 1
                case Rejected():
                    summary.refused += 1
                    self.refuse(one)
                case OutOfScope(reason):
                    summary.elsewhere[reason] += 1
                case RegisteredInError():
                    summary.elsewhere["registered in error"] += 1
                case _:
                    summary.odd.noticed((one,))
                    yield one
