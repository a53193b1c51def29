"""The history of a company in lines, grouped by day, and narrowed down to one kind of change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from itertools import groupby
from typing import Any, Final

from company_registry.change_words import Brief, brief_of, brief_of_day
from company_registry.models import HistoryEntry

#: The kinds that a history is narrowed down to, by their names, and the fields of each.
KINDS: Final[dict[str, frozenset[str]]] = {
    "status": frozenset(
        {"status", "status_text", "status_since", "founded", "registered", "ended"}
        | {"dissolution", "merged_into", "merged_from"}
    ),
    "owners": frozenset({"owners", "minor_owners", "owner_changed", "founders"}),
    "roles": frozenset({"roles", "signing_rule"}),
    "address": frozenset({"address", "postal_address"}),
    "accounts": frozenset({"annual_accounts", "accounts"}),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a history."""

    brief: Brief
    #: The number of the production unit that it is about.
    unit: str | None = None
    #: RFC 3339; empty of a dated one.
    time: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on a day."""

    #: `YYYY-MM-DD`.
    day: str
    #: True if the register names the day, false if the service saw the changes.
    is_dated: bool
    entries: tuple[Entry, ...]


def days_of(
    history: Sequence[HistoryEntry], zone: tzinfo, *, kind: str = "", until: date | None = None
) -> list[Day]:
    """Returns the days of a history in its order, the newest first.

    Seen changes are of a day in `zone`. `kind` is one of KINDS, or empty for all. Nothing after
    `until` is in them.
    """
    fields = KINDS.get(kind)
    last = "9999" if until is None else until.isoformat()
    found = []
    for (day, is_dated), group in groupby(history, key=lambda each: _day(each, zone)):
        entries = [] if day > last else _entries(day, list(group), is_dated=is_dated)
        chosen = tuple(narrowed for each in entries if (narrowed := _narrowed(each, fields)))
        if chosen:
            found.append(Day(day, is_dated, chosen))
    return found


def _day(entry: HistoryEntry, zone: tzinfo) -> tuple[str, bool]:
    if entry.dated:
        return entry.time, True
    try:
        return datetime.fromisoformat(entry.time).astimezone(zone).date().isoformat(), False
    except (ValueError, OverflowError):
        return entry.time, False


def _entries(day: str, group: Iterable[HistoryEntry], *, is_dated: bool) -> list[Entry]:
    if is_dated:
        changes = [change for each in group for change in _plain(each)]
        return [Entry(brief_of_day(day, changes))]
    return [
        Entry(brief_of(each.type, _plain(each)), each.production_unit, each.time) for each in group
    ]


def _plain(entry: HistoryEntry) -> list[dict[str, Any]]:
    return [change.model_dump() for change in entry.changes]


def _narrowed(entry: Entry, fields: frozenset[str] | None) -> Entry | None:
    """Returns the part of a line that is of a kind; None if nothing is."""
    if fields is None:
        return entry
    lines = [line for line in entry.brief.lines if line.field in fields]
    # The lead of a dated day is the foundation; that of a seen change without lines is its heading.
    is_kind = "founded" in fields and entry.brief.lead.startswith("Founded")
    lead = entry.brief.lead if is_kind else ""
    return Entry(Brief(lead, lines), entry.unit, entry.time) if lead or lines else None
