"""Plans for production units that their register ordered removed."""

from dataclasses import replace

from common.contracts.company import CompanyKey, UnitKey
from lookup.ingest.changes import PendingEvent, unit_removal
from lookup.ingest.planning.bumps import einvoicing_changes, events_of_bumps
from lookup.ingest.planning.states import ApplyContext, Known, ParticipantDrop, Plan, UnitRemoval


def plan_unit_removal(key: UnitKey, known: Known, context: ApplyContext) -> Plan:
    """Purges a unit and its identifiers; empty if it was purged before.

    For events, `known` must contain all identifiers of its company.
    """
    stored = known.units.get(key)
    if stored is None and key in known.tombstones:
        return Plan()
    company = None if stored is None else stored.company
    bumps = () if company is None else known.bumps([company])
    held = {name: state for name, state in known.participants.items() if state.holder == key}
    left = {name: state for name, state in known.participants.items() if name not in held}
    after = replace(known, participants=left)

    def pending_events(of: CompanyKey) -> tuple[PendingEvent, ...]:
        return (unit_removal(key.number), *einvoicing_changes(of, known, after))

    return Plan(
        bumps=bumps,
        drops=tuple(ParticipantDrop(name, state.revision) for name, state in held.items()),
        removals=(UnitRemoval(key, stored.revision if stored else None, company, context.at),),
        outbox_events=events_of_bumps(bumps, known, context, pending_events),
    )
