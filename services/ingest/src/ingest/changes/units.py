"""Plans for production units, and for the removal of one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey, UnitKey
from ingest.changes.differences import unit_events, unit_removal
from ingest.changes.planning import (
    Decision,
    decide,
    einvoicing_changes,
    events_of_bumps,
    kept,
    sorted_out,
    upcoming_of,
)
from ingest.changes.states import (
    ApplyContext,
    Known,
    ParticipantDrop,
    PartWrite,
    Plan,
    UnitRemoval,
    UnitState,
    Verdict,
)
from ingest.records.digests import Part
from ingest.records.records import UnitRecord
from ingest.records.upcoming import as_of, upcoming_digest
from register_store.events.event import PendingEvent


def plan_units(records: Sequence[UnitRecord], known: Known, context: ApplyContext) -> Plan:
    """Returns the plan of units; one that appears or moves takes its identifiers along.

    For events, `known` must contain all identifiers of the companies.
    """
    records = [as_of(record, context.today) if record.upcoming else record for record in records]
    verdicts, writes, digest_updates = sorted_out([_unit(r, known, context) for r in records])
    pending: defaultdict[CompanyKey, list[PendingEvent]] = defaultdict(list)
    for write in writes:
        stored = known.units.get(write.key)
        # The revision of both companies is raised, even without an event.
        for company in (stored.company if stored else None, write.state.company):
            if company is not None:
                pending[company] += ()
        for company, pending_event in unit_events(stored, write.state):
            pending[company].append(pending_event)
    after = replace(known, units={**known.units, **{write.key: write.state for write in writes}})
    if known.participants:
        for company in pending:
            pending[company] += einvoicing_changes(company, known, after)
    bumps = known.bumps(pending)
    return Plan(
        verdicts,
        bumps=bumps,
        units=writes,
        outbox_events=events_of_bumps(bumps, known, context, pending.__getitem__),
        digest_updates=digest_updates,
        upcoming=upcoming_of(records, writes, known.units),
    )


def movers(records: Iterable[UnitRecord], known: Known) -> list[UnitRecord]:
    """Returns the units that join or leave a company."""
    return [
        record
        for record in records
        if (stored := known.units.get(record.key)) is None
        or stored.company != _company(record, stored)
    ]


def _company(record: UnitRecord, stored: UnitState | None) -> CompanyKey | None:
    """Returns the company of a unit; that which is stored if its source cannot tell it."""
    return stored.company if stored and "company" in record.unknown else record.company


def _unit(
    record: UnitRecord, known: Known, context: ApplyContext
) -> Decision[PartWrite[UnitKey, UnitState]]:
    stored = known.units.get(record.key)
    company = _company(record, stored)
    if not {record.key, company}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    read = UnitState(
        1,
        record.core if stored is None else kept(record, stored.core),
        company,
        stored.phones if stored and "phones" in record.unknown else record.phones,
        record.version or context.file_version,
        record.digest,
        upcoming_digest(record.upcoming),
    )
    replaces_same = record.version is not None
    return decide(Part.UNIT, record.key, stored, read, replaces_same=replaces_same)


def plan_unit_removal(key: UnitKey, known: Known, context: ApplyContext) -> Plan:
    """Returns the plan that purges a unit and its identifiers; empty if it was purged.

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
