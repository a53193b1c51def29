"""Batches of a register file: cut while it is read, written concurrently, and counted."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.changes.states import Verdict
from ingest.loading.read import UnchangedDocument
from ingest.records.records import FileBroken, RawDocument, Record, Rejected, Stored

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
