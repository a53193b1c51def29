"""A file is checked, parsed in batches by worker processes, and applied.

Unchanged documents are not parsed, and what was upcoming is applied on its day.
"""

import asyncio
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import islice
from typing import Any, Final

from common.domain.sentences import counted
from common.runtime.processes import processors, workers
from ingest.changes.apply import touched
from ingest.changes.states import OF_ACCOUNTS, Verdict
from ingest.changes.stored_states import StoredParts
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.ledger import Ledger
from ingest.records.records import (
    FileBroken,
    GroupRecord,
    OutOfScope,
    Parser,
    RawDocument,
    Record,
    RegisteredInError,
    Rejected,
    SourceVersion,
    Stored,
)
from ingest.records.source import Part, RegisterSource, all_understood

#: Fewer documents than this are parsed in this process; starting a worker would take longer.
_WORTH_IT: Final = 200
#: More worker processes than this would wait for the process that writes.
_MAX_PROCESSES: Final = 2
#: Seconds after which the processes of a load end, which have 78 MB each.
_IDLE: Final = 60.0

#: The record as which each document reads on a day, or the reason why it cannot be used.
Reader = Callable[
    [Parser, Sequence[RawDocument], date, Ledger | None], Awaitable[Sequence[Record | Rejected]]
]


@asynccontextmanager
async def reading_processes() -> AsyncIterator[Reader]:
    """Yields a reader in worker processes; one processor is left for the process that writes."""
    async with workers(min(max(processors() - 1, 1), _MAX_PROCESSES), idle=_IDLE) as processes:

        async def read(
            parser: Parser, documents: Sequence[RawDocument], today: date, ledger: Ledger | None
        ) -> Sequence[Record | Rejected]:
            if len(documents) < _WORTH_IT:
                return all_understood(parser, documents, today, ledger)
            return await processes.run(all_understood, parser, documents, today, ledger)

        yield read


@dataclass(frozen=True, slots=True)
class UnchangedDocument:
    """An unchanged document; parsing it would give the stored record."""

    key: str


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """Parses documents whose digest is not the stored one."""

    parts: StoredParts
    reader: Reader

    async def __call__(
        self, source: RegisterSource, documents: Sequence[RawDocument | Rejected], today: date
    ) -> Sequence[Record | UnchangedDocument | Rejected]:
        """Returns a result for each document, in order. May raise `Unavailable`."""
        keys = [
            one.key for one in documents if isinstance(one, RawDocument) and one.key is not None
        ]
        stored = await self.parts.digests(source.part, keys) if keys else {}
        found = [
            _known(one, stored.get(one.key or "")) if isinstance(one, RawDocument) else one
            for one in documents
        ]
        unread = [one for one in found if isinstance(one, RawDocument)]
        read = iter(await self.reader(source.parse, unread, today, source.ledger) if unread else ())
        return [next(read) if isinstance(one, RawDocument) else one for one in found]


def _known(document: RawDocument, stored: bytes | None) -> RawDocument | UnchangedDocument:
    if document.key is None or stored is None or stored != document.digest:
        return document
    return UnchangedDocument(document.key)


#: Records in a transaction: MongoDB accepted 350/s one by one and over 10,000/s in batches of 500;
#: larger batches gained nothing.
BATCH = 500
#: A batch ends early if its documents have more bytes than this.
_BATCH_BYTES = 16 << 20
#: Concurrent transactions while the next batch is read.
IN_FLIGHT = 3

#: Batches that are parsed ahead of the writes.
_AHEAD = 4

#: The odd value of a row that was read in spite of its quotation marks.
_QUOTATION_MARKS: Final = "row.quotation_marks"

#: Takes the next batch of a file.
TakeBatch = Callable[[], "list[Piece]"]
Apply = Callable[[Sequence[Stored]], Coroutine[Any, Any, Sequence[Verdict]]]
#: The pieces of a file, and their results.
Piece = RawDocument | Rejected
Item = Record | Rejected
ReadResult = Item | UnchangedDocument
#: The items of a source's own records.
Usable = Stored | RegisteredInError | UnchangedDocument


#: Kinds of odd values that are counted, so that a register cannot fill the metrics.
_MAX_KINDS: Final = 200
#: The further kinds together.
OTHERS: Final = "(others)"


@dataclass
class OddValues:
    """Odd values of records by the path of their field, and a record with each."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def noticed(self, records: Iterable[Stored]) -> None:
        """Counts the odd values of records."""
        for record in records:
            for path in record.odd:
                self.count(path, record.key)

    def count(self, path: str, example: str) -> None:
        """Counts an odd value; of very many kinds the further ones together."""
        if path not in self.counts and len(self.counts) >= _MAX_KINDS:
            path = OTHERS
        self.counts[path] += 1
        self.examples.setdefault(path, example)

    def most_common(self, most: int | None = None) -> dict[str, str]:
        """Returns the number of each kind, and a record with it."""
        return {
            path: f"{count:,}, as in {self.examples[path]}"
            for path, count in self.counts.most_common(most)
        }


@dataclass
class Tally:
    """Counts of a pass or a file: what was read, and its results."""

    #: Entries of the feed, or documents and records, that were read.
    read: int = 0
    #: By verdict, and `purged`, `vanished`, `unknown`, `refused`, `elsewhere`.
    results: Counter[str] = field(default_factory=Counter)
    #: Reasons of refused records or entries, but those of a file, which are reported one by one.
    reasons: Counter[str] = field(default_factory=Counter)
    #: Valid records of a file outside of this register, by reason.
    elsewhere: Counter[str] = field(default_factory=Counter)
    odd: OddValues = field(default_factory=OddValues)
    #: Unreadable entries at the end of the feed, which hold the cursor.
    unreadable_tail: int = 0
    #: The comparison of the stored records with the register's whole file, if one was made.
    reconciled: bool = False
    differences: int = 0
    #: Position and cause of the end of a truncated file.
    broken: str | None = None

    def judged(self, records: Iterable[Stored], verdicts: Iterable[Verdict]) -> None:
        """Counts the verdicts on records, and the records' odd values."""
        self.odd.noticed(records)
        self.results.update(verdict.value for verdict in verdicts)

    def refused(self, reason: str) -> None:
        """Counts a refused record or entry under its reason."""
        self.results["refused"] += 1
        self.reasons[reason] += 1

    def usable(self, found: Iterable[ReadResult]) -> Iterator[Usable]:
        """Yields the source's own records; the others are counted."""
        for one in found:
            self.read += 1
            match one:
                case Rejected(reason=reason):
                    self.refused(reason)
                case OutOfScope():
                    self.results["elsewhere"] += 1
                case _:
                    yield one

    def of_file(self) -> dict[str, int]:
        """Returns the counts of a file; `read` is the sum of the others."""
        verdicts = (
            verdict.value
            for verdict in Verdict
            if verdict not in OF_ACCOUNTS or self.results[verdict.value]
        )
        results = (*verdicts, "elsewhere", "refused")
        return {"read": self.read, **{result: self.results[result] for result in results}}


def take(items: Iterator[Piece], found: list[Piece] | None = None) -> list[Piece]:
    """Returns the next BATCH pieces of a file, fewer if they are large; none at its end.

    They are added to `found`, which keeps those before a FileBroken.
    """
    found = [] if found is None else found
    size = 0
    while len(found) < BATCH and size < _BATCH_BYTES and (piece := next(items, None)):
        found.append(piece)
        size += len(piece.text) if isinstance(piece, RawDocument) else 0
    return found


def next_batch(items: Iterator[Piece], tally: Tally) -> list[Piece]:
    """Returns the next batch; empty at the file's end, whose truncation the tally notes."""
    found: list[Piece] = []
    try:
        take(items, found)
    except FileBroken as error:
        tally.broken = str(error)
    tally.read += len(found)
    for piece in found:
        if isinstance(piece, RawDocument) and piece.is_repaired:
            tally.odd.count(_QUOTATION_MARKS, piece.key or piece.place)
    return found


def distinct(records: Iterator[Stored]) -> Iterator[list[Stored]]:
    """Cuts records into batches without repetition: a repeated record meets its stored version.

    A group, which concerns many companies, is a batch of its own.
    """
    batch: list[Stored] = []
    seen: set[str] = set()
    for record in records:
        if batch and (record.key in seen or isinstance(record, GroupRecord)):
            yield batch
            batch, seen = [], set()
        batch.append(record)
        seen.add(record.key)
    if batch:
        yield batch


class Writes:
    """Concurrent writes of batches."""

    def __init__(self, tally: Tally, stale: Callable[[str], None]) -> None:
        self._tally = tally
        self._stale = stale
        #: With the keys that each of them writes to.
        self._under_way: dict[asyncio.Task[Sequence[Verdict]], tuple[set[str], list[Stored]]] = {}

    async def begin(self, group: asyncio.TaskGroup, apply: Apply, batch: list[Stored]) -> None:
        """Begins to write a batch, once few others run and none of them writes to its keys."""
        wanted = {key for one in batch for key in touched(one)}
        others = self._under_way.values()
        while len(others) >= IN_FLIGHT or any(wanted & keys for keys, _ in others):
            await self._one_done()
        self._under_way[group.create_task(apply(batch))] = wanted, batch

    async def end(self) -> None:
        """Waits until every write that has begun is done."""
        while self._under_way:
            await self._one_done()

    async def _one_done(self) -> None:
        done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            verdicts = task.result()
            self._tally.results.update(verdict.value for verdict in verdicts)
            _, batch = self._under_way.pop(task)
            for record, verdict in zip(batch, verdicts, strict=True):
                if verdict is Verdict.STALE:
                    self._stale(record.key)


class WrongSource(Exception):
    """A file of another source; the message has the reason."""


class NotWhole(Exception):
    """A file with too few records to be a register's whole file."""


@dataclass(frozen=True, slots=True)
class LoadFile:
    """Loads a register file in batches: a check of the whole file, then parsing and writing."""

    stores: Stores
    read: ReadDocuments
    origin: FileOrigin
    #: Receives each refused record.
    refuse: Callable[[Rejected], None]
    #: Receives the key of each record that differs from the stored one and is not newer.
    stale: Callable[[str], None] = lambda _key: None

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
            await asyncio.to_thread(take, items, first)
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
            count = len(first) + await asyncio.to_thread(lambda: sum(1 for _ in more))
        except FileBroken:
            return
        if count < least:
            raise NotWhole(f"{counted(count, 'record')}; the last whole file had {before:,}")

    async def __call__(  # noqa: PLR0913 (the options of a load)
        self,
        source: RegisterSource,
        items: Iterator[Piece],
        *,
        file_version: SourceVersion,
        publish_events: bool | None = None,
        force: bool = False,
        tally: Tally | None = None,
    ) -> Tally:
        """Loads every intact document, counted in `tally`; a truncated file as far as it goes.

        `publish_events` decides whether changes become events; None publishes them once a file of
        the source has been loaded to its end. A file loaded with `force` may be a part of the
        register, so later files are not compared with it. Raises `Unavailable`; written records
        stay, and loading the same file again continues from there.
        """
        if publish_events is None:
            publish_events = await self.stores.states.is_loaded(source.name)
        await self.stores.states.begin(source.name, at=self.stores.now())
        tally = tally or Tally()
        apply = partial(self.stores.apply, file_version=file_version, publish_events=publish_events)
        try:
            take_batch = partial(next_batch, items, tally)
            await self._load(source, take_batch, apply, tally, file_version)
        except ExceptionGroup as failures:
            # The first failure cancels the other tasks, so it is the cause.
            raise failures.exceptions[0] from None
        if tally.broken is None and tally.read > tally.results["refused"]:
            whole = None if force else self.origin
            await self.stores.states.finish(
                source.name, at=self.stores.now(), counts=tally.of_file(), whole=whole
            )
        return tally

    async def _load(
        self,
        source: RegisterSource,
        take_batch: TakeBatch,
        apply: Apply,
        tally: Tally,
        file_version: SourceVersion,
    ) -> None:
        async with (
            asyncio.TaskGroup() as group,
            aclosing(self._found(source, take_batch, group)) as found,
        ):
            writing = Writes(tally, self.stale)
            async for documents in found:
                mistakes: list[RegisteredInError] = []
                for batch in distinct(self._to_store(documents, tally, mistakes)):
                    await writing.begin(group, apply, batch)
                if mistakes:
                    await writing.end()  # They end what is stored.
                    for batch in distinct(await self._ended(mistakes, file_version, tally)):
                        await writing.begin(group, apply, batch)
            await writing.end()

    async def _ended(
        self, mistakes: Sequence[RegisteredInError], file_version: SourceVersion, tally: Tally
    ) -> Iterator[Stored]:
        """Returns what is stored of records that were registered in error; counts the others."""
        ended = await self.stores.apply.ended_by_mistake(mistakes, file_version)
        if missing := len(mistakes) - len(ended):
            tally.results["elsewhere"] += missing
            tally.elsewhere["registered in error"] += missing
        return iter(ended)

    async def _found(
        self, source: RegisterSource, take_batch: TakeBatch, group: asyncio.TaskGroup
    ) -> AsyncGenerator[Sequence[ReadResult], None]:
        """Yields the parsed batches in order; the next ones are parsed meanwhile."""
        reading: deque[asyncio.Task[Sequence[ReadResult]]] = deque()
        while True:
            while len(reading) < _AHEAD and (documents := await asyncio.to_thread(take_batch)):
                today = self.stores.today()
                reading.append(group.create_task(self.read(source, documents, today)))
            if not reading:
                return
            yield await reading.popleft()

    def _to_store(
        self, found: Sequence[ReadResult], tally: Tally, mistakes: list[RegisteredInError]
    ) -> Iterator[Stored]:
        """Yields the records to store; mistakes are added to theirs, the others are counted."""
        for one in found:
            match one:
                case UnchangedDocument():
                    tally.results[Verdict.UNCHANGED.value] += 1
                case Rejected():
                    tally.results["refused"] += 1
                    self.refuse(one)
                case RegisteredInError():
                    mistakes.append(one)
                case OutOfScope():
                    tally.results["elsewhere"] += 1
                    tally.elsewhere[one.reason] += 1
                case _:
                    tally.odd.noticed((one,))
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
