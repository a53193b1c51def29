"""Following the Danish register: its documents in the order of their changes, from the first on."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lookup.domain.feeds import BEGINNING, Cursor, Position
from lookup.domain.records import (
    CompanyRecord,
    Kind,
    Refused,
    SourceVersion,
    UnitRecord,
)
from lookup.ports import LoadStates
from lookup.usecases.apply import ApplyRecords
from lookup.usecases.load import Item
from lookup.usecases.sync.companies_first import Records
from lookup.usecases.sync.sources import Cursors, Documents
from lookup.usecases.sync.tally import Tally


@dataclass(frozen=True, slots=True)
class SyncDenmark:
    """Companies or production units."""

    kind: Kind
    documents: Documents
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

        Raises RegisterAway, RegisterFault, Outage and Conflict; what was done until then stays.
        """
        cursor = await self.cursors.read(self.kind)
        if cursor is None:
            await self.states.begin(self.kind, at=self.now())
            cursor = Cursor(Position(BEGINNING), until=BEGINNING)
        announces = await self.states.is_loaded(self.kind)
        asked_at = self.now()
        since = max(cursor.position.at - self.overlap, BEGINNING)
        async for page in self.documents.changed_since(since):
            records = _newest_of_each(self._records(page.items, tally))
            if records:
                if announces:
                    await self.prepare(records)
                version = SourceVersion(asked_at)
                tally.judged(await self.apply(records, version, announces=announces))
            if page.newest is not None:
                reached = max(page.newest, cursor.position.at)
                until = max(cursor.until, min(reached, asked_at))
                moved = replace(cursor, position=Position(reached), until=until)
                cursor = await self.cursors.move(self.kind, moved)
        if not announces:
            await self.states.finish(self.kind, at=self.now(), counts=dict(tally.results))
        return await self.cursors.move(self.kind, replace(cursor, until=asked_at))

    def _records(self, items: Iterable[Item], tally: Tally) -> Iterable[CompanyRecord | UnitRecord]:
        for item in items:
            tally.read += 1
            match item:
                case CompanyRecord() | UnitRecord():
                    yield item
                case Refused(reason=reason):
                    tally.refused(reason)
                case _:
                    tally.results["elsewhere"] += 1


def _newest_of_each(
    records: Iterable[CompanyRecord | UnitRecord],
) -> list[CompanyRecord | UnitRecord]:
    """A document that changes while it is read may be on a page twice; the later one counts."""
    return list({record.key: record for record in records}.values())
