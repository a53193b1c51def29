"""Loading a register file: read, compare with what is stored, write what differs, in lists."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, assert_never

from lookup.domain.planning.states import Verdict
from lookup.domain.records import (
    CompanyRecord,
    Elsewhere,
    FileBroken,
    Kind,
    OwnersRecord,
    ParticipantRecord,
    Record,
    Refused,
    RemovalRecord,
    SourceVersion,
    UnitRecord,
)
from lookup.ports import LoadStates
from lookup.usecases.apply import ApplyRecords, Stored, identity, touched

#: Records in a transaction: one by one MongoDB took 350 a second in probes, in lists of 500 over
#: ten thousand; longer lists gained nothing.
BATCH = 500
#: Transactions under way while the next list is read.
IN_FLIGHT = 3

Item = Record | Refused


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
    def is_of_another_kind(self) -> bool:
        """Whether nothing in the file was what it was taken for: then nothing has been loaded."""
        return 0 < self.read == self.refused

    def counts(self) -> dict[str, int]:
        """All of it in numbers; what was read is the sum of the rest."""
        return {
            "read": self.read,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "elsewhere": self.elsewhere.total(),
            "refused": self.refused,
        }


@dataclass(frozen=True, slots=True)
class LoadFile:
    apply: ApplyRecords
    states: LoadStates
    now: Callable[[], datetime]
    #: Is told of each refused record as it is met.
    refuse: Callable[[Refused], None]

    async def __call__(
        self,
        kind: Kind,
        items: Iterator[Item],
        *,
        file_version: SourceVersion,
        announces: bool | None = None,
    ) -> Summary:
        """Loads every whole record; a file that breaks off is loaded up to there and said to be.

        `announces` says whether changes become events; when None they do once the kind has been
        loaded to the end of a file. Raises `Outage` when the database goes away; what was written
        stays, and loading the same file again goes on from there.
        """
        if announces is None:
            announces = await self.states.is_loaded(kind)
        await self.states.begin(kind, at=self.now())
        summary = Summary()
        batches = _Batches(items, summary, self.refuse)
        write = partial(self.apply, file_version=file_version, announces=announces)
        try:
            await _write_all(batches, summary, write)
        except ExceptionGroup as failures:
            # Once one batch has failed the others are cancelled, so the first is the reason.
            raise failures.exceptions[0] from None
        if summary.broken is None and not summary.is_of_another_kind:
            await self.states.finish(kind, at=self.now(), counts=summary.counts())
        return summary


async def _write_all(
    batches: "_Batches",
    summary: Summary,
    write: Callable[[Sequence[Stored]], Coroutine[Any, Any, Sequence[Verdict]]],
) -> None:
    async with asyncio.TaskGroup() as group:
        under_way: dict[asyncio.Task[Sequence[Verdict]], set[str]] = {}
        while batch := await asyncio.to_thread(batches.next):
            keys = {key for record in batch for key in touched(record)}
            await _room(under_way, keys, summary)
            under_way[group.create_task(write(batch))] = keys
        await _room(under_way, None, summary)


async def _room(
    under_way: dict[asyncio.Task[Sequence[Verdict]], set[str]],
    keys: set[str] | None,
    summary: Summary,
) -> None:
    """Waits until another batch may start: few enough run, and none of them touches its keys.

    With `keys` None it waits for all of them.
    """

    def must_wait() -> bool:
        if keys is None:
            return bool(under_way)
        return len(under_way) >= IN_FLIGHT or any(keys & other for other in under_way.values())

    while must_wait():
        done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            summary.verdicts.update(task.result())
            del under_way[task]


class _Batches:
    """Cuts a stream of records into lists in which no record occurs twice."""

    def __init__(
        self, items: Iterator[Item], summary: Summary, refuse: Callable[[Refused], None]
    ) -> None:
        self._items = items
        self._summary = summary
        self._refuse = refuse
        #: A record that occurs twice in a list waits for the next, so that it meets its first self.
        self._kept: Stored | None = None

    def next(self) -> list[Stored]:
        """The next list; empty at the end of the file. Reads and parses, so it takes its time."""
        batch = [] if self._kept is None else [self._kept]
        seen = {identity(record) for record in batch}
        self._kept = None
        for record in self._records():
            if identity(record) in seen:
                self._kept = record
                break
            batch.append(record)
            seen.add(identity(record))
            if len(batch) == BATCH:
                break
        return batch

    def _records(self) -> Iterator[Stored]:
        try:
            for item in self._items:
                self._summary.read += 1
                match item:
                    case CompanyRecord() | OwnersRecord() | UnitRecord() | ParticipantRecord():
                        yield item
                    case Refused():
                        self._summary.refused += 1
                        self._refuse(item)
                    case Elsewhere(reason):
                        self._summary.elsewhere[reason] += 1
                    case RemovalRecord():
                        self._summary.elsewhere["a removal, which only a feed orders"] += 1
                    case _:
                        assert_never(item)
        except FileBroken as error:
            self._summary.broken = str(error)
