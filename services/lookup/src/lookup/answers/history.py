"""The history of a company, and the company as it was on a day."""

from datetime import date, datetime
from typing import Any, Final

import orjson

from common.contracts.company import CompanyKey
from common.contracts.events import rfc3339
from common.contracts.failures import Failure, FailureCode, FieldError
from common.domain.countries import day_of
from lookup.answers.past import dated_entries, on_dated_day
from lookup.answers.rendering import Candidate
from register_store.documents import CompanyRow
from register_store.history import NotKnown, StoredHistory

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
    since: datetime | None,
    today: date,
) -> bytes:
    """Returns a `HistoryPage` as JSON: the changes that were seen, then the dated entries.

    `after` is the place of the last entry before the page, among the dated ones or not; `since`
    leaves out what is older. May raise `Unavailable`.
    """
    known_from, past = await stored.knowledge(company)
    entries, cursor = list[dict[str, Any]](), None
    if not dated:
        entries, cursor = await stored.page(company, limit=limit, before=after, since=since)
    if cursor is None:
        begin = int(after) if dated else 0
        older = dated_entries(row, past or (), before=known_from, today=today)
        if since is not None:
            first = day_of(since).isoformat()
            older = [entry for entry in older if entry["time"] >= first]
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

    Of a day before that, it has what the register dates. May raise `Unavailable`.
    """
    wanted = date.fromisoformat(day)
    if wanted > today:
        return _refused(f"must be {today} or an earlier day")
    try:
        earlier = await stored.as_of(found.hit.key, found.row, wanted)
    except NotKnown as unknown:
        return _dated(found, wanted, unknown, today)
    return found._replace(row=earlier.row), (day, rfc3339(earlier.known_from))


def _dated(
    found: Candidate, day: date, unknown: NotKnown, today: date
) -> tuple[Candidate, tuple[str, str]] | Failure:
    """Returns what the register dates of a company on a day before it is known here."""
    if unknown.known_from is None:
        return _refused("no change of this company is known yet; leave as_of out")
    if unknown.past is None:
        first = day_of(unknown.known_from)
        return _refused(f"must be {first} or later: changes are known since then")
    row = on_dated_day(found.hit.key.country, found.row, unknown.past, day, today)
    if row is None:
        return _refused("must not be before the company was founded")
    return found._replace(row=row), (day.isoformat(), rfc3339(unknown.known_from))


def _refused(message: str) -> Failure:
    return Failure(
        code=FailureCode.INVALID_PARAMETER,
        detail=f"as_of: {message}",
        errors=(FieldError(parameter="as_of", message=message),),
    )
