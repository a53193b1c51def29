"""Loading a register file: read, compare with what is stored, write what differs, in lists."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Protocol, assert_never

from lookup.ingest.apply import ApplyRecords, Stored, identity, touched
from lookup.ingest.planning.states import Verdict
from lookup.ingest.read import ReadDocuments, Same
from lookup.ingest.records import (
    CompanyRecord,
    FileBroken,
    OutOfScope,
    OwnersRecord,
    ParticipantRecord,
    RawDocument,
    Record,
    RegisteredInError,
    Rejected,
    SourceVersion,
    UnitRecord,
)
from lookup.ingest.register_source import RegisterSource


class FileOrigin(StrEnum):
    """How a file came here. Files are compared with the last one of the same origin."""

    IMPORTED = "imported"
    DOWNLOADED = "downloaded"


class LoadStates(Protocol):
    """How far each source has been loaded."""

    async def begin(self, source: str, *, at: datetime) -> None:
        """Notes that a load runs; a source never loaded to the end is `loading` from now on."""

    async def is_loaded(self, source: str) -> bool:
        """Whether the source has once been loaded to the end of a file."""

    async def records(self, source: str, origin: FileOrigin) -> int:
        """The number of records in the last whole file of that origin; 0 before the first."""

    async def finish(
        self,
        source: str,
        *,
        at: datetime,
        counts: Mapping[str, int],
        whole: FileOrigin | None = None,
    ) -> None:
        """Notes that a file was read to its end: the source is `loaded` from now on.

        `whole` is the origin of a file that later ones of the same origin are compared with.
        """


#: Records in a transaction: one by one MongoDB took 350 a second in probes, in lists of 500 over
#: ten thousand; longer lists gained nothing.
BATCH = 500
#: A list ends early where its documents have more bytes than this.
_BATCH_BYTES = 16 << 20
#: Transactions under way while the next list is read.
IN_FLIGHT = 3
#: Lists that are read while those before them are written.
_AHEAD = 4

#: What a file is cut into, and what becomes of each piece.
Piece = RawDocument | Rejected
Item = Record | Rejected
Found = Item | Same


@dataclass
class Summary:
    """What a load did, record by record."""

    read: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    #: Sound records of no concern to us, by reason.
    elsewhere: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    #: Where and why the file could not be read to its end.
    broken: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether a file was read to its end, and had anything that could be used."""
        return self.broken is None and self.read > self.refused

    def counts(self) -> dict[str, int]:
        """All of it in numbers; what was read is the sum of the rest."""
        return {
            "read": self.read,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "elsewhere": self.elsewhere.total(),
            "refused": self.refused,
        }


class WrongSource(Exception):
    """A file of something else; the message tells why."""


class NotWhole(Exception):
    """A file that lacks too many records to be a register's whole file."""


def _ignore(_identity: str) -> None:
    """For a caller that names no stale records."""


def _count(items: Iterator[Piece]) -> int:
    return sum(1 for _ in items)


@dataclass(frozen=True, slots=True)
class LoadFile:
    read: ReadDocuments
    apply: ApplyRecords
    states: LoadStates
    now: Callable[[], datetime]
    origin: FileOrigin
    #: Is called with each refused record as it is met.
    refuse: Callable[[Rejected], None]
    #: Is called with the identity of each record that is older than what is stored.
    stale: Callable[[str], None] = _ignore

    async def check(
        self,
        source: RegisterSource,
        documents: Callable[[], Iterator[Piece]],
        *,
        force: bool = False,
    ) -> None:
        """Raises WrongSource and NotWhole before anything of a file is stored.

        `force` accepts a file however few records it has. A file that breaks off is left to
        loading, which tells how much of it is whole.
        """
        items = documents()
        first: list[Piece] = []
        try:
            await asyncio.to_thread(fill, first, items)
        except FileBroken as broken:
            if not first:
                raise WrongSource(str(broken)) from None
            return
        found = await self.read(source, first)
        reasons = [one.reason for one in found if isinstance(one, Rejected)]
        if reasons and len(reasons) == len(found):
            raise WrongSource(f"none of its first {len(found):,} records is one ({reasons[0]})")
        before = await self.states.records(source.name, self.origin)
        least = 1 if force else max((before + 1) // 2, 1)
        try:
            more = islice(items, max(least - len(first), 0))
            count = len(first) + await asyncio.to_thread(_count, more)
        except FileBroken:
            return
        if count < least:
            raise NotWhole(f"it has {count:,} records, the last whole file had {before:,}")

    async def __call__(
        self,
        source: RegisterSource,
        items: Iterator[Piece],
        *,
        file_version: SourceVersion,
        publish_events: bool | None = None,
        force: bool = False,
    ) -> Summary:
        """Loads every whole document; a file that breaks off is loaded up to there and said to be.

        `publish_events` tells whether changes become events; None means once the source has been
        loaded to the end of a file. A file loaded with `force` may be a part of the register, so
        later files are not compared with it. Raises `Unavailable`; what was written stays, and
        loading the same file again continues from there.
        """
        if publish_events is None:
            publish_events = await self.states.is_loaded(source.name)
        await self.states.begin(source.name, at=self.now())
        summary = Summary()
        given = _Given(source, file_version, publish_events=publish_events)
        try:
            await self._load(_Lists(items, summary), given, summary)
        except ExceptionGroup as failures:
            # Once one list has failed the others are cancelled, so the first is the reason.
            raise failures.exceptions[0] from None
        if summary.is_complete:
            whole = None if force else self.origin
            await self.states.finish(
                source.name, at=self.now(), counts=summary.counts(), whole=whole
            )
        return summary

    async def _load(self, lists: "_Lists", given: "_Given", summary: Summary) -> None:
        async with (
            asyncio.TaskGroup() as group,
            aclosing(self._found(given.source, lists, group)) as found,
        ):
            writing = _Writing(summary, self.stale)
            async for documents in found:
                for batch in _distinct(self._sorted_out(documents, summary)):
                    await writing.room(for_keys={key for one in batch for key in touched(one)})
                    applying = self.apply(
                        batch, given.file_version, publish_events=given.publish_events
                    )
                    writing.begin(group.create_task(applying), batch)
            await writing.end()

    async def _found(
        self, source: RegisterSource, lists: "_Lists", group: asyncio.TaskGroup
    ) -> AsyncGenerator[Sequence[Found], None]:
        """What the lists hold, in their order; the next ones are read meanwhile."""
        reading: deque[asyncio.Task[Sequence[Found]]] = deque()
        while True:
            while len(reading) < _AHEAD and (documents := await asyncio.to_thread(lists.next)):
                reading.append(group.create_task(self.read(source, documents)))
            if not reading:
                return
            yield await reading.popleft()

    def _sorted_out(self, found: Sequence[Found], summary: Summary) -> Iterator[Stored]:
        """Those of them that are to be stored; the others are counted."""
        for one in found:
            match one:
                case CompanyRecord() | OwnersRecord() | UnitRecord() | ParticipantRecord():
                    yield one
                case Same():
                    summary.verdicts[Verdict.UNCHANGED] += 1
                case Rejected():
                    summary.refused += 1
                    self.refuse(one)
                case OutOfScope(reason):
                    summary.elsewhere[reason] += 1
                case RegisteredInError():
                    summary.elsewhere["registered by mistake"] += 1
                case _:
                    assert_never(one)


def fill(found: list[Piece], items: Iterator[Piece]) -> None:
    """Takes the next BATCH of a file, or fewer large ones; none at its end."""
    size = 0
    while len(found) < BATCH and size < _BATCH_BYTES:
        piece = next(items, None)
        if piece is None:
            return
        found.append(piece)
        size += len(piece.text) if isinstance(piece, RawDocument) else 0


@dataclass(frozen=True, slots=True)
class _Given:
    """What holds for the whole file."""

    source: RegisterSource
    file_version: SourceVersion
    publish_events: bool


class _Writing:
    """The lists that are being written."""

    def __init__(self, summary: Summary, stale: Callable[[str], None]) -> None:
        self._summary = summary
        self._stale = stale
        #: With the keys that each of them touches.
        self._under_way: dict[asyncio.Task[Sequence[Verdict]], tuple[set[str], list[Stored]]] = {}
        self._keys: set[str] = set()

    async def room(self, *, for_keys: set[str]) -> None:
        """Waits until another list may start: few enough run, and none of them touches its keys."""
        others = self._under_way.values()
        while len(others) >= IN_FLIGHT or any(for_keys & keys for keys, _ in others):
            await self._one_done()
        self._keys = for_keys

    def begin(self, task: asyncio.Task[Sequence[Verdict]], batch: list[Stored]) -> None:
        self._under_way[task] = self._keys, batch

    async def end(self) -> None:
        while self._under_way:
            await self._one_done()

    async def _one_done(self) -> None:
        done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            verdicts = task.result()
            self._summary.verdicts.update(verdicts)
            _, batch = self._under_way.pop(task)
            for record, verdict in zip(batch, verdicts, strict=True):
                if verdict is Verdict.STALE:
                    self._stale(identity(record))


def _distinct(records: Iterator[Stored]) -> Iterator[list[Stored]]:
    """Cuts them into lists in which nothing occurs twice: then it meets its first self stored."""
    batch: list[Stored] = []
    seen: set[str] = set()
    for record in records:
        if identity(record) in seen:
            yield batch
            batch, seen = [], set()
        batch.append(record)
        seen.add(identity(record))
    if batch:
        yield batch


class _Lists:
    """Cuts a file into lists; where it breaks off, that is noted after all that is whole."""

    def __init__(self, items: Iterator[Piece], summary: Summary) -> None:
        self._items = items
        self._summary = summary

    def next(self) -> list[Piece]:
        """The next list; empty at the end of the file."""
        found: list[Piece] = []
        try:
            fill(found, self._items)
        except FileBroken as error:
            self._summary.broken = str(error)
        self._summary.read += len(found)
        return found
