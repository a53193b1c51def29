"""Production units that their register ordered removed."""

from dataclasses import replace

from common.contracts.company import UnitKey
from lookup.ingest.changes import unit_removal
from lookup.ingest.events import OutboxEvent, announce
from lookup.ingest.planning.einvoicing import einvoicing_changes
from lookup.ingest.planning.states import (
    ApplyContext,
    Bump,
    Known,
    ParticipantDrop,
    Plan,
    UnitRemoval,
)


def plan_unit_removal(key: UnitKey, known: Known, given: ApplyContext) -> Plan:
    """Purges a unit and its identifiers; to tell of it, `known` has to hold all of its company's.

    Nothing where that was done before.
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
        removals=(UnitRemoval(key, stored.revision if stored else None, company, given.at),),
        outbox_events=tuple(
            announcement for bump in bumps for announcement in _told(key, bump, known, given)
        )
        if given.publish_events
        else (),
    )


def _told(key: UnitKey, bump: Bump, known: Known, given: ApplyContext) -> list[OutboxEvent]:
    left = {name: state for name, state in known.participants.items() if state.holder != key}
    after = replace(known, participants=left)
    return list(
        announce(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=(
                unit_removal(_number(key)),
                *einvoicing_changes(bump.key, known, after),
            ),
            at=given.at,
        )
    )


def _number(key: UnitKey) -> str:
    return key.partition(":")[2]
