"""A file is checked, read in batches and applied; what was upcoming is applied on its day."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from common.domain.sentences import counted
from ingest.changes.apply import touched
from ingest.changes.states import Verdict
from ingest.loading.read import ReadDocuments, UnchangedDocument
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.records import (
    FileBroken,
    OutOfScope,
    RawDocument,
    Record,
    RegisteredInError,
    Rejected,
    SourceVersion,
    Stored,
)
from ingest.records.source import Part, RegisterSource

#: Records in a transaction: MongoDB accepted 350/s one by one and over 10,000/s in batches of 500;
#: larger batches gained nothing.
BATCH = 500
#: A batch ends early if its documents have more bytes than this.
_BATCH_BYTES = 16 << 20
#: Concurrent transactions while the next batch is read.
IN_FLIGHT = 3

#: The pieces of a file, and their results.
Piece = RawDocument | Rejected
Item = Record | Rejected
Found = Item | UnchangedDocument


@dataclass
class OddValues:
    """Odd values of records by the path of their field, and a record with each."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def noticed(self, records: Iterable[Stored]) -> None:
        """Counts the odd values of records."""
        for record in records:
            for path in record.odd:
                self.counts[path] += 1
                self.examples.setdefault(path, record.key)

    def added(self, others: "OddValues") -> None:
        """Adds the odd values of a file."""
        self.counts.update(others.counts)
        self.examples = {**others.examples, **self.examples}

    def most_common(self, most: int | None = None) -> dict[str, str]:
        """Returns the number of each kind, and a record with it."""
        return {
            path: f"{count:,}, as in {self.examples[path]}"
            for path, count in self.counts.most_common(most)
        }


@dataclass
class Summary:
    """Counts of a load, record by record."""

    read: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    #: Valid records outside of this register, by reason.
    elsewhere: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    odd: OddValues = field(default_factory=OddValues)
    #: Position and cause of the end of a truncated file.
    broken: str | None = None

    @property
    def is_complete(self) -> bool:
        """True if the file was read to its end and contained a usable record."""
        return self.broken is None and self.read > self.refused

    def counts(self) -> dict[str, int]:
        """Returns the counts; `read` is the sum of the others."""
        return {
            "read": self.read,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "elsewhere": self.elsewhere.total(),
            "refused": self.refused,
        }


def fill(found: list[Piece], items: Iterator[Piece]) -> None:
    """Takes the next BATCH pieces of a file, fewer if they are large; none at its end."""
    size = 0
    while len(found) < BATCH and size < _BATCH_BYTES:
        piece = next(items, None)
        if piece is None:
            return
        found.append(piece)
        size += len(piece.text) if isinstance(piece, RawDocument) else 0


def next_batch(items: Iterator[Piece], summary: Summary) -> list[Piece]:
    """Returns the next batch; empty at the file's end, whose truncation the summary notes."""
    found: list[Piece] = []
    try:
        fill(found, items)
    except FileBroken as error:
        summary.broken = str(error)
    summary.read += len(found)
    return found


def distinct(records: Iterator[Stored]) -> Iterator[list[Stored]]:
    """Cuts records into batches without repetition: a repeated record meets its stored version."""
    batch: list[Stored] = []
    seen: set[str] = set()
    for record in records:
        if record.key in seen:
            yield batch
            batch, seen = [], set()
        batch.append(record)
        seen.add(record.key)
    if batch:
        yield batch


class Writes:
    """Concurrent writes of batches."""

    def __init__(self, summary: Summary, stale: Callable[[str], None]) -> None:
        self._summary = summary
        self._stale = stale
        #: With the keys that each of them writes to.
        self._under_way: dict[asyncio.Task[Sequence[Verdict]], tuple[set[str], list[Stored]]] = {}

    async def room(self, *, for_keys: set[str]) -> None:
        """Waits until another batch may start: few run, and none of them writes to its keys."""
        others = self._under_way.values()
        while len(others) >= IN_FLIGHT or any(for_keys & keys for keys, _ in others):
            await self._one_done()

    def begin(
        self, task: asyncio.Task[Sequence[Verdict]], batch: list[Stored], *, keys: set[str]
    ) -> None:
        """Registers the write of a batch, begun by the caller; `keys` are those that it writes."""
        self._under_way[task] = keys, batch

    async def end(self) -> None:
        """Waits until every write that has begun is done."""
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
                    self._stale(record.key)


@dataclass
class Tally:
    """Counts of a pass: what was read, and its results."""

    #: Entries of the feed, or documents and records, that were read.
    read: int = 0
    #: By verdict, and `purged`, `vanished`, `unknown`, `refused`, `elsewhere`.
    results: Counter[str] = field(default_factory=Counter)
    #: Reasons of refused records or entries.
    reasons: Counter[str] = field(default_factory=Counter)
    odd: OddValues = field(default_factory=OddValues)
    #: Unreadable entries at the end of the feed, which hold the cursor.
    unreadable_tail: int = 0
    #: The comparison of the stored records with the register's whole file, if one was made.
    reconciled: bool = False
    differences: int = 0

    def judged(self, records: Iterable[Stored], verdicts: Iterable[Verdict]) -> None:
        """Counts the verdicts on records, and the records' odd values."""
        self.odd.noticed(records)
        self.results.update(verdict.value for verdict in verdicts)

    def refused(self, reason: str) -> None:
        """Counts a refused record or entry under its reason."""
        self.results["refused"] += 1
        self.reasons[reason] += 1

    def loaded(self, summary: Summary) -> None:
        """Adds a file's counts; its refused records were reported one by one."""
        self.odd.added(summary.odd)
        counts = summary.counts()
        self.read += counts.pop("read")
        self.results.update({result: count for result, count in counts.items() if count})


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


async def apply_due(
    source: RegisterSource, stores: Stores, *, publish_events: bool | None = None
) -> list[Verdict]:
    """Stores the source's records whose day has come, with their events; returns the verdicts.

    `publish_events` as in a load. Raises `Unavailable` and Conflict.
    """
    if source.part not in (Part.COMPANY, Part.UNIT):
        return []
    if publish_events is None:
        publish_events = await stores.states.is_loaded(source.name)
    verdicts: list[Verdict] = []
    after, today = "", stores.today()
    while due := await stores.writer.due(
        source.country, source.part, today, after=after, limit=BATCH
    ):
        # Each record has the version of its document.
        now = SourceVersion(stores.now())
        batch = await stores.apply(due, now, publish_events=publish_events)
        for record, verdict in zip(due, batch, strict=True):
            if verdict in (Verdict.STALE, Verdict.REMOVED):
                await stores.writer.forget_due(record.key, today)
        verdicts += batch
        after = due[-1].key
    return verdicts
