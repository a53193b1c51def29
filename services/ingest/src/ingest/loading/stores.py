"""The stores that importers and feeds write to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Self

from common.contracts.company import CompanyKey, UnitKey
from common.domain.countries import day_of
from common.mongo import Database
from ingest.changes.apply import ApplyRecords
from ingest.changes.parts import StoredParts
from ingest.changes.states import ApplyContext, Plan
from ingest.changes.transaction import StoredRegisterWriter
from ingest.changes.units import plan_unit_removal
from ingest.loading.progress import StoredCursors, StoredLoadStates
from ingest.records.records import SourceVersion

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Returns the current time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stored registers, and how far each source was loaded and read."""

    writer: StoredRegisterWriter
    parts: StoredParts
    states: StoredLoadStates
    cursors: StoredCursors
    now: Clock

    @classmethod
    def of(cls, register: Database, now: Clock = utc_now) -> Self:
        """Returns the stores of a database."""
        return cls(
            StoredRegisterWriter(register),
            StoredParts(register),
            StoredLoadStates(register),
            StoredCursors(register),
            now,
        )

    def today(self) -> date:
        """Returns the present day, as of which documents are read."""
        return day_of(self.now())

    @property
    def apply(self) -> ApplyRecords:
        """Applies batches of records to these stores."""
        return ApplyRecords(self.writer, self.now)

    async def remove_company(self, source: str, key: CompanyKey) -> bool:
        """Purges a company that its register ordered removed; False if unknown.

        A tombstone stays. The event is published, except during the first load of the source.
        """
        publish_events = await self.states.is_loaded(source)
        return await self.writer.remove(key, at=self.now(), publish_events=publish_events)

    async def remove_unit(self, source: str, key: UnitKey) -> bool:
        """Purges a unit with its identifiers, as `remove_company` does a company.

        The event says only that the unit ended.
        """
        now = self.now()
        publish_events = await self.states.is_loaded(source)
        context = ApplyContext(SourceVersion(now), now, publish_events)

        async def plan() -> Plan:
            known = await self.writer.known(units=[key])
            unit = known.units.get(key)
            company = None if unit is None else unit.company
            companies = [] if company is None else [company]
            known = await self.writer.with_participants(known, companies, moving=[key])
            return plan_unit_removal(key, known, context)

        done = await self.apply.through(plan)
        return any(removal.expected is not None for removal in done.removals)
