"""Compares the stored records with a register's whole file, to find changes that its feed missed.

The file is older than the register. Records stored after the file was made are left alone, and
every other difference, absences included, is confirmed by fetching: no file reverts a newer value.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from common.contracts.company import RegisterKey
from ingest.changes.ended import has_ended
from ingest.changes.states import WRITTEN, ApplyContext, Plan
from ingest.following.downloads import Download
from ingest.following.seen_keys import SeenKeys
from ingest.loading.batches import BATCH, Found, Piece, Tally, fill
from ingest.loading.read import ReadDocuments, UnchangedDocument
from ingest.loading.stores import Stores
from ingest.records.records import CompanyRecord, OwnersRecord, Rejected, UnitRecord
from ingest.records.source import RegisterSource
from ingest.registers.brreg.change_feeds import ChangeNotice
from ingest.registers.brreg.refresh import LIST, RefreshEntities, Versioned


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Compares a whole file with the store; requests each entity that differs or is absent."""

    source: RegisterSource
    refresh: RefreshEntities
    read: ReadDocuments
    stores: Stores

    async def __call__(self, file: Download, tally: Tally) -> None:
        """Compares the file; raises FileBroken if truncated: then nothing counts as absent."""
        in_file = SeenKeys()
        differing: list[str] = []
        context = ApplyContext(file.version, self.stores.now())
        items = file.documents()
        while documents := await asyncio.to_thread(_next, items):
            found = await self.read(self.source, documents, self.stores.today())
            sound = list(_sound(found, tally))
            for one in sound:
                in_file.add(one.key)
            batch = [one for one in sound if not isinstance(one, UnchangedDocument)]
            plan = await self.stores.apply.plan(batch, context) if batch else Plan()
            pairs = zip(batch, plan.verdicts, strict=True)
            differing += [
                RegisterKey.parse(record.key).number
                for record, verdict in pairs
                if verdict in WRITTEN
            ]
            if len(differing) >= LIST:
                await self._confirm(differing, file.version.at, tally)
                differing = []
        differing += await self._absent(in_file, file.version.at)
        await self._confirm(differing, file.version.at, tally)
        tally.reconciled = True

    async def _confirm(self, numbers: Sequence[str], at: datetime, tally: Tally) -> None:
        """Fetches the numbers, as changed at the file's time."""
        tally.differences += len(numbers)
        await self.refresh(
            [ChangeNotice(number, at=at) for number in dict.fromkeys(numbers)], tally
        )

    async def _absent(self, in_file: SeenKeys, until: datetime) -> list[str]:
        """Returns the numbers stored before the file was made and absent from it."""
        missing: list[str] = []
        async for keys in self.stores.parts.keys(self.source, until=until):
            missing += [RegisterKey.parse(key).number for key in keys if key not in in_file]
        standing: list[str] = []
        for start in range(0, len(missing), BATCH):
            standing += await self._standing(missing[start : start + BATCH])
        return standing

    async def _standing(self, numbers: Sequence[str]) -> list[str]:
        """Returns the numbers whose stored record has not ended; files contain no ended ones."""
        known = await self.refresh.known(numbers)
        return [number for number in numbers if not has_ended(self.refresh.key(number), known)]


def _next(items: Iterator[Piece]) -> list[Piece]:
    """Returns the next batch; empty at the end. Decompressing and parsing take time."""
    found: list[Piece] = []
    fill(found, items)
    return found


def _sound(found: Sequence[Found], tally: Tally) -> Iterator[Versioned | UnchangedDocument]:
    for one in found:
        tally.read += 1
        match one:
            case CompanyRecord() | UnitRecord() | OwnersRecord() | UnchangedDocument():
                yield one
            case Rejected(reason=reason):
                tally.refused(reason)
            case _:
                tally.results["elsewhere"] += 1
