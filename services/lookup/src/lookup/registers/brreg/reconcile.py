"""Comparing all that is stored with a register's whole file, to find what its feed missed.

The file is older than the register. What was stored after it was made is left alone, and every
other difference, absences included, is confirmed by fetching: no file reverts a newer value.
"""

import asyncio
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lookup.ingest.apply import ApplyRecords
from lookup.ingest.feeds import ChangeNotice, is_over
from lookup.ingest.load import BATCH, Found, Piece, fill
from lookup.ingest.planning.states import WRITTEN, ApplyContext, Plan
from lookup.ingest.read import ReadDocuments, Same
from lookup.ingest.records import CompanyRecord, OwnersRecord, Rejected, UnitRecord
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.seen_keys import holds
from lookup.ingest.sources import Download, StoredKeys
from lookup.ingest.tally import Tally
from lookup.registers.brreg.refresh import LIST, RefreshEntities, Versioned


@dataclass(frozen=True, slots=True)
class Reconcile:
    source: RegisterSource
    bring: RefreshEntities
    read: ReadDocuments
    apply: ApplyRecords
    keys: StoredKeys
    now: Callable[[], datetime]

    async def __call__(self, file: Download, tally: Tally) -> None:
        """Raises FileBroken where the file has no sound end: then nothing counts as absent."""
        in_file = array("I")
        doubtful: list[str] = []
        given = ApplyContext(file.version, self.now())
        items = file.documents()
        while documents := await asyncio.to_thread(_next, items):
            found = await self.read(self.source, documents)
            sound = list(_sound(found, tally))
            in_file.extend(int(_number(one)) for one in sound)
            batch = [one for one in sound if not isinstance(one, Same)]
            plan = await self.apply.plan(batch, given) if batch else Plan()
            pairs = zip(batch, plan.verdicts, strict=True)
            doubtful += [_number(record) for record, verdict in pairs if verdict in WRITTEN]
            if len(doubtful) >= LIST:
                await self._confirm(doubtful, file.version.at, tally)
                doubtful = []
        doubtful += await self._absent(array("I", sorted(in_file)), file.version.at)
        await self._confirm(doubtful, file.version.at, tally)
        tally.reconciled = True

    async def _confirm(self, numbers: Sequence[str], at: datetime, tally: Tally) -> None:
        """Fetches them; by the file they had changed at its time."""
        tally.differences += len(numbers)
        await self.bring([ChangeNotice(number, at=at) for number in dict.fromkeys(numbers)], tally)

    async def _absent(self, in_file: "array[int]", until: datetime) -> list[str]:
        """What is stored, was stored before the file was made, and is not in it."""
        missing: list[str] = []
        async for keys in self.keys.of(self.source, until=until):
            numbers = [key.partition(":")[2] for key in keys]
            missing += [number for number in numbers if not holds(in_file, int(number))]
        return [number for some in _lists(missing) for number in await self._standing(some)]

    async def _standing(self, numbers: Sequence[str]) -> list[str]:
        """Those that have not ended by what is stored; the files have no ended ones."""
        known = await self.bring.known(numbers)
        return [number for number in numbers if not is_over(self.bring.key(number), known)]


def _next(items: Iterator[Piece]) -> list[Piece]:
    """The next list; empty at the end. Unpacks and cuts, so it takes its time."""
    found: list[Piece] = []
    fill(found, items)
    return found


def _sound(found: Sequence[Found], tally: Tally) -> Iterator[Versioned | Same]:
    for one in found:
        tally.read += 1
        match one:
            case CompanyRecord() | UnitRecord() | OwnersRecord() | Same():
                yield one
            case Rejected(reason=reason):
                tally.refused(reason)
            case _:
                tally.results["elsewhere"] += 1


def _number(record: Versioned | Same) -> str:
    return record.key.partition(":")[2]


def _lists(numbers: Sequence[str]) -> Iterator[Sequence[str]]:
    return (numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH))
