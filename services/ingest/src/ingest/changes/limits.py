"""Leaves limited persons out of records and of what is stored (ADR 0085); pure."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

import orjson

from common.contracts.company import CompanyKey
from common.contracts.events import Change, EventType
from common.domain.limited import NameHash, is_named, mentions
from ingest.changes.differences import is_short
from ingest.changes.states import CompanyState
from ingest.records.records import CompanyRecord, OwnersRecord
from register_store.documents import Document
from register_store.events import PendingEvent

#: The texts of a company that are withheld if they name a limited person.
_TEXTS: Final = ("signing_rule", "purpose", "activity")
#: The lists of holders, which the past has too.
_HOLDERS: Final = ("owners", "roles")


def limited_record(record: CompanyRecord, names: Collection[NameHash]) -> CompanyRecord:
    """Returns a company's record, with those of its later days, without these persons."""
    return replace(
        record,
        core=limited_core(record.key, record.core, names),
        owner_list=_limited_list(record.key, record.owner_list, names),
        role_list=_limited_list(record.key, record.role_list, names),
        past=_limited_past(record.key, record.past, names),
        upcoming=tuple((day, limited_record(later, names)) for day, later in record.upcoming),
    )


def limited_owners(record: OwnersRecord, names: Collection[NameHash]) -> OwnersRecord:
    """Returns a record of owners and roles without these persons."""
    return replace(
        record,
        owner_list=_limited_list(record.key, record.owner_list, names) or b"null",
        role_list=_limited_list(record.key, record.role_list, names) or b"[]",
    )


def limited_state(
    key: CompanyKey, state: CompanyState, names: Collection[NameHash]
) -> tuple[CompanyState, tuple[PendingEvent, ...]]:
    """Returns a stored company without these persons, and the events that tell of it.

    Their old values are null, so that no event repeats what was left out.
    """
    limited = replace(
        state,
        core=None if state.core is None else limited_core(key, state.core, names),
        owners=_limited_list(key, state.owners, names),
        listed_owners=_limited_list(key, state.listed_owners, names),
        roles=_limited_list(key, state.roles, names),
        past=_limited_past(key, state.past, names),
    )
    if limited == state:
        return state, ()
    limited = replace(limited, revision=state.revision + 1 if state.is_known else state.revision)
    changes = []
    if limited.core is not None and limited.core != state.core and state.core is not None:
        before = orjson.loads(state.core)
        after = orjson.loads(limited.core)
        changes = [Change(field=name) for name in _TEXTS if before[name] != after[name]]
    if limited.roles != state.roles:
        changes.append(_shortened("roles", limited.roles))
    events = [PendingEvent(EventType.COMPANY_UPDATED, tuple(changes))] if changes else []
    if limited.owners != state.owners:
        owners = _shortened("owners", limited.owners)
        events.append(PendingEvent(EventType.OWNERS_CHANGED, (owners,)))
    return limited, tuple(events) if state.is_known else ()


def limited_days(key: CompanyKey, days: list[Document], names: Collection[NameHash]) -> Document:
    """Returns the changed days of a stored company's upcoming document, by their field."""
    found: Document = {}
    for number, day in enumerate(days):
        limited = {
            "core": limited_core(key, day["core"], names),
            "owners": _limited_list(key, day["owners"], names),
            "roles": _limited_list(key, day["roles"], names),
        }
        found |= {
            f"days.{number}.{name}": value for name, value in limited.items() if value != day[name]
        }
    return found


def limited_core(key: CompanyKey, core: bytes, names: Collection[NameHash]) -> bytes:
    """Returns a company's JSON without the texts that name one of these persons."""
    company = orjson.loads(core)
    told = [name for name in _TEXTS if mentions(key, company.get(name), names)]
    return orjson.dumps({**company, **dict.fromkeys(told)}) if told else core


def still_named(key: CompanyKey, core: bytes, names: Collection[NameHash]) -> list[str]:
    """Returns the fields of a company that name one of these persons nevertheless."""
    return [name for name, value in orjson.loads(core).items() if mentions(key, value, names)]


def _limited_list(
    key: CompanyKey, entries: bytes | None, names: Collection[NameHash]
) -> bytes | None:
    listed: list[dict[str, Any]] | None = None if entries is None else orjson.loads(entries)
    left = _unnamed(key, listed or [], names)
    return entries if len(left) == len(listed or ()) else orjson.dumps(left)


def _limited_past(key: CompanyKey, past: bytes | None, names: Collection[NameHash]) -> bytes | None:
    """Returns the past of a company without these persons and the texts that name them."""
    if past is None:
        return None
    entries: list[list[Any]] = orjson.loads(past)
    left = []
    for day, field, value in entries:
        if field in _HOLDERS:
            value = [_unnamed(key, holders, names) for holders in value]
        if field not in _TEXTS or not mentions(key, value, names):
            left.append([day, field, value])
    return past if left == entries else orjson.dumps(left)


def _unnamed(
    key: CompanyKey, holders: list[dict[str, Any]], names: Collection[NameHash]
) -> list[dict[str, Any]]:
    return [
        one for one in holders if one["type"] == "company" or not is_named(key, one["name"], names)
    ]


def _shortened(field: str, entries: bytes | None) -> Change:
    new = orjson.loads(entries or b"null")
    if new is None or is_short(new):
        return Change(field=field, new=new)
    # Of a long list an event has the entries that differ, which may not be told.
    return Change(field=field, partial=True)
