"""The past of a company as its register dates it: entries, and the company on a day."""

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, datetime
from typing import Any, Final

import orjson

from common.contracts.company import Company, Country, Status
from common.contracts.events import EventType
from common.domain.countries import day_of
from register_store.documents import CompanyRow, Past, completed, dump, former_persons_since

#: Days in a company's record, and the fields that hold from them.
_DAYS: Final = {
    "founded": ("founded",),
    "registered": ("registered",),
    "status_since": ("status", "status_text"),
    "ended": ("ended",),
    "articles_dated": ("articles_dated",),
    "vat_registered_since": ("vat_registered",),
}
#: Lists of a company's record, and the day in each of their entries.
_DATED_LISTS: Final = {
    "registrations": "since",
    "remarks": "since",
    "merged_into": "date",
    "merged_from": "date",
}
#: Owners and roles, and the type of the entries about them.
_HOLDERS: Final = {
    "owners": EventType.OWNERS_CHANGED,
    "roles": EventType.COMPANY_UPDATED,
}
_STATUS: Final = frozenset({"status", "status_text"})

#: The fields of which each register gives every value with its days.
_DATED_FIELDS: Final[Mapping[Country, Sequence[str]]] = {
    Country.DK: (
        "name", "address", "form", "status", "status_text", "industry", "purpose", "signing_rule",
        "capital",
    ),
    Country.NO: ("name",),
}  # fmt: skip

_Dated = tuple[str, EventType, list[dict[str, Any]]]


def dated_entries(
    row: CompanyRow, past: Sequence[Past] = (), *, before: datetime | None, today: date
) -> list[dict[str, Any]]:
    """Returns the days that the register names for a company, newest first.

    Old values are known of the fields whose `past` it lists. Of the days since the company is
    known, the changes themselves are known.
    """
    shown = _shown(past, today)
    known = {field for _, field, _ in shown}
    entries = [
        {
            "time": day,
            "dated": True,
            "type": type_.value,
            "revision": None,
            "production_unit": None,
            "changes": changes,
        }
        for day, type_, changes in (*_of_past(shown), *_dated(row, known))
        if before is None or day < day_of(before).isoformat()
    ]
    return sorted(entries, key=lambda entry: entry["time"], reverse=True)


def _shown(past: Sequence[Past], today: date) -> list[Past]:
    """Returns the past without persons who have left longer ago than they may be shown."""
    since = former_persons_since(today.isoformat())
    gone = {
        orjson.dumps(entry)
        for day, field, value in past
        if field in _HOLDERS and day <= since
        for entry in value[0]
        if entry["type"] != "company"
    }
    if not gone:
        return list(past)
    return [
        (day, field, [_without(entries, gone) for entries in value] if field in _HOLDERS else value)
        for day, field, value in past
    ]


def _without(entries: Sequence[Any], gone: Set[bytes]) -> list[Any]:
    return [entry for entry in entries if orjson.dumps(entry) not in gone]


def _of_past(past: Sequence[Past]) -> Iterator[_Dated]:
    """Yields the changes of each field; those of a status on one day are one."""
    before: dict[str, Any] = {}
    statuses: dict[str, list[dict[str, Any]]] = {}
    for day, field, value in past:
        if field in _HOLDERS:
            gone, come = value
            if gone or come:
                lists = {"old": gone or None, "new": come or None}
                yield day, _HOLDERS[field], [{"field": field, **lists, "partial": True}]
            continue
        changes = list(_differences(field, before.get(field), value))
        before[field] = value
        if field in _STATUS:
            statuses.setdefault(day, []).extend(changes)
        elif changes:
            yield day, EventType.COMPANY_UPDATED, changes
    for day, changes in statuses.items():
        yield day, EventType.COMPANY_STATUS_CHANGED, changes


def _differences(path: str, old: Any, new: Any) -> Iterator[dict[str, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in new:
            if old.get(name) != new[name]:
                yield {"field": f"{path}.{name}", "old": old.get(name), "new": new[name]}
    else:
        yield {"field": path, "old": old, "new": new}


def _dated(row: CompanyRow, known: Set[str]) -> Iterator[_Dated]:
    company = orjson.loads(completed(row.core))
    for name, fields in _DAYS.items():
        if (day := company[name]) and known.isdisjoint(fields):
            type_ = EventType.COMPANY_UPDATED
            if name == "status_since":
                type_ = EventType.COMPANY_STATUS_CHANGED
            values = [
                {"field": field, "old": None, "new": company[field]}
                for field in fields
                if company[field] is not None
            ]
            yield day, type_, values
    for name, day_field in _DATED_LISTS.items():
        yield from _of_list(name, company[name], day_field, EventType.COMPANY_UPDATED)
    for name, type_ in _HOLDERS.items():
        if name not in known:
            yield from _of_list(name, orjson.loads(getattr(row, name)), "since", type_)


def _of_list(name: str, entries: Any, day_field: str, type_: EventType) -> Iterator[_Dated]:
    for entry in entries or ():
        if day := entry.get(day_field):
            change = {"field": name, "old": None, "new": [entry], "partial": True}
            yield day, type_, [change]


def on_dated_day(
    country: Country, row: CompanyRow, past: Sequence[Past], day: date, today: date
) -> CompanyRow | None:
    """Returns what the register dates of a company at the end of a day; None before its first.

    Everything that it does not date is null, since nobody knows what it was.
    """
    record = orjson.loads(completed(row.core))
    wanted = day.isoformat()
    began = record["founded"] or record["registered"]
    if began is None or wanted < began:
        return None
    # An earlier release stored parts of fields (`address.text`), and no status beside its text.
    listed = {field.partition(".")[0] for _, field, _ in past}
    listed |= _STATUS if "status_text" in listed else set()
    values = {name: record[name] for name in _DATED_FIELDS[country] if name not in listed}
    values |= {name: None for name in listed if name in record}
    values |= {field: value for at, field, value in past if field in record and at <= wanted}
    since = [at for at, field, _ in past if field == "status" and at <= wanted]
    ended = record["ended"]
    known = {
        "status_since": since[-1] if since else None,
        "founded": record["founded"],
        "registered": _until(record["registered"], wanted),
        "ended": _until(ended, wanted),
        "status": values.get("status") or _status(ended, wanted),
        "name": values.get("name") or record["name"],
    }
    values = {name: value for name, value in values.items() if value is not None}
    company = Company.model_validate({"country": country, "vat": record["vat"], **values, **known})
    is_recent = wanted >= former_persons_since(today.isoformat())
    owners, roles = (
        _holders_on(name, getattr(row, name), past, wanted) if is_recent else b"null"
        for name in _HOLDERS
    )
    return CompanyRow(row.revision, dump(company), owners, roles, None)


def _until(day: str | None, wanted: str) -> str | None:
    return day if day is not None and day <= wanted else None


def _status(ended: str | None, wanted: str) -> Status:
    return Status.ENDED if ended is not None and ended <= wanted else Status.ACTIVE


def _holders_on(name: str, present: bytes, past: Sequence[Past], wanted: str) -> bytes:
    """Returns the owners or roles of a day as JSON; null if one of them has no first day."""
    entries: list[dict[str, Any]] | None = orjson.loads(present)
    changes = [(day, value) for day, field, value in past if field == name]
    if entries is None or any(entry.get("since") is None for entry in entries):
        return b"null"
    if not changes:
        return orjson.dumps([entry for entry in entries if entry["since"] <= wanted])
    held: list[dict[str, Any]] = []
    for day, (gone, come) in changes:
        if day <= wanted:
            held = [entry for entry in held if entry not in gone] + come
    return orjson.dumps(held)
