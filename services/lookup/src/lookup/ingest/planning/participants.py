"""Plans for e-invoicing identifiers; events carry the whole list of their company."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey
from lookup.ingest.digests import Part
from lookup.ingest.events import OutboxEvent
from lookup.ingest.planning.bumps import einvoicing_changes, events_of_bumps
from lookup.ingest.planning.states import (
    WRITTEN,
    ApplyContext,
    Bump,
    DigestUpdate,
    Known,
    ParticipantDrop,
    ParticipantState,
    ParticipantWrite,
    Plan,
    Verdict,
    judge,
    renewal,
)
from lookup.ingest.records import ParticipantRecord


def plan_participants(
    records: Sequence[ParticipantRecord], known: Known, context: ApplyContext
) -> Plan:
    """For events, `known` must contain all identifiers of the changed companies."""
    verdicts: list[Verdict] = []
    writes: list[ParticipantWrite] = []
    digest_updates: list[DigestUpdate] = []
    touched: dict[CompanyKey, None] = {}
    for record in records:
        verdict, write = _participant(record, known, context)
        verdicts.append(verdict)
        if isinstance(write, DigestUpdate):
            digest_updates.append(write)
        if isinstance(write, ParticipantWrite):
            writes.append(write)
            before = known.participants.get(record.identifier)
            for holder in (before.holder if before else None, record.holder):
                company = known.company_of(holder)
                if company is not None:
                    touched[company] = None
    changed = {**known.participants, **{write.identifier: write.state for write in writes}}
    bumps = known.bumps(touched)
    return Plan(
        tuple(verdicts),
        bumps=bumps,
        participants=tuple(writes),
        outbox_events=_outbox_events(bumps, changed, known, context),
        digest_updates=tuple(digest_updates),
    )


def plan_vanished(identifiers: Collection[str], known: Known, context: ApplyContext) -> Plan:
    """Plans the removal of identifiers that a complete export lacks.

    An identifier that was stored from a newer version stays. For events, `known` must contain all
    identifiers of the companies.
    """
    gone = {
        identifier: state
        for identifier in identifiers
        if (state := known.participants.get(identifier)) is not None
        and (state.version is None or state.version <= context.file_version)
    }
    touched = {
        company: None
        for state in gone.values()
        if (company := known.company_of(state.holder)) is not None
    }
    left = {key: state for key, state in known.participants.items() if key not in gone}
    bumps = known.bumps(touched)
    return Plan(
        bumps=bumps,
        drops=tuple(ParticipantDrop(key, state.revision) for key, state in gone.items()),
        outbox_events=_outbox_events(bumps, left, known, context),
    )


def _participant(
    record: ParticipantRecord, known: Known, context: ApplyContext
) -> tuple[Verdict, ParticipantWrite | DigestUpdate | None]:
    if not {record.holder, known.company_of(record.holder)}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    stored = known.participants.get(record.identifier)
    entry = record.core
    version = record.version or context.file_version
    if stored is None:
        verdict = Verdict.NEW
    else:
        same = (entry, record.holder) == (stored.entry, stored.holder)
        verdict = judge(same=same, stored=stored.version, read=version)
        if verdict is Verdict.UNCHANGED:
            return verdict, renewal(
                Part.PARTICIPANT,
                record.identifier,
                stored.revision,
                stored=stored.digest,
                read=record.digest,
            )
    if verdict not in WRITTEN:
        return verdict, None
    revision = 1 if stored is None else stored.revision + 1
    state = ParticipantState(revision, entry, record.holder, version, record.digest)
    expected = None if stored is None else stored.revision
    return verdict, ParticipantWrite(record.identifier, expected, state)


def _outbox_events(
    bumps: Sequence[Bump],
    participants: Mapping[str, ParticipantState],
    known: Known,
    context: ApplyContext,
) -> tuple[OutboxEvent, ...]:
    after = replace(known, participants=participants)
    return events_of_bumps(
        bumps, known, context, lambda company: einvoicing_changes(company, known, after)
    )
