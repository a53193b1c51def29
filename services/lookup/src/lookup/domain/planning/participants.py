"""E-invoicing identifiers: stored each for itself, told of as the whole list of their company."""

from collections.abc import Collection, Mapping, Sequence

from common.contracts.company import CompanyKey, EinvoicingEntry
from lookup.domain.announcing import Announcement, announce
from lookup.domain.changes import einvoicing_occurrences
from lookup.domain.digests import Part
from lookup.domain.planning.states import (
    WRITTEN,
    Circumstances,
    Known,
    ParticipantState,
    ParticipantWrite,
    Plan,
    Renewal,
    Verdict,
    judge,
    renewal,
)
from lookup.domain.records import ParticipantRecord


def plan_participants(
    records: Sequence[ParticipantRecord], known: Known, given: Circumstances
) -> Plan:
    """To tell of changes, `known` has to hold all identifiers of the companies that change."""
    verdicts: list[Verdict] = []
    writes: list[ParticipantWrite] = []
    renewals: list[Renewal] = []
    touched: dict[CompanyKey, None] = {}
    for record in records:
        verdict, write = _participant(record, known, given)
        verdicts.append(verdict)
        if isinstance(write, Renewal):
            renewals.append(write)
        if isinstance(write, ParticipantWrite):
            writes.append(write)
            before = known.participants.get(record.identifier)
            for holder in (before.holder if before else None, record.holder):
                company = known.company_of(holder)
                if company is not None:
                    touched[company] = None
    return Plan(
        tuple(verdicts),
        bumps=known.bumps(touched),
        participants=tuple(writes),
        announcements=_announced(touched, writes, known, given) if given.announces else (),
        renewals=tuple(renewals),
    )


def _participant(
    record: ParticipantRecord, known: Known, given: Circumstances
) -> tuple[Verdict, ParticipantWrite | Renewal | None]:
    if not {record.holder, known.company_of(record.holder)}.isdisjoint(known.tombstones):
        return Verdict.REMOVED, None
    stored = known.participants.get(record.identifier)
    entry = record.core
    version = record.version or given.file_version
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


def _announced(
    touched: Collection[CompanyKey],
    writes: Sequence[ParticipantWrite],
    known: Known,
    given: Circumstances,
) -> tuple[Announcement, ...]:
    before = known.participants
    after = {**before, **{write.identifier: write.state for write in writes}}
    return tuple(
        announcement
        for bump in known.bumps(touched)
        for announcement in announce(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            occurrences=einvoicing_occurrences(
                _entries(bump.key, before, known), _entries(bump.key, after, known)
            ),
            at=given.at,
        )
    )


def _entries(
    company: CompanyKey, participants: Mapping[str, ParticipantState], known: Known
) -> list[EinvoicingEntry]:
    """A company's list, in the order in which an answer shows it."""
    own = sorted(
        (known.company_of(state.holder) != state.holder, identifier)
        for identifier, state in participants.items()
        if known.company_of(state.holder) == company
    )
    return [
        EinvoicingEntry.model_validate_json(participants[identifier].entry) for _, identifier in own
    ]
