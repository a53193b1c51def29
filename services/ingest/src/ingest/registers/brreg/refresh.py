"""Entities are fetched again: those of a feed, and those in which whole files differ."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from common.contracts.company import CompanyKey, Country, RegisterKey, UnitKey
from ingest.changes.states import WRITTEN, ApplyContext, Plan, StoredState
from ingest.changes.unit_plans import Ended, ended_record, has_ended, withdrawn
from ingest.following.dependencies import CompaniesFirst, Download, SeenKeys
from ingest.loading.load import BATCH, ReadDocuments, Tally, take
from ingest.loading.stores import Stores
from ingest.records.records import (
    CompanyRecord,
    OwnersRecord,
    SourceVersion,
    Stored,
    UnitRecord,
    to_milliseconds,
)
from ingest.records.source import Part, RegisterSource
from ingest.registers.brreg.api import (
    AboutNumber,
    Absent,
    BrregEntities,
    ChangeNotice,
    Present,
    Unusable,
)

#: Numbers in one request; more would make the URL too long for servers.
LIST = 200

Versioned = CompanyRecord | UnitRecord | OwnersRecord
#: The time of a request, the notices of its batch, and the answers about their numbers.
Answers = tuple[datetime, Mapping[str, ChangeNotice], Mapping[str, AboutNumber]]


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

    async def _ask(self, some: Sequence[ChangeNotice]) -> Answers:
        # The answer was valid at some time after this one, which becomes the record's version: the
        # entry's own time may be older than a file without the change.
        requested_at = to_milliseconds(self.stores.now())
        notices = {notice.number: notice for notice in some}
        return requested_at, notices, await self.entities.fetch(list(notices))

    async def _store(self, asked: Answers, tally: Tally, *, publish_events: bool) -> None:
        at, notices, answers = asked
        records: list[Versioned] = []
        for number, record in await self._records(list(notices), answers, tally):
            version = SourceVersion(at, notices[number].sequence)
            records.append(
                replace(record, version=version, updated_at=notices[number].at)
                if isinstance(record, CompanyRecord)
                else replace(record, version=version)
            )
        if records:
            if publish_events and self.prepare is not None:
                await self.prepare(records)
            verdicts = await self.stores.apply(
                records, SourceVersion(at), publish_events=publish_events
            )
            tally.judged(records, verdicts)

    async def remove(self, number: str, tally: Tally) -> None:
        """Purges a record on the register's order."""
        was_known = await self.purge(number)
        tally.results["purged" if was_known else "unknown"] += 1

    async def _records(
        self, numbers: Sequence[str], answers: Mapping[str, AboutNumber], tally: Tally
    ) -> list[tuple[str, Versioned]]:
        gone = [number for number in numbers if isinstance(answers[number], Ended | Absent)]
        known = await self.known(gone) if gone else StoredState()
        found: list[tuple[str, Versioned]] = []
        for number in numbers:
            record: Versioned | None = None
            match answers[number]:
                case Present(present):
                    record = present
                case Absent.REMOVED:
                    await self.remove(number, tally)
                case (Ended() | Absent.WITHOUT_ROLES | Absent.UNKNOWN) as absence:
                    record = self._last(number, absence, known)
                    if record is None:
                        tally.results["unknown"] += 1
                case Unusable(reason):
                    tally.refused(reason)
                case unexpected:
                    assert_never(unexpected)
            if record is not None:
                found.append((number, record))
        return found

    def _last(self, number: str, absence: Ended | Absent, known: StoredState) -> Versioned | None:
        """Returns what a stored record becomes that the register does not have any more, if any."""
        match absence:
            case Ended():
                return ended_record(self.key(number), absence, known)
            case Absent.WITHOUT_ROLES:
                return withdrawn(CompanyKey(Country.NO, number), known)
            case _:
                return None

    def key(self, number: str) -> CompanyKey | UnitKey:
        """Returns the key of a Norwegian company, or of a unit if the source has units."""
        if self.source.part is Part.UNIT:
            return UnitKey(Country.NO, number)
        return CompanyKey(Country.NO, number)

    async def known(self, numbers: Sequence[str]) -> StoredState:
        """Returns the stored state of the numbers."""
        if self.source.part is Part.UNIT:
            return await self.stores.writer.known(units=[UnitKey(Country.NO, n) for n in numbers])
        return await self.stores.writer.known(
            companies=[CompanyKey(Country.NO, n) for n in numbers]
        )


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
        while documents := await asyncio.to_thread(take, items):
            found = await self.read(self.source, documents, self.stores.today())
            usable = list(tally.usable(found))
            for one in usable:
                in_file.add(one.key)
            batch = [one for one in usable if isinstance(one, Stored)]
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
        differing += await self._absent(in_file, file.version, tally)
        await self._confirm(differing, file.version.at, tally)
        tally.reconciled = True

    async def _confirm(self, numbers: Sequence[str], at: datetime, tally: Tally) -> None:
        """Fetches the numbers, as changed at the file's time."""
        tally.differences += len(numbers)
        await self.refresh(
            [ChangeNotice(number, at=at) for number in dict.fromkeys(numbers)], tally
        )

    async def _absent(self, in_file: SeenKeys, version: SourceVersion, tally: Tally) -> list[str]:
        """Returns the numbers stored before the file was made and absent from it.

        Files contain no ended ones; roles that are stored of those are withdrawn.
        """
        missing: list[str] = []
        async for keys in self.stores.parts.keys(self.source, until=version.at):
            missing += [RegisterKey.parse(key).number for key in keys if key not in in_file]
        standing: list[str] = []
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            known = await self.refresh.known(some)
            ended = {one for one in some if has_ended(self.refresh.key(one), known)}
            standing += [one for one in some if one not in ended]
            if self.source.part is Part.OWNERS:
                await self._withdraw(ended, known, version, tally)
        return standing

    async def _withdraw(
        self, ended: Collection[str], known: StoredState, version: SourceVersion, tally: Tally
    ) -> None:
        """Stores that ended companies have no owners and roles any more."""
        records = [withdrawn(CompanyKey(Country.NO, number), known) for number in sorted(ended)]
        batch = [record for record in records if record is not None]
        if batch:
            tally.differences += len(batch)
            publish_events = await self.stores.states.is_loaded(self.source.name)
            tally.judged(
                batch, await self.stores.apply(batch, version, publish_events=publish_events)
            )
