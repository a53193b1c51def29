"""Plans of changed companies: verdict, new state and events of each record; pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import orjson

from common.contracts.company import Company, CompanyKey, ProductionUnit, UnitKey
from common.contracts.events import Change, EventType
from ingest.changes.differences import (
    Version,
    company_events,
    diff,
    einvoicing_events,
    is_alike,
    owners_events,
    roles_changes,
)
from ingest.changes.group_plans import all_owners, with_owners
from ingest.changes.limits import limited_owners, limited_record
from ingest.changes.reorganised import with_parties, without_resolved
from ingest.changes.states import (
    READING,
    WRITTEN,
    ApplyContext,
    Bump,
    CompanyState,
    CompanyWrite,
    DigestUpdate,
    K,
    PartWrite,
    Plan,
    S,
    StoredState,
    UnitState,
    UpcomingWrite,
    Verdict,
    without_count_day,
)
from ingest.records.records import (
    NO_OWNERS,
    CompanyRecord,
    OwnersRecord,
    Reorganisation,
    SourceVersion,
    UnitRecord,
    as_of,
    upcoming_digest,
)
from ingest.records.source import Part
from register_store.documents import dump, is_outdated, sort_text
from register_store.events import OutboxEvent, PendingEvent, events_of_change

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


def is_renewed(read: bytes | None, stored: bytes | None, core: bytes | None = None) -> bool:
    """Returns True if an unchanged record has a new digest, or JSON to store for a newer count."""
    return core is not None or (read is not None and read != stored)


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
            is_newer = read.version >= stored.version
            core = read.core if is_newer and read.core != stored.core else None
        if not is_renewed(read.digest, stored.digest, core):
            return verdict, None
        return verdict, DigestUpdate(part, key, stored.revision, read.digest, core)
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
    known: StoredState,
    context: ApplyContext,
    pending_events: Callable[[CompanyKey], Iterable[PendingEvent]],
) -> tuple[OutboxEvent, ...]:
    """Returns the events of each company."""
    return tuple(
        event
        for bump in bumps
        for event in events_of_change(
            bump.key,
            known.companies[bump.key].core,
            revision=bump.expected + 1,
            pending_events=context.told(pending_events(bump.key)),
            at=context.at,
        )
    )


def einvoicing_changes(
    company: CompanyKey, before: StoredState, after: StoredState
) -> tuple[PendingEvent, ...]:
    """Returns the events of a changed list; both states must contain all of its identifiers.

    Of a long list they need only those that change.
    """
    old, new = _entries(company, before), _entries(company, after)
    return einvoicing_events(old, new, is_long=company in before.long_lists)


def _entries(company: CompanyKey, known: StoredState) -> list[Version]:
    """Returns a company's own entries and those of its units, in the order of lookups."""
    own = sorted(
        (state.holder != company, identifier)
        for identifier, state in known.participants.items()
        if known.company_of(state.holder) == company
    )
    return [orjson.loads(known.participants[identifier].entry) for _, identifier in own]


#: Bytes of the earlier names that are kept for searches: of hundreds of names of usual length.
MAX_HELD_SIZE: Final = 32 * 1024


def plan_companies(
    records: Sequence[CompanyRecord], known: StoredState, context: ApplyContext
) -> Plan:
    """Returns the transaction that stores records of companies, and a verdict on each."""
    records = [as_of(record, context.today) if record.upcoming else record for record in records]
    if known.limited:
        records = [limited_record(one, known.limited.get(one.key, ())) for one in records]
    records, completed = with_parties(records, known)
    plan = _plan([_company(record, known, context) for record in records], context)
    upcoming = upcoming_of(records, plan.companies, known.companies)
    return replace(plan, companies=(*plan.companies, *completed), upcoming=upcoming)


def plan_owners(records: Sequence[OwnersRecord], known: StoredState, context: ApplyContext) -> Plan:
    """Returns the transaction that stores owners and roles, and a verdict on each record."""
    if known.limited:
        records = [limited_owners(one, known.limited.get(one.key, ())) for one in records]
    return _plan([_owners(record, known, context) for record in records], context)


def _plan(decisions: Sequence[Decision[CompanyWrite]], context: ApplyContext) -> Plan:
    verdicts, writes, digest_updates = sorted_out(decisions)
    events = (
        event
        for write in writes
        for event in events_of_change(
            write.key,
            write.state.core,
            revision=write.state.revision,
            pending_events=context.told(write.pending_events),
            at=context.at,
        )
    )
    return Plan(
        verdicts,
        companies=writes,
        events=tuple(events),
        is_published=context.publish_events,
        digest_updates=digest_updates,
    )


def _company(
    record: CompanyRecord, known: StoredState, context: ApplyContext
) -> Decision[CompanyWrite]:
    if record.key in known.tombstones:
        return Verdict.REMOVED, None
    stored = known.companies.get(record.key)
    owners, roles, upcoming = record.owner_list, record.role_list, upcoming_digest(record.upcoming)
    version = record.version or context.file_version
    outdated = False
    if stored is None or stored.core is None:
        verdict = Verdict.NEW
    else:
        if record.unknown:
            record = _completed(record, stored, stored.core)
        outdated = (
            is_outdated(stored.core)
            or (roles is not None and stored.lacks_roles)
            or (record.past is not None and stored.past is None)
        )
        same = (
            (
                record.core == stored.core
                or without_count_day(record.core) == without_count_day(stored.core)
            )
            and (record.phones, record.units) == (stored.phones, stored.units)
            and upcoming == stored.upcoming
            and (owners is None or owners == stored.source_owners)
            and (roles is None or roles == stored.roles)
            and (record.past is None or record.past == (stored.past or b"[]"))
        )
        verdict = judge(
            same=same,
            stored=stored.version,
            read=version,
            replaces_same=outdated or stored.reading < READING or record.version is not None,
        )
        if verdict is Verdict.UNCHANGED:
            is_newer = stored.version is None or version >= stored.version
            core = record.core if is_newer and record.core != stored.core else None
            if not is_renewed(record.digest, stored.digest, core):
                return verdict, None
            key, revision = record.key, stored.revision
            return verdict, DigestUpdate(Part.COMPANY, key, revision, record.digest, core)
    if verdict not in WRITTEN:
        return verdict, None
    base = stored or CompanyState(revision=0)
    names, pending_events = _since(_as_read_now(base, record, base.reading), record)
    if _is_the_same_document(base, record):
        pending_events = ()
    state = replace(
        base,
        revision=max(base.revision, known.skipped_revisions) + 1,
        core=record.core,
        roles=base.roles if roles is None else roles,
        phones=record.phones,
        units=record.units,
        version=version,
        digest=record.digest,
        owners_digest=base.owners_digest if owners is None else None,
        owners_version=base.owners_version if owners is None else version,
        held_names=names,
        upcoming=upcoming,
        added_at=base.added_at if base.is_known else context.at,
        past=base.past if record.past is None else record.past,
        reading=READING,
        reorganisations=_reorganisations(base, record),
    )
    if owners is not None:
        state = with_owners(state, listed=owners, links=base.links)
    is_read_again = outdated or (base.is_known and base.reading < READING)
    return verdict, CompanyWrite(
        record.key,
        None if stored is None else stored.revision,
        state,
        record.rank,
        None if is_read_again and not pending_events else record.updated_at or version.at,
        pending_events,
    )


def _as_read_now(
    before: CompanyState, record: CompanyRecord | OwnersRecord, reading: int
) -> CompanyState:
    """Returns the stored state with the new value of what only the release before read otherwise.

    A value that differs from both readings of the document has changed in the register.
    """
    earlier = record.earlier
    if not earlier or reading >= READING:
        return before
    core, owners, roles = before.core, before.source_owners, before.roles
    if isinstance(record, CompanyRecord) and core is not None:
        old, new = orjson.loads(core), orjson.loads(record.core)
        same = {
            name: new[name]
            for name in new
            if name in earlier and is_alike(old.get(name), earlier[name])
        }
        core = orjson.dumps({**old, **same}) if same else core
    if owners is not None and _is_as_before(owners, earlier.get("owners")):
        owners = record.owner_list
    if roles is not None and _is_as_before(roles, earlier.get("roles")):
        roles = record.role_list
    before = replace(before, core=core, roles=roles)
    return with_owners(before, listed=owners, links=before.links)


def _is_as_before(stored: bytes, earlier: bytes | None) -> bool:
    """Returns True if a stored list is the one that the release before read."""
    return earlier is not None and is_alike(orjson.loads(stored), orjson.loads(earlier))


def _is_the_same_document(before: CompanyState, record: CompanyRecord) -> bool:
    """Returns True if the release before has read this version of the register's document.

    A difference is then one of reading, except where a later day of the document was stored: that
    day may have come.
    """
    return (
        before.reading < READING
        and before.upcoming is None
        and record.version is not None
        and record.version == before.version
        and record.digest not in (None, before.digest)
    )


def _reorganisations(
    base: CompanyState, record: CompanyRecord
) -> tuple[Reorganisation, ...] | None:
    """Returns those of the record; None, as stored, for a company that never had one."""
    if record.reorganisations is None or not (record.reorganisations or base.reorganisations):
        return base.reorganisations
    return record.reorganisations


def _completed(record: CompanyRecord, stored: CompanyState, stored_core: bytes) -> CompanyRecord:
    """Returns the record with the stored values of what its source cannot tell, and its rank."""
    core = kept(record, stored_core)
    rank = sort_text(Company.model_validate_json(core))
    phones = stored.phones if "phones" in record.unknown else record.phones
    return replace(record, core=core, rank=rank, phones=phones)


def _since(
    before: CompanyState, record: CompanyRecord
) -> tuple[tuple[str, ...], tuple[PendingEvent, ...]]:
    """Returns the company's former names in this service, newest first, and its record's events.

    Norway's register lists no former names, but they are still searched for.
    """
    if before.core is None:
        return before.held_names, (PendingEvent(EventType.COMPANY_CREATED),)
    old, new = orjson.loads(before.core), orjson.loads(record.core)
    listed = new["former_names"] and "former_names" not in record.unknown
    names = () if listed else dict.fromkeys((old["name"], *before.held_names))
    events = company_events(
        (*without_resolved(diff(old, new)), *_roles_changes(before, record.role_list))
    )
    if record.owner_list is not None:
        owners = all_owners(record.owner_list, before.links) or NO_OWNERS
        events += owners_events(before.owners, owners)
    return tuple(_held(name for name in names if name != new["name"])), events


def _held(names: Iterable[str]) -> Iterator[str]:
    """Yields the newest names, as many as a stored company has room for."""
    size = 0
    for name in names:
        size += len(name.encode())
        if size > MAX_HELD_SIZE:
            return
        yield name


def _roles_changes(before: CompanyState, roles: bytes | None) -> tuple[Change, ...]:
    return () if roles is None or before.lacks_roles else roles_changes(before.roles, roles)


def _owners(
    record: OwnersRecord, known: StoredState, context: ApplyContext
) -> Decision[CompanyWrite]:
    if record.key in known.tombstones:
        return Verdict.REMOVED, None
    stored = known.companies.get(record.key)
    owners, roles = record.owner_list, record.role_list
    version = record.version or context.file_version
    if stored is None or stored.source_owners is None:
        verdict = Verdict.NEW
    else:
        verdict = judge(
            same=(owners, roles) == (stored.source_owners, stored.roles),
            stored=stored.owners_version,
            read=version,
            replaces_same=stored.lacks_roles
            or stored.owners_reading < READING
            or record.version is not None,
        )
        # A company that is not stored yet has no revision; its owners are compared by content.
        if verdict is Verdict.UNCHANGED and stored.is_known:
            if not is_renewed(record.digest, stored.owners_digest):
                return verdict, None
            return verdict, DigestUpdate(Part.OWNERS, record.key, stored.revision, record.digest)
    if verdict not in WRITTEN:
        return verdict, None
    base = stored or CompanyState(revision=0)
    # The revisions of a company begin when it is stored.
    all_ = all_owners(owners, base.links) or NO_OWNERS
    public = base.is_known and (all_, roles) != (base.owners or NO_OWNERS, base.roles or b"null")
    state = replace(
        with_owners(base, listed=owners, links=base.links),
        revision=base.revision + 1 if public else base.revision,
        roles=roles,
        owners_version=version,
        owners_digest=record.digest,
        owners_reading=READING,
    )
    pending_events: tuple[PendingEvent, ...] = ()
    if base.core is not None:
        before = _as_read_now(base, record, base.owners_reading)
        pending_events = (
            *company_events(_roles_changes(before, roles)),
            *owners_events(before.owners, all_),
        )
    expected = None if stored is None else stored.revision
    return verdict, CompanyWrite(record.key, expected, state, pending_events=pending_events)
