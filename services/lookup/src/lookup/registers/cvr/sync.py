"""Following the Danish register: its documents in the order of their changes, from the first on."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from common.contracts.company import CompanyKey, UnitKey
from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.companies_first import Records
from lookup.ingest.feeds import BEGINNING, Cursor, Position, mistaken_record
from lookup.ingest.load import Item, LoadStates
from lookup.ingest.records import (
    CompanyRecord,
    RegisteredInError,
    Rejected,
    SourceVersion,
    UnitRecord,
)
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Cursors, Documents, RegisterFault
from lookup.ingest.tally import Tally

#: What a document may be about.
Documented = CompanyRecord | UnitRecord | RegisteredInError


@dataclass(frozen=True, slots=True)
class SyncDenmark:
    """Companies or production units."""

    source: RegisterSource
    documents: Documents
    writer: RegisterWriter
    apply: ApplyRecords
    states: LoadStates
    cursors: Cursors
    #: Sees to it that the companies of new records are there.
    prepare: Callable[[Records], Awaitable[None]]
    #: How long after its own time a change may turn up.
    overlap: timedelta
    now: Callable[[], datetime]

    async def __call__(self, tally: Tally) -> Cursor:
        """One pass: all that changed since the cursor, and the overlap before it once more.

        Raises RegisterAway, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        cursor = await self.cursors.read(self.source.name)
        if cursor is None:
            await self.states.begin(self.source.name, at=self.now())
            cursor = Cursor(Position(BEGINNING), until=BEGINNING)
        publish_events = await self.states.is_loaded(self.source.name)
        asked_at = self.now()
        since = max(cursor.position.at - self.overlap, BEGINNING)
        async for page in self.documents.changed_since(since):
            version = SourceVersion(asked_at)
            records = await self._records(page.items, version, tally)
            if records:
                if publish_events:
                    await self.prepare(records)
                tally.judged(await self.apply(records, version, publish_events=publish_events))
            # A document may be dated far ahead; nothing that comes before it may be passed.
            times = [time for time in page.times if time <= asked_at]
            tally.standing = 0 if times else tally.standing + len(page.items)
            if times:
                reached = max(*times, cursor.position.at)
                until = max(cursor.until, reached)
                moved = replace(cursor, position=Position(reached), until=until)
                cursor = await self.cursors.move(self.source.name, moved)
        return await self.cursors.move(
            self.source.name, await self._ended_pass(cursor, asked_at, tally)
        )

    async def _ended_pass(self, cursor: Cursor, asked_at: datetime, tally: Tally) -> Cursor:
        """Raises RegisterFault for a register without a document, which is none that was loaded."""
        if not await self.states.is_loaded(self.source.name):
            if cursor.position.at == BEGINNING:
                raise RegisterFault("the register gave no document that can be read")
            counts = {"read": tally.read, **tally.results}
            await self.states.finish(self.source.name, at=self.now(), counts=counts)
        return cursor if tally.standing else replace(cursor, until=asked_at)

    async def _records(
        self, items: Iterable[Item], version: SourceVersion, tally: Tally
    ) -> list[CompanyRecord | UnitRecord]:
        """What a page's documents say, one record each."""
        found = _newest_of_each(_sound(items, tally))
        mistakes = [record for record in found if isinstance(record, RegisteredInError)]
        records = [record for record in found if not isinstance(record, RegisteredInError)]
        return records + await self._ended(mistakes, version, tally)

    async def _ended(
        self, mistakes: Sequence[RegisteredInError], version: SourceVersion, tally: Tally
    ) -> list[CompanyRecord | UnitRecord]:
        """Those mistakes that were stored; the others are none of ours."""
        if not mistakes:
            return []
        known = await self.writer.known(
            companies=[CompanyKey(mistake.key) for mistake in mistakes],
            units=[UnitKey(mistake.key) for mistake in mistakes],
        )
        found = [
            mistaken_record(self.source.part, mistake.key, mistake.version or version, known)
            for mistake in mistakes
        ]
        tally.results["elsewhere"] += found.count(None)
        return [record for record in found if record is not None]


def _sound(items: Iterable[Item], tally: Tally) -> Iterator[Documented]:
    for item in items:
        tally.read += 1
        match item:
            case CompanyRecord() | UnitRecord() | RegisteredInError():
                yield item
            case Rejected(reason=reason):
                tally.refused(reason)
            case _:
                tally.results["elsewhere"] += 1


def _newest_of_each(records: Iterable[Documented]) -> list[Documented]:
    """A document that changes while it is read may be on a page twice; the later one counts."""
    return list({record.key: record for record in records}.values())
