"""Production units: stored each for itself, told of the company they belong to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey, ProductionUnit
from lookup.ingest.changes import PendingEvent, PlacedUnit, unit_occurrences
from lookup.ingest.digests import Part
from lookup.ingest.events import OutboxEvent, announce
from lookup.ingest.planning.einvoicing import einvoicing_changes
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


def plan_units(records: Sequence[UnitRecord], known: Known, given: ApplyContext) -> Plan:
    """A unit that comes or moves takes its e-invoicing identifiers along.

    To tell of that, `known` has to hold all identifiers of the companies concerned.
    """
    verdicts: list[Verdict] = []
    writes: list[UnitWrite] = []
    digest_updates: list[DigestUpdate] = []
    told: defaultdict[CompanyKey, list[PendingEvent]] = defaultdict(list)
    for record in records:
        verdict, write = _unit(record, known, given)
        verdicts.append(verdict)
        if isinstance(write, DigestUpdate):
            digest_updates.append(write)
        if not isinstance(write, UnitWrite):
            continue
        writes.append(write)
        stored = known.units.get(record.key)
        # The revision of both companies rises, whether or not there is something to tell.
        for company in (stored.company if stored else None, record.company):
            if company is not None:
                told[company] += ()
        for company, occurrence in unit_occurrences(
            _placed(stored), PlacedUnit(record.unit, record.company)
        ):
            told[company].append(occurrence)
    after = replace(known, units={**known.units, **{write.key: write.state for write in writes}})
    if known.participants:
        for company in told:
            told[company] += einvoicing_changes(company, known, after)
    return Plan(
        tuple(verdicts),
        bumps=known.bumps(told),
        units=tuple(writes),
        outbox_events=_announced(told, known, given) if given.publish_events else (),
        digest_updates=tuple(digest_updates),
    )


def movers(records: Iterable[UnitRecord], known: Known) -> list[UnitRecord]:
    """Those that come to a company, or leave one."""
    return [
        record
        for record in records
        if (stored := known.units.get(record.key)) is None or stored.company != record.company
    ]


def _unit(
    record: UnitRecord, known: Known, given: ApplyContext
) -> tuple[Verdict, UnitWrite | DigestUpdate | None]:
    if not {record.key, record.company}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    stored = known.units.get(record.key)
    core = record.core
    version = record.version or given.file_version
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


def _announced(
    told: Mapping[CompanyKey, Sequence[PendingEvent]], known: Known, given: ApplyContext
) -> tuple[OutboxEvent, ...]:
    return tuple(
        announcement
        for bump in known.bumps(told)
        for announcement in announce(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=told[bump.key],
            at=given.at,
        )
    )
