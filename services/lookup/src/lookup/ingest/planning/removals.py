"""Plans for production units that their register ordered removed."""

from dataclasses import replace

from common.contracts.company import UnitKey
from lookup.ingest.changes import unit_removal
from lookup.ingest.events import OutboxEvent, events_of_change
from lookup.ingest.planning.einvoicing import einvoicing_changes
from lookup.ingest.planning.states import (
    ApplyContext,
    Bump,
    Known,
    ParticipantDrop,
    Plan,
    UnitRemoval,
)


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
    return Plan(
        bumps=bumps,
        drops=tuple(ParticipantDrop(name, state.revision) for name, state in held.items()),
        removals=(UnitRemoval(key, stored.revision if stored else None, company, context.at),),
        outbox_events=tuple(event for bump in bumps for event in _events(key, bump, known, context))
        if context.publish_events
        else (),
    )


def _events(key: UnitKey, bump: Bump, known: Known, context: ApplyContext) -> list[OutboxEvent]:
    left = {name: state for name, state in known.participants.items() if state.holder != key}
    after = replace(known, participants=left)
    return list(
        events_of_change(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=(
                unit_removal(key.number),
                *einvoicing_changes(bump.key, known, after),
            ),
            at=context.at,
        )
    )
