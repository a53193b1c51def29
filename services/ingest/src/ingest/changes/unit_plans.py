"""Plans of changed units and e-invoicing identifiers, and of ended ones; pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from common.contracts.company import Company, CompanyKey, ProductionUnit, Status, UnitKey
from ingest.changes.company_plans import (
    Decision,
    decide,
    einvoicing_changes,
    events_of_bumps,
    kept,
    sorted_out,
    upcoming_of,
)
from ingest.changes.differences import unit_events, unit_removal
from ingest.changes.states import (
    ApplyContext,
    Bump,
    CompanyState,
    ParticipantDrop,
    ParticipantState,
    PartWrite,
    Plan,
    StoredState,
    UnitRemoval,
    UnitState,
    Verdict,
)
from ingest.records.records import (
    NO_OWNERS,
    NO_ROLES,
    CompanyRecord,
    OwnersRecord,
    ParticipantRecord,
    UnitRecord,
    as_of,
    upcoming_digest,
    without_holders,
)
from ingest.records.source import Part
from register_store.documents import dump, is_outdated_unit
from register_store.events import OutboxEvent, PendingEvent


@dataclass(frozen=True, slots=True)
class Ended:
    """The register has deleted a company or unit after its end."""

    #: The last day, `YYYY-MM-DD`; None if the register does not name it.
    on: str | None
    #: The rest of the answer; mostly too little for a record.
    record: CompanyRecord | UnitRecord | None = None
    #: The register's word for the status.
    word: str = "Slettet"


def ended_record(
    key: CompanyKey | UnitKey, ended: Ended, known: StoredState
) -> CompanyRecord | UnitRecord | None:
    """Returns the last stored record with its end, or else the answer's; None if neither exists.

    The answer has little more than the date, and lookups return name and address as well.
    """
    company = known.companies.get(CompanyKey.parse(key))
    if company is not None and company.core is not None:
        return _ended_company(company, company.core, ended)
    unit = known.units.get(UnitKey.parse(key))
    if unit is not None:
        return _ended_unit(UnitKey.parse(key), unit, ended.on)
    return ended.record


def _ended_company(state: CompanyState, core: bytes, ended: Ended) -> CompanyRecord:
    last = Company.model_validate_json(core)
    on = last.ended or ended.on
    end = {
        "status": Status.ENDED,
        "status_text": ended.word,
        "status_since": on,
        "ended": on,
    }
    record = CompanyRecord.of(last.model_copy(update=end), phones=state.phones, units=state.units)
    return record if state.source_owners is None else without_holders(record)


def _ended_unit(key: UnitKey, state: UnitState, on: str | None) -> UnitRecord:
    last = ProductionUnit.model_validate_json(state.core)
    # A unit that closed before it was deleted keeps the day on which it closed.
    end = {"status": Status.ENDED, "ended": last.ended or on}
    return UnitRecord(key, state.company, dump(last.model_copy(update=end)), state.phones)


def withdrawn(key: CompanyKey, known: StoredState) -> OwnersRecord | None:
    """Returns the record without owners and roles; None if the company has none."""
    stored = known.companies.get(key)
    none = {None, NO_OWNERS, NO_ROLES}
    if stored is None or {stored.source_owners, stored.roles} <= none:
        return None
    return OwnersRecord(key, NO_OWNERS, NO_ROLES)


def has_ended(key: CompanyKey | UnitKey, known: StoredState) -> bool:
    """Returns True if the stored company or unit has ended: a register's file may lack it."""
    stored = known.companies.get(CompanyKey.parse(key)) or known.units.get(UnitKey.parse(key))
    core = None if stored is None else stored.core
    return core is not None and bool(orjson.loads(core)["status"] == Status.ENDED)


def plan_participants(
    records: Sequence[ParticipantRecord], known: StoredState, context: ApplyContext
) -> Plan:
    """Returns the plan; for events, `known` must have all identifiers of changed companies."""
    decisions = [_participant(record, known, context) for record in records]
    verdicts, writes, digest_updates = sorted_out(decisions)
    stored = (known.participants.get(write.key) for write in writes)
    holders = [state.holder for state in stored if state is not None]
    holders += [write.state.holder for write in writes]
    changed = {**known.participants, **{write.key: write.state for write in writes}}
    bumps, events = _of_companies(holders, changed, known, context)
    return Plan(
        verdicts,
        bumps=bumps,
        participants=writes,
        events=events,
        is_published=context.publish_events,
        digest_updates=digest_updates,
    )


def plan_vanished(identifiers: Collection[str], known: StoredState, context: ApplyContext) -> Plan:
    """Returns the plan that removes identifiers which a complete export lacks.

    An identifier that was stored from a newer version stays. For events, `known` must contain all
    identifiers of the companies.
    """
    gone = {
        identifier: state
        for identifier in identifiers
        if (state := known.participants.get(identifier)) is not None
        and state.version <= context.file_version
    }
    left = {key: state for key, state in known.participants.items() if key not in gone}
    holders = (state.holder for state in gone.values())
    bumps, events = _of_companies(holders, left, known, context)
    return Plan(
        bumps=bumps,
        drops=tuple(ParticipantDrop(key, state.revision) for key, state in gone.items()),
        events=events,
        is_published=context.publish_events,
    )


def _participant(
    record: ParticipantRecord, known: StoredState, context: ApplyContext
) -> Decision[PartWrite[str, ParticipantState]]:
    if not {record.holder, known.company_of(record.holder)}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    version = record.version or context.file_version
    read = ParticipantState(1, record.core, record.holder, version, record.digest)
    return decide(
        Part.PARTICIPANT,
        record.key,
        known.participants.get(record.key),
        read,
        replaces_same=record.version is not None,
    )


def _of_companies(
    holders: Iterable[CompanyKey | UnitKey | None],
    participants: Mapping[str, ParticipantState],
    known: StoredState,
    context: ApplyContext,
) -> tuple[tuple[Bump, ...], tuple[OutboxEvent, ...]]:
    """Returns the raised revisions of the holders' companies and their events."""
    bumps = known.bumps(map(known.company_of, holders))
    if not context.publish_events:
        return bumps, ()  # the lists of the companies were not read
    after = replace(known, participants=participants)
    return bumps, events_of_bumps(
        bumps, known, context, lambda company: einvoicing_changes(company, known, after)
    )


def _is_the_same_document(stored: UnitState | None, read: UnitState) -> bool:
    """Returns True if a release before has read this version of the document: see ADR 0114.

    Digests differ by the release too. A unit whose later day was stored may have had that day.
    """
    return (
        stored is not None
        and stored.upcoming is None
        and stored.version == read.version
        and stored.company == read.company
        and None is not stored.digest != read.digest is not None
    )


def plan_units(records: Sequence[UnitRecord], known: StoredState, context: ApplyContext) -> Plan:
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
        if not _is_the_same_document(stored, write.state):
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
        events=events_of_bumps(bumps, known, context, pending.__getitem__),
        is_published=context.publish_events,
        digest_updates=digest_updates,
        upcoming=upcoming_of(records, writes, known.units),
    )


def movers(records: Iterable[UnitRecord], known: StoredState) -> list[UnitRecord]:
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
    record: UnitRecord, known: StoredState, context: ApplyContext
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
    # A file that is read again completes the units that an earlier release stored.
    replaces_same = record.version is not None or (
        stored is not None and read.version == stored.version and is_outdated_unit(stored.core)
    )
    return decide(Part.UNIT, record.key, stored, read, replaces_same=replaces_same)


def plan_unit_removal(key: UnitKey, known: StoredState, context: ApplyContext) -> Plan:
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
        events=events_of_bumps(bumps, known, context, pending_events),
        is_published=context.publish_events,
    )
