"""Purges companies and units that their register ordered removed.

`source` is the name of the one that they are from. Events are published, except during its first
load.
"""

from common.contracts.company import CompanyKey, UnitKey
from lookup.changes.states import ApplyContext, Plan
from lookup.changes.units import plan_unit_removal
from lookup.loading.stores import Stores
from lookup.records.records import SourceVersion


async def remove_company(stores: Stores, source: str, key: CompanyKey) -> bool:
    """Purges a company and leaves a tombstone; False if unknown."""
    publish_events = await stores.states.is_loaded(source)
    return await stores.writer.remove(key, at=stores.now(), publish_events=publish_events)


async def remove_unit(stores: Stores, source: str, key: UnitKey) -> bool:
    """Purges a unit with its identifiers and leaves a tombstone; False if unknown.

    The event says only that the unit ended.
    """
    publish_events = await stores.states.is_loaded(source)
    now = stores.now()
    context = ApplyContext(SourceVersion(now), now, publish_events)

    async def plan() -> Plan:
        known = await stores.writer.known(units=[key])
        unit = known.units.get(key)
        holders: set[CompanyKey | UnitKey] = {key}
        if unit is not None and unit.company is not None:
            holders.add(unit.company)
        known = await stores.writer.with_all_participants(known, holders)
        return plan_unit_removal(key, known, context)

    done = await stores.apply.through(plan)
    return any(removal.expected is not None for removal in done.removals)
