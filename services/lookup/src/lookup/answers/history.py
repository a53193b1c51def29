"""The history of a company, and the company as it was on a day."""

from collections.abc import Iterator, Sequence, Set
from datetime import date, datetime
from typing import Any, Final

import orjson

from common.contracts.company import CompanyKey
from common.contracts.events import EventType, rfc3339
from common.contracts.failures import Failure, FailureCode, FieldError
from common.domain.countries import day_of
from lookup.answers.rendering import Candidate
from register_store.documents import CompanyRow, completed
from register_store.history import NotKnown, StoredHistory

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
#: The cursor of a page that begins among the dated entries.
DATED: Final = "d"


async def history_page(  # noqa: PLR0913 (the parts of a request)
    stored: StoredHistory,
    company: CompanyKey,
    row: CompanyRow,
    limit: int,
    *,
    dated: bool,
    after: str,
) -> bytes:
    """Returns a `HistoryPage` as JSON: the changes that were seen, then the dated entries.

    `after` is the place of the last entry before the page, among the dated ones or not. May raise
    `Unavailable`.
    """
    known_from, past = await stored.knowledge(company)
    entries, cursor = list[dict[str, Any]](), None
    if not dated:
        entries, cursor = await stored.page(company, limit=limit, before=after)
    if cursor is None:
        begin = int(after) if dated else 0
        older = dated_entries(row, past, before=known_from)
        end = begin + limit - len(entries)
        entries += older[begin:end]
        cursor = f"{DATED}{end}" if end < len(older) else None
    return orjson.dumps(
        {
            "history": entries,
            "known_from": None if known_from is None else rfc3339(known_from),
            "cursor": cursor,
        }
    )


async def on_day(
    stored: StoredHistory, found: Candidate, day: str, today: date
) -> tuple[Candidate, tuple[str, str]] | Failure:
    """Returns a company at the end of a day, with the day and the time it is known from.

    May raise `Unavailable`.
    """
    wanted = date.fromisoformat(day)
    if wanted > today:
        return _refused(f"must be {today} or an earlier day")
    try:
        earlier = await stored.as_of(found.hit.key, found.row, wanted)
    except NotKnown as unknown:
        if unknown.known_from is None:
            return _refused("no change of this company is known yet; leave as_of out")
        first = day_of(unknown.known_from)
        return _refused(f"must be {first} or later: changes are known since then")
    return found._replace(row=earlier.row), (day, rfc3339(earlier.known_from))


def dated_entries(
    row: CompanyRow, past: Sequence[tuple[str, str, str]] = (), *, before: datetime | None
) -> list[dict[str, Any]]:
    """Returns the days that the record of a company names, newest first.

    Old values are known of the fields whose `past` the register lists.

    Of those since the company is known, the changes themselves are known.
    """
    entries = [
        {
            "time": day,
            "dated": True,
            "type": type_.value,
            "revision": None,
            "production_unit": None,
            "changes": changes,
        }
        for day, type_, changes in (*_of_past(past), *_dated(row, {one[1] for one in past}))
        if before is None or day < day_of(before).isoformat()
    ]
    return sorted(entries, key=lambda entry: entry["time"], reverse=True)


_Dated = tuple[str, EventType, list[dict[str, Any]]]


def _of_past(past: Sequence[tuple[str, str, str]]) -> Iterator[_Dated]:
    before: tuple[str, str, str] | None = None
    for day, field, value in past:
        old = before[2] if before and before[1] == field else None
        is_status = field == "status_text"
        type_ = EventType.COMPANY_STATUS_CHANGED if is_status else EventType.COMPANY_UPDATED
        yield day, type_, [{"field": field, "old": old, "new": value}]
        before = (day, field, value)


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
    yield from _of_list("owners", orjson.loads(row.owners), "since", EventType.OWNERS_CHANGED)
    yield from _of_list("roles", orjson.loads(row.roles), "since", EventType.COMPANY_UPDATED)


def _of_list(name: str, entries: Any, day_field: str, type_: EventType) -> Iterator[_Dated]:
    for entry in entries or ():
        if day := entry.get(day_field):
            change = {"field": name, "old": None, "new": [entry], "partial": True}
            yield day, type_, [change]


def _refused(message: str) -> Failure:
    return Failure(
        code=FailureCode.INVALID_PARAMETER,
        detail=f"as_of: {message}",
        errors=(FieldError(parameter="as_of", message=message),),
    )
