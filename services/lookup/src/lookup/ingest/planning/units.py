"""Plans for production units, which are stored by themselves and published with their company."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey, ProductionUnit
from lookup.ingest.changes import PendingEvent, PlacedUnit, unit_events
from lookup.ingest.digests import Part
from lookup.ingest.planning.bumps import einvoicing_changes, events_of_bumps
from lookup.ingest.planning.states import (
    WRITTEN,
    ApplyContext,
    DigestUpdate,
    Known,
    Plan,
    UnitState,
    UnitWrite,
    Verdict,
    judge,
    renewal,
)
from lookup.ingest.records import UnitRecord


def plan_units(records: Sequence[UnitRecord], known: Known, context: ApplyContext) -> Plan:
    """Plans units; one that appears or moves takes its e-invoicing identifiers along.

    For events, `known` must contain all identifiers of the companies.
    """
    verdicts: list[Verdict] = []
    writes: list[UnitWrite] = []
    digest_updates: list[DigestUpdate] = []
    pending: defaultdict[CompanyKey, list[PendingEvent]] = defaultdict(list)
    for record in records:
        verdict, write = _unit(record, known, context)
        verdicts.append(verdict)
        if isinstance(write, DigestUpdate):
            digest_updates.append(write)
        if not isinstance(write, UnitWrite):
            continue
        writes.append(write)
        stored = known.units.get(record.key)
        # The revision of both companies is raised, even without an event.
        for company in (stored.company if stored else None, record.company):
            if company is not None:
                pending[company] += ()
        for company, pending_event in unit_events(
            _placed(stored), PlacedUnit(record.unit, record.company)
        ):
            pending[company].append(pending_event)
    after = replace(known, units={**known.units, **{write.key: write.state for write in writes}})
    if known.participants:
        for company in pending:
            pending[company] += einvoicing_changes(company, known, after)
    bumps = known.bumps(pending)
    return Plan(
        tuple(verdicts),
        bumps=bumps,
        units=tuple(writes),
        outbox_events=events_of_bumps(bumps, known, context, pending.__getitem__),
        digest_updates=tuple(digest_updates),
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
) -> tuple[Verdict, UnitWrite | DigestUpdate | None]:
    if not {record.key, record.company}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    stored = known.units.get(record.key)
    core = record.core
    version = record.version or context.file_version
    if stored is None:
        verdict = Verdict.NEW
    else:
        same = (core, record.company, record.phones) == (stored.core, stored.company, stored.phones)
        verdict = judge(same=same, stored=stored.version, read=version)
        if verdict is Verdict.UNCHANGED:
            return verdict, renewal(
                Part.UNIT, record.key, stored.revision, stored=stored.digest, read=record.digest
            )
    if verdict not in WRITTEN:
        return verdict, None
    revision = 1 if stored is None else stored.revision + 1
    state = UnitState(revision, core, record.company, record.phones, version, record.digest)
    return verdict, UnitWrite(record.key, None if stored is None else stored.revision, state)


def _placed(stored: UnitState | None) -> PlacedUnit | None:
    if stored is None:
        return None
    return PlacedUnit(ProductionUnit.model_validate_json(stored.core), stored.company)
