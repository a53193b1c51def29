"""Plans of a group that was read: the owners of its companies, and what is known of groups; pure.

A company's public owners are those of its own source and those of its group. Both are stored, so
that neither source erases what the other says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from common.contracts.company import CompanyKey
from ingest.changes.differences import owners_events
from ingest.changes.states import (
    ApplyContext,
    CompanyState,
    CompanyWrite,
    GroupDrop,
    GroupState,
    PartWrite,
    Plan,
    StoredState,
    Verdict,
)
from ingest.records.records import GroupRecord, SourceVersion
from register_store.documents import BEGINNING
from register_store.events import events_of_change

GroupWrite = PartWrite[CompanyKey, GroupState]
_NO_LINKS = b"[]"


def with_owners(state: CompanyState, *, listed: bytes | None, links: bytes | None) -> CompanyState:
    """Returns a company with the owners of its own source and those of its group."""
    if links is None:
        return replace(state, owners=listed, listed_owners=None, links=None)
    return replace(state, owners=all_owners(listed, links), listed_owners=listed, links=links)


def all_owners(listed: bytes | None, links: bytes | None) -> bytes | None:
    """Returns the public owners; a link that repeats an owner of the company's source is left out.

    One with another share contradicts that owner, and both stand.
    """
    new = orjson.loads(links or _NO_LINKS)
    owners = orjson.loads(listed or b"null") or []
    new = [link for link in new if not any(_repeats(link, owner) for owner in owners)]
    return orjson.dumps([*owners, *new]) if new else listed


def _repeats(link: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    return (
        link["vat"] is not None
        and owner["type"] == "company"
        and owner.get("vat") == link["vat"]
        and link["share"] in (None, owner.get("share"))
    )


def plan_group(record: GroupRecord, known: StoredState, context: ApplyContext) -> Plan:
    """Returns the transaction that stores a group, or that a company is in none.

    Links that the group no longer has end. Companies that have left it are to be asked for again;
    of a group whose top company is in none, all links end.
    """
    version = record.version or context.file_version
    touched = {key: one for key, one in known.groups.items() if _overlaps(one, record)}
    if any(version < group.version for group in touched.values()):
        return Plan((Verdict.STALE,))
    own = touched.get(record.key)
    writes = tuple(_company_writes(record, touched, known))
    # A company may have changed since the answer.
    changed = [one.changed_at for one in touched.values() if one.changed_at]
    asked_at = BEGINNING if changed and max(changed) >= version.at else context.at
    # The register may name a removed company for a while; the group is stored by its top company.
    members = (one for one in record.members if one == record.key or one not in known.tombstones)
    state = GroupState(1, tuple(members), version, asked_at, record.digest)
    is_gone = record.key in known.tombstones and record.members == (record.key,)
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
        (Verdict.NEW if own is None else Verdict.CHANGED if writes else Verdict.UNCHANGED,),
        companies=writes,
        events=tuple(events),
        is_published=context.publish_events,
        groups=(
            *([] if is_gone else [_group_write(record.key, own, state)]),
            *_left_overs(record, touched, known),
        ),
        group_drops=tuple(
            GroupDrop(key, group.revision)
            for key, group in touched.items()
            if key in record.members and (is_gone or key != record.key)
        ),
    )


def _overlaps(group: GroupState, record: GroupRecord) -> bool:
    return not set(record.members).isdisjoint(group.members)


def _company_writes(
    record: GroupRecord, touched: Mapping[CompanyKey, GroupState], known: StoredState
) -> Iterator[CompanyWrite]:
    """Yields the companies whose links have changed."""
    top = touched.get(record.key)
    # Without its top company there is no group any more.
    gone = frozenset(top.members if top and len(record.members) == 1 else record.members)
    former = (key for group in touched.values() for key in group.members)
    for key in dict.fromkeys((*record.members, *former)):
        stored = known.companies.get(key)
        base = stored or CompanyState(revision=0)
        before = base.links or _NO_LINKS
        own = key in record.members
        links = record.links.get(key, _NO_LINKS) if own else _others(before, gone)
        if links == before or key in known.tombstones:
            continue
        state = with_owners(base, listed=base.source_owners, links=links)
        is_public = base.is_known and state.owners != base.owners
        yield CompanyWrite(
            key,
            None if stored is None else stored.revision,
            replace(state, revision=base.revision + 1) if is_public else state,
            pending_events=owners_events(base.owners, state.owners or b"null") if is_public else (),
        )


def _others(links: bytes, gone: frozenset[CompanyKey]) -> bytes:
    """Returns the links to other companies, of a company that has left the group of these."""
    numbers = {key.number for key in gone}
    entries = orjson.loads(links)
    left = [link for link in entries if link["vat"] is not None and link["vat"] not in numbers]
    return links if left == entries else orjson.dumps(left)


def _left_overs(
    record: GroupRecord, touched: Mapping[CompanyKey, GroupState], known: StoredState
) -> Iterator[GroupWrite]:
    """Yields what remains of other groups, to be read again."""
    for top, group in touched.items():
        rest = tuple(key for key in group.members if key not in record.members)
        if top in rest:
            left = replace(group, members=rest, asked_at=BEGINNING, digest=None)
            yield _group_write(top, group, left)
            continue
        for key in rest:
            stored = known.groups.get(key)
            alone = stored or GroupState(1, (key,), SourceVersion(BEGINNING), BEGINNING)
            yield _group_write(key, stored, replace(alone, asked_at=BEGINNING, digest=None))


def _group_write(key: CompanyKey, stored: GroupState | None, state: GroupState) -> GroupWrite:
    if stored is None:
        return PartWrite(key, None, state)
    return PartWrite(key, stored.revision, replace(state, revision=stored.revision + 1))
