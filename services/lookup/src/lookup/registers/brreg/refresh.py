"""Bringing the present state of numbers into the register: fetched in lists, stored in lists."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from common.contracts.company import CompanyKey, Country, UnitKey, company_key, unit_key
from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.companies_first import Records
from lookup.ingest.digests import Part
from lookup.ingest.feeds import (
    Answer,
    ChangeNotice,
    Ended,
    Gone,
    Present,
    Unknown,
    Unusable,
    ended_record,
)
from lookup.ingest.load import LoadStates
from lookup.ingest.planning.states import Known
from lookup.ingest.records import CompanyRecord, OwnersRecord, SourceVersion, UnitRecord
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Entities
from lookup.ingest.tally import Tally

#: Numbers in one request: with more the address becomes longer than servers take.
LIST = 200

Versioned = CompanyRecord | UnitRecord | OwnersRecord


@dataclass(frozen=True, slots=True)
class RefreshEntities:
    source: RegisterSource
    entities: Entities
    writer: RegisterWriter
    apply: ApplyRecords
    states: LoadStates
    #: Sees to it that the companies of new records are there.
    prepare: Callable[[Records], Awaitable[None]]
    #: Purges what has this number; whether it was known.
    purge: Callable[[str], Awaitable[bool]]
    now: Callable[[], datetime]

    async def __call__(self, changed: Sequence[ChangeNotice], tally: Tally) -> None:
        """Stores what the register now has of each of them, no number twice."""
        publish_events = await self.states.is_loaded(self.source.name)
        lists = (changed[start : start + LIST] for start in range(0, len(changed), LIST))
        try:
            async with asyncio.TaskGroup() as group:
                asking = (group.create_task(self._ask(some)) for some in lists)
                task = next(asking, None)
                while task is not None:
                    asked = await task
                    # The next list is asked for while this one is stored.
                    task = next(asking, None)
                    await self._store(asked, tally, publish_events=publish_events)
        except ExceptionGroup as failures:
            # Once one of them has failed the other is cancelled, so the first is the reason.
            raise failures.exceptions[0] from None

    async def _ask(self, some: Sequence[ChangeNotice]) -> "_Asked":
        # What an answer tells held at some time after this one. It is the record's version: the
        # entry's own time may be long ago, and older than a file without the change.
        asked_at = _milliseconds(self.now())
        notices = {mention.number: mention for mention in some}
        return _Asked(asked_at, notices, await self.entities.fetch(list(notices)))

    async def _store(self, asked: "_Asked", tally: Tally, *, publish_events: bool) -> None:
        numbers = list(asked.notices)
        records = [
            _dated(record, asked.notices[number], asked.at)
            for number, record in await self._records(numbers, asked.answers, tally)
        ]
        if records:
            if publish_events:
                await self.prepare(records)
            version = SourceVersion(asked.at)
            tally.judged(await self.apply(records, version, publish_events=publish_events))

    async def remove(self, number: str, tally: Tally) -> None:
        """The register orders it removed."""
        was_known = await self.purge(number)
        tally.results["purged" if was_known else "unknown"] += 1

    async def _records(
        self, numbers: Sequence[str], answers: Mapping[str, Answer], tally: Tally
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
                    record = ended_record(self.source.part, self.key(number), end, known)
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
        if self.source.part is Part.UNIT:
            return unit_key(Country.NO, number)
        return company_key(Country.NO, number)

    async def known(self, numbers: Sequence[str]) -> Known:
        """What is stored of them."""
        if self.source.part is Part.UNIT:
            return await self.writer.known(units=[unit_key(Country.NO, n) for n in numbers])
        return await self.writer.known(companies=[company_key(Country.NO, n) for n in numbers])


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the register answered about a list, and when it was asked."""

    at: datetime
    notices: Mapping[str, ChangeNotice]
    answers: Mapping[str, Answer]


def _dated(record: Versioned, mention: ChangeNotice, asked_at: datetime) -> Versioned:
    version = SourceVersion(asked_at, mention.sequence)
    if isinstance(record, CompanyRecord):
        return replace(record, version=version, updated_at=mention.at)
    return replace(record, version=version)


def _milliseconds(moment: datetime) -> datetime:
    """MongoDB keeps milliseconds, and what is compared with it must not have more."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
