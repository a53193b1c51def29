"""Purges companies and units that their register ordered removed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from common.contracts.company import CompanyKey, UnitKey
from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.load_states import LoadStates
from lookup.ingest.planning.removals import plan_unit_removal
from lookup.ingest.planning.states import ApplyContext, Plan
from lookup.ingest.records import SourceVersion


@dataclass(frozen=True, slots=True)
class RemoveCompany:
    #: The source of companies of the register.
    source: str
    writer: RegisterWriter
    states: LoadStates
    now: Callable[[], datetime]

    async def __call__(self, key: CompanyKey) -> bool:
        """Purges a company and leaves a tombstone; False if unknown.

        An event is published, except during the first load of the register.
        """
        publish_events = await self.states.is_loaded(self.source)
        return await self.writer.remove(key, at=self.now(), publish_events=publish_events)


@dataclass(frozen=True, slots=True)
class RemoveUnit:
    source: str
    apply: ApplyRecords
    writer: RegisterWriter
    states: LoadStates
    now: Callable[[], datetime]

    async def __call__(self, key: UnitKey) -> bool:
        """Purges a unit with its identifiers and leaves a tombstone; False if unknown.

        The event says only that the unit ended.
        """
        publish_events = await self.states.is_loaded(self.source)
        now = self.now()
        context = ApplyContext(SourceVersion(now), now, publish_events)

        async def plan() -> Plan:
            known = await self.writer.known(units=[key])
            unit = known.units.get(key)
            holders: set[CompanyKey | UnitKey] = {key}
            if unit is not None and unit.company is not None:
                holders.add(unit.company)
            known = await self.writer.with_all_participants(known, holders)
            return plan_unit_removal(key, known, context)

        done = await self.apply.through(plan)
        return any(removal.expected is not None for removal in done.removals)
