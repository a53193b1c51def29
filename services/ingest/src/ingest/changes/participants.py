"""Plans for e-invoicing identifiers; events carry the whole list of their company."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from common.contracts.company import CompanyKey, UnitKey
from ingest.changes.planning import (
    Decision,
    decide,
    einvoicing_changes,
    events_of_bumps,
    sorted_out,
)
from ingest.changes.states import (
    ApplyContext,
    Bump,
    Known,
    ParticipantDrop,
    ParticipantState,
    PartWrite,
    Plan,
    Verdict,
)
from ingest.records.digests import Part
from ingest.records.records import ParticipantRecord
from register_store.events.event import OutboxEvent


def plan_participants(
    records: Sequence[ParticipantRecord], known: Known, context: ApplyContext
) -> Plan:
    """Returns the plan; for events, `known` must have all identifiers of changed companies."""
    decisions = [_participant(record, known, context) for record in records]
    verdicts, writes, digest_updates = sorted_out(decisions)
    stored = (known.participants.get(write.key) for write in writes)
    holders = [state.holder for state in stored if state is not None]
    holders += [write.state.holder for write in writes]
    changed = {**known.participants, **{write.key: write.state for write in writes}}
    bumps, outbox_events = _of_companies(holders, changed, known, context)
    return Plan(
        verdicts,
        bumps=bumps,
        participants=writes,
        outbox_events=outbox_events,
        digest_updates=digest_updates,
    )


def plan_vanished(identifiers: Collection[str], known: Known, context: ApplyContext) -> Plan:
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
    bumps, outbox_events = _of_companies(holders, left, known, context)
    return Plan(
        bumps=bumps,
        drops=tuple(ParticipantDrop(key, state.revision) for key, state in gone.items()),
        outbox_events=outbox_events,
    )


def _participant(
    record: ParticipantRecord, known: Known, context: ApplyContext
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
    known: Known,
    context: ApplyContext,
) -> tuple[tuple[Bump, ...], tuple[OutboxEvent, ...]]:
    """Returns the raised revisions of the holders' companies and their events."""
    bumps = known.bumps(map(known.company_of, holders))
    after = replace(known, participants=participants)
    return bumps, events_of_bumps(
        bumps, known, context, lambda company: einvoicing_changes(company, known, after)
    )
