"""Plans for companies, and for owners that come in a file of their own."""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from common.contracts.events import Change, EventType
from lookup.changes.differences import company_events, diff, owners_events, roles_changes
from lookup.changes.planning import Decision, judge, renewal, sorted_out
from lookup.changes.states import (
    WRITTEN,
    ApplyContext,
    CompanyState,
    CompanyWrite,
    Known,
    Plan,
    Verdict,
)
from lookup.events.event import PendingEvent, events_of_change
from lookup.records.digests import Part
from lookup.records.records import CompanyRecord, OwnersRecord
from lookup.store.documents import is_outdated


def plan_companies(records: Sequence[CompanyRecord], known: Known, context: ApplyContext) -> Plan:
    """Returns the transaction that stores records of companies, and a verdict on each."""
    return _plan([_company(record, known, context) for record in records], context)


def plan_owners(records: Sequence[OwnersRecord], known: Known, context: ApplyContext) -> Plan:
    """Returns the transaction that stores owners and roles, and a verdict on each record."""
    return _plan([_owners(record, known, context) for record in records], context)


def _plan(decisions: Sequence[Decision[CompanyWrite]], context: ApplyContext) -> Plan:
    verdicts, writes, digest_updates = sorted_out(decisions)
    outbox_events = (
        event
        for write in writes
        for event in events_of_change(
            write.key,
            write.state.core,
            revision=write.state.revision,
            pending_events=write.pending_events,
            at=context.at,
        )
    )
    return Plan(
        verdicts,
        companies=writes,
        outbox_events=tuple(outbox_events) if context.publish_events else (),
        digest_updates=digest_updates,
    )


def _company(record: CompanyRecord, known: Known, context: ApplyContext) -> Decision[CompanyWrite]:
    if record.key in known.tombstones:
        return Verdict.REMOVED, None
    stored = known.companies.get(record.key)
    core, owners, roles = record.core, record.owner_list, record.role_list
    version = record.version or context.file_version
    outdated = False
    if stored is None or stored.core is None:
        verdict = Verdict.NEW
    else:
        outdated = is_outdated(stored.core) or (roles is not None and stored.lacks_roles)
        same = (
            core == stored.core
            and (record.phones, record.units) == (stored.phones, stored.units)
            and (owners is None or owners == stored.owners)
            and (roles is None or roles == stored.roles)
        )
        verdict = judge(same=same, stored=stored.version, read=version, outdated=outdated)
        if verdict is Verdict.UNCHANGED:
            return verdict, renewal(
                Part.COMPANY, record.key, stored.revision, stored=stored.digest, read=record.digest
            )
    if verdict not in WRITTEN:
        return verdict, None
    base = stored or CompanyState(revision=0)
    names, pending_events = _since(base, record)
    state = replace(
        base,
        revision=max(base.revision, known.skipped_revisions) + 1,
        core=core,
        owners=base.owners if owners is None else owners,
        roles=base.roles if roles is None else roles,
        phones=record.phones,
        units=record.units,
        version=version,
        digest=record.digest,
        owners_digest=base.owners_digest if owners is None else None,
        held_names=names,
    )
    return verdict, CompanyWrite(
        record.key,
        None if stored is None else stored.revision,
        state,
        record.rank,
        None if outdated and not pending_events else record.updated_at or version.at,
        pending_events,
    )


def _since(
    before: CompanyState, record: CompanyRecord
) -> tuple[tuple[str, ...], tuple[PendingEvent, ...]]:
    """Returns the company's former names in this service, newest first, and its record's events.

    Norway's register lists no former names, but they are still searched for.
    """
    if before.core is None:
        return before.held_names, (PendingEvent(EventType.COMPANY_CREATED),)
    old, new = orjson.loads(before.core), orjson.loads(record.core)
    names = () if new["former_names"] else dict.fromkeys((old["name"], *before.held_names))
    events = company_events((*diff(old, new), *_roles_changes(before, record.role_list)))
    if record.owner_list is not None:
        events += owners_events(before.owners, record.owner_list)
    return tuple(name for name in names if name != new["name"]), events


def _roles_changes(before: CompanyState, roles: bytes | None) -> tuple[Change, ...]:
    return () if roles is None or before.lacks_roles else roles_changes(before.roles, roles)


def _owners(record: OwnersRecord, known: Known, context: ApplyContext) -> Decision[CompanyWrite]:
    if record.key in known.tombstones:
        return Verdict.REMOVED, None
    stored = known.companies.get(record.key)
    owners, roles = record.owner_list, record.role_list
    version = record.version or context.file_version
    if stored is None or stored.owners is None:
        verdict = Verdict.NEW
    else:
        verdict = judge(
            same=(owners, roles) == (stored.owners, stored.roles),
            stored=stored.owners_version,
            read=version,
            outdated=stored.lacks_roles,
        )
        # A company that is not stored yet has no revision; its owners are compared by content.
        if verdict is Verdict.UNCHANGED and stored.is_known:
            return verdict, renewal(
                Part.OWNERS,
                record.key,
                stored.revision,
                stored=stored.owners_digest,
                read=record.digest,
            )
    if verdict not in WRITTEN:
        return verdict, None
    base = stored or CompanyState(revision=0)
    # The revisions of a company begin when it is stored.
    public = base.is_known and (owners, roles) != (base.owners or b"null", base.roles or b"null")
    state = replace(
        base,
        revision=base.revision + 1 if public else base.revision,
        owners=owners,
        roles=roles,
        owners_version=version,
        owners_digest=record.digest,
    )
    pending_events: tuple[PendingEvent, ...] = ()
    if base.core is not None:
        pending_events = (
            *company_events(_roles_changes(base, roles)),
            *owners_events(base.owners, owners),
        )
    expected = None if stored is None else stored.revision
    return verdict, CompanyWrite(record.key, expected, state, pending_events=pending_events)
