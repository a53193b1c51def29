"""Plans for production units, which are stored by themselves and published with their company."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey, ProductionUnit, UnitKey
from lookup.ingest.changes import PendingEvent, PlacedUnit, unit_events
from lookup.ingest.digests import Part
from lookup.ingest.planning.bumps import einvoicing_changes, events_of_bumps
from lookup.ingest.planning.states import (
    ApplyContext,
    Known,
    PartWrite,
    Plan,
    UnitState,
    Verdict,
)
from lookup.ingest.planning.verdicts import Decision, decide, sorted_out
from lookup.ingest.records import UnitRecord


def plan_units(records: Sequence[UnitRecord], known: Known, context: ApplyContext) -> Plan:
    """Plans units; one that appears or moves takes its e-invoicing identifiers along.

    For events, `known` must contain all identifiers of the companies.
    """
    verdicts, writes, digest_updates = sorted_out([_unit(r, known, context) for r in records])
    pending: defaultdict[CompanyKey, list[PendingEvent]] = defaultdict(list)
    for write in writes:
        stored = known.units.get(write.key)
        # The revision of both companies is raised, even without an event.
        for company in (stored.company if stored else None, write.state.company):
            if company is not None:
                pending[company] += ()
        before = None if stored is None else _placed(stored)
        for company, pending_event in unit_events(before, _placed(write.state)):
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
    )


def movers(records: Iterable[UnitRecord], known: Known) -> list[UnitRecord]:
    """The units that join or leave a company."""
    return [
        record
        for record in records
        if (stored := known.units.get(record.key)) is None or stored.company != record.company
    ]


def _unit(
    record: UnitRecord, known: Known, context: ApplyContext
) -> Decision[PartWrite[UnitKey, UnitState]]:
    if not {record.key, record.company}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    version = record.version or context.file_version
    read = UnitState(1, record.core, record.company, record.phones, version, record.digest)
    return decide(Part.UNIT, record.key, known.units.get(record.key), read)


def _placed(state: UnitState) -> PlacedUnit:
    return PlacedUnit(ProductionUnit.model_validate_json(state.core), state.company)
