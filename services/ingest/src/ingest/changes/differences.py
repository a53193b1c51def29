"""Differences between two versions of a company, and the events that describe them.

Versions are compared as their public JSON, so a change is always visible to receivers.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

import orjson

from common.contracts.company import CompanyKey, ProductionUnit, Status
from common.contracts.events import Change, EventType
from common.contracts.lookup import MAX_LISTED
from ingest.changes.states import UnitState
from register_store.events import PendingEvent

#: A version of a company or a unit: its stored JSON, parsed.
Version = Mapping[str, Any]

#: Fields that change with a status; its event carries them.
_STATUS_FIELDS: Final = frozenset({"status", "status_text", "status_since", "ended"})

#: Fields of entries that may change when nothing else of the entry does.
_SILENT: Final = frozenset({"group_changed"})
#: Of a link of a group also its day, on which it was registered or last updated (ADR 0137).
_SILENT_OF_LINKS: Final = _SILENT | {"since"}

#: Bytes of the entries of a list that is given whole, and of a part of a longer one, which has at
#: least one entry.
MAX_ENTRIES_SIZE: Final = 512 * 1024


def diff(old: Version, new: Version) -> tuple[Change, ...]:
    """Returns the fields whose values differ, in the order of the record.

    Objects are compared field by field under dotted paths. A list, or an object that appears or
    disappears, is given whole. A field that the old version lacks is no change (ADR 0020), also in
    an entry of a list (ADR 0126).
    """
    return tuple(_differences(old, new, ""))


def _differences(old: Version, new: Version, path: str) -> Iterator[Change]:
    for name, value in new.items():
        before = old.get(name, value)
        if before == value or (isinstance(value, list) and is_alike(before, value)):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            yield from _differences(before, value, f"{path}{name}.")
        else:
            yield Change(field=f"{path}{name}", old=before, new=value)


def is_alike(old: Any, new: Any) -> bool:
    """Returns True if values differ at most in fields that the old one lacks, or that tell nothing.

    The old one was stored by an earlier release.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        told = old.keys() - _silent(old)
        return told <= new.keys() and all(is_alike(old[name], new[name]) for name in told)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_alike, old, new))
    return bool(old == new)


def _silent(entry: Version) -> Set[str]:
    return _SILENT_OF_LINKS if entry.get("source") else _SILENT


def company_events(changes: Sequence[Change]) -> tuple[PendingEvent, ...]:
    """Returns the events of changes to a stored company and to its roles; none without changes.

    A changed status is a separate event; `company.updated` has the other changes.
    """
    turned = any(change.field == "status" for change in changes)
    turn = EventType.COMPANY_STATUS_CHANGED if turned else None
    return tuple(
        PendingEvent(event_type, fields)
        for event_type, fields in _by_event(changes, turn, EventType.COMPANY_UPDATED)
    )


def unit_events(
    old: UnitState | None, new: UnitState
) -> tuple[tuple[CompanyKey, PendingEvent], ...]:
    """Returns the events of a production unit, each with the company it belongs to.

    A unit that moves is created at its new company; for the old one its `company` changed.
    """
    unit = orjson.loads(new.core)
    created = PendingEvent(EventType.PRODUCTION_UNIT_CREATED, unit=unit)
    arrival = () if new.company is None else ((new.company, created),)
    if old is None or old.company is None:
        return arrival
    before = orjson.loads(old.core)
    changes = diff(before, unit)
    if new.company != old.company:
        move = Change(field="company", old=old.company, new=new.company)
        left = PendingEvent(EventType.PRODUCTION_UNIT_UPDATED, (move, *changes), unit)
        return ((old.company, left), *arrival)
    ended = unit["status"] == Status.ENDED != before["status"]
    turn = EventType.PRODUCTION_UNIT_ENDED if ended else None
    return tuple(
        (new.company, PendingEvent(event_type, fields, unit))
        for event_type, fields in _by_event(changes, turn, EventType.PRODUCTION_UNIT_UPDATED)
    )


def owners_events(old: bytes | None, new: bytes) -> tuple[PendingEvent, ...]:
    """Returns the event of changed owners, from two JSON lists; null counts as no owners."""
    before = None if old is None else orjson.loads(old)
    changes = _list_changes("owners", before, orjson.loads(new))
    return (PendingEvent(EventType.OWNERS_CHANGED, changes),) if changes else ()


def roles_changes(old: bytes | None, new: bytes) -> tuple[Change, ...]:
    """Returns the change of the list of roles, if any; unknown roles count as none."""
    return _list_changes("roles", None if old is None else orjson.loads(old), orjson.loads(new))


def einvoicing_events(
    old: list[Version], new: list[Version], *, is_long: bool = False
) -> tuple[PendingEvent, ...]:
    """Returns the events of changed e-invoicing entries; none if the lists are equal.

    A long list is one of which not all entries are given; its changes are as many events as needed.
    """
    if old == new:
        return ()
    if not is_long and is_short(old) and is_short(new):
        parts = [Change(field="einvoicing", old=old, new=new)]
    else:
        parts = list(_parts_of(old, new))
    return tuple(
        PendingEvent(EventType.EINVOICING_CHANGED, (part,), number=number)
        for number, part in enumerate(parts)
    )


def _parts_of(old: list[Version], new: list[Version]) -> Iterator[Change]:
    """Yields the entries that differ, in parts that fit into an event."""
    before, after = ({one["identifier"]: one for one in entries} for entries in (old, new))
    names = [name for name in before | after if before.get(name) != after.get(name)]
    part: list[str] = []
    size = 0
    for name in names:
        length = sum(len(orjson.dumps(one[name])) for one in (before, after) if name in one)
        if part and (len(part) == MAX_LISTED or size + length > MAX_ENTRIES_SIZE):
            yield _part(part, before, after)
            part, size = [], 0
        part.append(name)
        size += length
    if part:
        yield _part(part, before, after)


def _part(
    names: Sequence[str], before: Mapping[str, Version], after: Mapping[str, Version]
) -> Change:
    old, new = ([one[name] for name in names if name in one] for one in (before, after))
    return Change(field="einvoicing", old=old, new=new, partial=True)


def is_short(entries: Sequence[Any]) -> bool:
    """Returns True if a list is given whole in an event."""
    return len(entries) <= MAX_LISTED and len(orjson.dumps(entries)) <= MAX_ENTRIES_SIZE


def unit_removal(number: str) -> PendingEvent:
    """Returns the event of a unit that the register orders removed: only its number and its end."""
    left = ProductionUnit(number=number, status=Status.ENDED)
    return PendingEvent(EventType.PRODUCTION_UNIT_ENDED, unit=left.model_dump(mode="json"))


def removal() -> PendingEvent:
    """Returns the event of a company that the register orders removed, without data."""
    return PendingEvent(EventType.COMPANY_REMOVED)


def _by_event(
    changes: Sequence[Change], turn: EventType | None, otherwise: EventType
) -> Iterator[tuple[EventType, tuple[Change, ...]]]:
    """Yields each change in one event; changes that belong to a status join its event."""
    turning = [change for change in changes if turn and change.field in _STATUS_FIELDS]
    others = [change for change in changes if change not in turning]
    if turn and turning:
        yield turn, tuple(turning)
    if others:
        yield otherwise, tuple(others)


def _list_changes(field: str, old: list[Any] | None, new: list[Any] | None) -> tuple[Change, ...]:
    before, after = old or [], new or []
    if before == after or is_alike(before, after):
        return ()
    if is_short(before) and is_short(after):
        return (Change(field=field, old=old, new=new),)
    told = set.intersection(*({*each[0]} for each in (before, after) if each))
    gone, come = _without(before, after, told), _without(after, before, told)
    # Without either, only the order differs.
    return (Change(field=field, old=gone, new=come, partial=True),) if gone or come else ()


def _without(entries: list[Any], others: list[Any], told: Set[str]) -> list[Any]:
    """Returns the entries that the other list lacks or has fewer times, by some of their fields."""

    def text_of(entry: Version) -> bytes:
        names = told - _silent(entry)
        return orjson.dumps({name: entry[name] for name in entry if name in names})

    count = Counter(map(text_of, others))
    found = []
    for entry in entries:
        text = text_of(entry)
        count[text] -= 1
        if count[text] < 0:
            found.append(entry)
    return found
