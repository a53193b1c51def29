"""Entities are fetched again: those of a feed, and those in which whole files differ."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from common.contracts.company import CompanyKey, Country, RegisterKey, UnitKey
from ingest.changes.states import WRITTEN, ApplyContext, Known, Plan
from ingest.changes.unit_plans import Ended, ended_record, has_ended
from ingest.following.dependencies import CompaniesFirst, Download, SeenKeys
from ingest.loading.load import BATCH, Found, Piece, Tally, fill
from ingest.loading.read import ReadDocuments, UnchangedDocument
from ingest.loading.stores import Stores
from ingest.records.records import (
    CompanyRecord,
    OwnersRecord,
    Rejected,
    SourceVersion,
    UnitRecord,
    to_milliseconds,
)
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg.api import (
    AboutNumber,
    BrregEntities,
    ChangeNotice,
    Gone,
    Present,
    Unknown,
    Unusable,
)

#: Numbers in one request; more would make the URL too long for servers.
LIST = 200

Versioned = CompanyRecord | UnitRecord | OwnersRecord


@dataclass(frozen=True, slots=True)
class RefreshEntities:
    """Stores the current records of changed numbers, one batch while the next is fetched."""

    source: RegisterSource
    entities: BrregEntities
    stores: Stores
    #: Stores the companies of new records first.
    prepare: CompaniesFirst | None
    #: Purges the record of a number; returns True if it was stored.
    purge: Callable[[str], Awaitable[bool]]

    async def __call__(self, changed: Sequence[ChangeNotice], tally: Tally) -> None:
        """Stores the register's current record of each number; numbers must be distinct."""
        publish_events = await self.stores.states.is_loaded(self.source.name)
        lists = (changed[start : start + LIST] for start in range(0, len(changed), LIST))
        try:
            async with asyncio.TaskGroup() as group:
                asking = (group.create_task(self._ask(some)) for some in lists)
                task = next(asking, None)
                while task is not None:
                    asked = await task
                    # The next batch is fetched while this one is stored.
                    task = next(asking, None)
                    await self._store(asked, tally, publish_events=publish_events)
        except ExceptionGroup as failures:
            # The first failure cancels the other task, so it is the cause.
            raise failures.exceptions[0] from None

    async def _ask(self, some: Sequence[ChangeNotice]) -> "_Asked":
        # The answer was valid at some time after this one, which becomes the record's version: the
        # entry's own time may be older than a file without the change.
        requested_at = to_milliseconds(self.stores.now())
        notices = {notice.number: notice for notice in some}
        return _Asked(requested_at, notices, await self.entities.fetch(list(notices)))

    async def _store(self, asked: "_Asked", tally: Tally, *, publish_events: bool) -> None:
        numbers = list(asked.notices)
        records = [
            _dated(record, asked.notices[number], asked.at)
            for number, record in await self._records(numbers, asked.answers, tally)
        ]
        if records:
            if publish_events and self.prepare is not None:
                await self.prepare(records)
            version = SourceVersion(asked.at)
            verdicts = await self.stores.apply(records, version, publish_events=publish_events)
            tally.judged(records, verdicts)

    async def remove(self, number: str, tally: Tally) -> None:
        """Purges a record on the register's order."""
        was_known = await self.purge(number)
        tally.results["purged" if was_known else "unknown"] += 1

    async def _records(
        self, numbers: Sequence[str], answers: Mapping[str, AboutNumber], tally: Tally
    ) -> list[tuple[str, Versioned]]:
        ended = [number for number in numbers if isinstance(answers[number], Ended)]
        known = await self.known(ended) if ended else Known()
        found: list[tuple[str, Versioned]] = []
        for number in numbers:
            record: Versioned | None = None
            match answers[number]:
                case Present(present):
                    record = present
                case Ended() as end:
                    record = ended_record(self.key(number), end, known)
                    if record is None:
                        tally.results["unknown"] += 1
                case Gone():
                    await self.remove(number, tally)
                case Unknown():
                    tally.results["unknown"] += 1
                case Unusable(reason):
                    tally.refused(reason)
                case unexpected:
                    assert_never(unexpected)
            if record is not None:
                found.append((number, record))
        return found

    def key(self, number: str) -> CompanyKey | UnitKey:
        """Returns the key of a Norwegian company, or of a unit if the source has units."""
        if self.source.part is Part.UNIT:
            return UnitKey(Country.NO, number)
        return CompanyKey(Country.NO, number)

    async def known(self, numbers: Sequence[str]) -> Known:
        """Returns the stored state of the numbers."""
        if self.source.part is Part.UNIT:
            return await self.stores.writer.known(units=[UnitKey(Country.NO, n) for n in numbers])
        return await self.stores.writer.known(
            companies=[CompanyKey(Country.NO, n) for n in numbers]
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The answers about a batch, and the time of the request."""

    at: datetime
    notices: Mapping[str, ChangeNotice]
    answers: Mapping[str, AboutNumber]


def _dated(record: Versioned, notice: ChangeNotice, requested_at: datetime) -> Versioned:
    version = SourceVersion(requested_at, notice.sequence)
    if isinstance(record, CompanyRecord):
        return replace(record, version=version, updated_at=notice.at)
    return replace(record, version=version)


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
