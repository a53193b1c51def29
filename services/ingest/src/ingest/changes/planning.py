"""The parts of every plan: verdicts on records, and events of companies of which a part changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import orjson

from common.contracts.company import Company, CompanyKey, ProductionUnit, UnitKey
from ingest.changes.differences import Version, einvoicing_events
from ingest.changes.states import (
    ApplyContext,
    Bump,
    CompanyState,
    CompanyWrite,
    DigestUpdate,
    K,
    Known,
    PartWrite,
    S,
    UnitState,
    UpcomingWrite,
    Verdict,
)
from ingest.records.digests import Part
from ingest.records.records import CompanyRecord, SourceVersion, UnitRecord
from register_store.canonical_json import dump
from register_store.events.event import OutboxEvent, PendingEvent, events_of_change

W = TypeVar("W")

#: The verdict on a record, and what is written; of an unchanged record only a new digest.
Decision = tuple[Verdict, W | DigestUpdate | None]


def judge(
    *,
    same: bool,
    stored: SourceVersion | None,
    read: SourceVersion,
    replaces_same: bool,
) -> Verdict:
    """Returns the verdict on a record that is already stored.

    Of two documents of the same version of the register, the one that is read later wins; of two
    in the same file, whose time is then their version, the first (not `replaces_same`).
    """
    if same:
        return Verdict.UNCHANGED
    if stored is not None and (read < stored or (read == stored and not replaces_same)):
        return Verdict.STALE
    return Verdict.CHANGED


def counted_again(stored: bytes, read: bytes, *, is_newer: bool) -> bytes | None:
    """Returns the JSON of an unchanged record to be stored: None unless its count is newer."""
    return read if read != stored and is_newer else None


def renewal(  # noqa: PLR0913 (a record, its digests, and what is stored with them)
    part: Part,
    key: str,
    revision: int,
    *,
    stored: bytes | None,
    read: bytes | None,
    core: bytes | None = None,
) -> DigestUpdate | None:
    """Returns the update for an unchanged record: none, or its document's new digest.

    `core` is its JSON if the day of a count in it is a newer one.
    """
    if core is None and (read is None or read == stored):
        return None
    return DigestUpdate(part, key, revision, read, core)


def decide(
    part: Part, key: K, stored: S | None, read: S, *, replaces_same: bool
) -> Decision[PartWrite[K, S]]:
    """Returns the decision on a unit or an identifier; see `judge`."""
    if stored is None:
        return Verdict.NEW, PartWrite(key, None, read)
    verdict = judge(
        same=read.content == stored.content,
        stored=stored.version,
        read=read.version,
        replaces_same=replaces_same,
    )
    if verdict is Verdict.UNCHANGED:
        core = None
        if isinstance(read, UnitState):
            core = counted_again(stored.core, read.core, is_newer=read.version >= stored.version)
        return verdict, renewal(
            part, key, stored.revision, stored=stored.digest, read=read.digest, core=core
        )
    if verdict is Verdict.STALE:
        return verdict, None
    revision = stored.revision + 1
    return verdict, PartWrite(key, stored.revision, replace(read, revision=revision))


def kept(record: CompanyRecord | UnitRecord, stored: bytes) -> bytes:
    """Returns the record's JSON with the stored values of the fields that its source cannot tell.

    A source that lacks a column erases nothing that another source knew.
    """
    if not record.unknown:
        return record.core
    before, read = orjson.loads(stored), orjson.loads(record.core)
    # A status that turned does not have the day of the one before.
    turned = {"status_since"} if before["status"] != read["status"] else set()
    read |= {name: before[name] for name in record.unknown - turned if name in before}
    model = Company if isinstance(record, CompanyRecord) else ProductionUnit
    return dump(model.model_validate(read))


def upcoming_of(
    records: Sequence[CompanyRecord | UnitRecord],
    writes: Iterable[CompanyWrite | PartWrite[UnitKey, UnitState]],
    stored: Mapping[CompanyKey, CompanyState] | Mapping[UnitKey, UnitState],
) -> tuple[UpcomingWrite, ...]:
    """Returns what the written records replace of what is stored as upcoming; mostly nothing."""
    before = {key for key, state in stored.items() if state.upcoming is not None}
    concerned = [record for record in records if record.upcoming or record.key in before]
    if not concerned:
        return ()
    written = {write.key: write.state.version for write in writes}
    return tuple(
        UpcomingWrite(record, version)
        for record in concerned
        if (version := written.get(record.key)) is not None
    )


def sorted_out(
    decisions: Sequence[Decision[W]],
) -> tuple[tuple[Verdict, ...], tuple[W, ...], tuple[DigestUpdate, ...]]:
    """Returns the verdicts, the writes and the new digests."""
    written = [write for _, write in decisions if write is not None]
    return (
        tuple(verdict for verdict, _ in decisions),
        tuple(write for write in written if not isinstance(write, DigestUpdate)),
        tuple(write for write in written if isinstance(write, DigestUpdate)),
    )


def events_of_bumps(
    bumps: Sequence[Bump],
    known: Known,
    context: ApplyContext,
    pending_events: Callable[[CompanyKey], Iterable[PendingEvent]],
) -> tuple[OutboxEvent, ...]:
    """Returns the events of each company; none if changes are not published."""
    if not context.publish_events:
        return ()
    return tuple(
        event
        for bump in bumps
        for event in events_of_change(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=pending_events(bump.key),
            at=context.at,
        )
    )


def einvoicing_changes(
    company: CompanyKey, before: Known, after: Known
) -> tuple[PendingEvent, ...]:
    """Returns the events of a changed list; both states must contain all of its identifiers.

    Of a long list they need only those that change.
    """
    old, new = _entries(company, before), _entries(company, after)
    return einvoicing_events(old, new, is_long=company in before.long_lists)


def _entries(company: CompanyKey, known: Known) -> list[Version]:
    """Returns a company's own entries and those of its units, in the order of lookups."""
    own = sorted(
        (state.holder != company, identifier)
        for identifier, state in known.participants.items()
        if known.company_of(state.holder) == company
    )
    return [orjson.loads(known.participants[identifier].entry) for _, identifier in own]
