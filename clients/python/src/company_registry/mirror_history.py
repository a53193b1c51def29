"""The history of the companies of a mirror: the changes that it applied, without the companies.

Each is stored in the transaction that applies it. A removed company or production unit takes its
history along, and so do persons that are left out of a company.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from company_registry.models import Change, Country, Event, HistoryPage

#: For how long changes are kept, unless another time is given: the service's own setting.
RETENTION: Final = timedelta(days=3653)

_DAY: Final = timedelta(days=1)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS history (
    place INTEGER PRIMARY KEY,
    country TEXT NOT NULL,
    vat TEXT NOT NULL,
    revision INTEGER NOT NULL,
    event TEXT NOT NULL,
    time TEXT NOT NULL,
    type TEXT NOT NULL,
    production_unit TEXT,
    changes TEXT NOT NULL,
    earlier_deleted INTEGER NOT NULL,
    UNIQUE (country, vat, revision, event)
);
CREATE TABLE IF NOT EXISTS histories (
    country TEXT PRIMARY KEY,
    known_from TEXT NOT NULL,
    cursor TEXT
);
"""

#: Fields of a company that may name persons.
_PERSONS: Final = ("owners", "roles", "signing_rule", "purpose", "activity")
_LISTS: Final = _PERSONS[:2]

_DELETE_PERSONS: Final = f"""
DELETE FROM history WHERE country = ? AND vat = ? AND revision < ? AND EXISTS (
    SELECT 1 FROM json_each(changes)
    WHERE json_extract(value, '$.field') IN ({", ".join("?" * len(_PERSONS))})
)
"""  # noqa: S608 (placeholders)
#: In the order in which changes were stored, so that the first ones alone are read.
_DELETE_EXPIRED: Final = """
DELETE FROM history WHERE country = ?1 AND place < coalesce(
    (SELECT place FROM history WHERE country = ?1 AND time >= ?2 ORDER BY place LIMIT 1),
    (SELECT max(place) + 1 FROM history)
)
"""
_DELETE_UNMIRRORED: Final = """
DELETE FROM history WHERE country = ?1
AND vat NOT IN (SELECT vat FROM companies WHERE country = ?1)
"""
_PAGE: Final = """
SELECT time, type, revision, production_unit, changes, earlier_deleted FROM history
WHERE country = ? AND vat = ? ORDER BY revision DESC, place DESC
"""


class MirrorHistory:
    """The history in a mirror's file; its methods belong to the transactions of the mirror."""

    def __init__(
        self,
        database: sqlite3.Connection,
        country: Country,
        retention: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        """Creates the tables unless they exist; a retention of zero keeps nothing."""
        self._database = database
        self._country = country
        self._retention = retention
        self._now = now
        self._expires_at = now()
        database.executescript(_SCHEMA)

    def add(self, event: Event) -> None:
        """Stores the changes of an event, once."""
        if event.type == "company.removed":
            self._delete("revision <= ?", event, event.revision)
            return
        unit, changes = event.data.production_unit, event.data.changes
        if unit is not None and event.type == "production_unit.ended" and not changes:
            # Its register ordered the removal: an end has changes.
            self._delete("production_unit = ?", event, unit.number)
        was_deleted = any(map(leaves_out, changes)) and self._leave_out(event)
        if not self._retention:
            return
        self._database.execute(
            "INSERT OR IGNORE INTO history VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._country,
                event.vat,
                event.revision,
                event.id,
                event.occurred_at,
                event.type,
                None if unit is None else unit.number,
                json.dumps([_shown(each) for each in changes], ensure_ascii=False),
                was_deleted,
            ),
        )

    def move(self, before: str | None, cursor: str | None) -> None:
        """Notes a new place in the feed, and where the changes before it are not all known.

        That is so after a copy, after a release that kept no history, and without a retention.
        """
        now = self._now()
        if self._retention:
            found = self._database.execute(
                "SELECT known_from, cursor FROM histories WHERE country = ?", (self._country,)
            ).fetchone()
            goes_on = found is not None and (found[1] == before is not None or cursor is None)
            self._database.execute(
                "INSERT OR REPLACE INTO histories VALUES (?, ?, ?)",
                (self._country, found[0] if goes_on else _text(now), cursor),
            )
        if now >= self._expires_at:
            self._expire(now - self._retention)
            self._expires_at = now + _DAY

    def delete_unmirrored(self) -> None:
        """Deletes the history of companies that the mirror does not have any more."""
        self._database.execute(_DELETE_UNMIRRORED, (self._country,))

    def _expire(self, until: datetime) -> None:
        country, first = self._country, _text(until)
        if not self._retention:
            self._database.execute("DELETE FROM history WHERE country = ?", (country,))
            self._database.execute("DELETE FROM histories WHERE country = ?", (country,))
            return
        self._database.execute(_DELETE_EXPIRED, (country, first))
        self._database.execute(
            "UPDATE histories SET known_from = max(known_from, ?) WHERE country = ?",
            (first, country),
        )

    def _delete(self, what: str, event: Event, value: object) -> None:
        self._database.execute(
            f"DELETE FROM history WHERE country = ? AND vat = ? AND {what}",  # noqa: S608 (ours)
            (self._country, event.vat, value),
        )

    def _leave_out(self, event: Event) -> bool:
        found = self._database.execute(
            _DELETE_PERSONS, (self._country, event.vat, event.revision, *_PERSONS)
        )
        return found.rowcount > 0


def mirrored_history(path: Path, country: Country, vat: str) -> HistoryPage | None:
    """Returns all that a mirror knows of what a company did, newest first, as the service does.

    None if the mirror has no such company. The days that a register names are not in it, nor
    changes before `known_from`. Raises sqlite3.Error, also for a file that is no mirror.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        known = database.execute(
            "SELECT known_from FROM companies LEFT JOIN histories USING (country)"
            " WHERE country = ? AND vat = ?",
            (country, vat),
        ).fetchone()
        rows = database.execute(_PAGE, (country, vat)).fetchall()
    if known is None:
        return None
    # Of rows whose earlier changes were deleted, the first is the newest.
    begun = next((time for time, *_, deleted in rows if deleted), None)
    entries = [
        {
            "time": time,
            "dated": False,
            "type": type_,
            "revision": revision,
            "production_unit": unit,
            "changes": json.loads(changes),
        }
        for time, type_, revision, unit, changes, _ in rows
    ]
    known_from = max((time for time in (known[0], begun) if time is not None), default=None)
    return HistoryPage.model_validate(
        {"history": entries, "known_from": known_from, "cursor": None}
    )


def leaves_out(change: Change) -> bool:
    """Returns True if a change tells no old value where a person may have been left out."""
    if change.field in _LISTS:
        return change.old is None
    return change.field in _PERSONS and change.old is None and change.new is None


def _shown(change: Change) -> dict[str, Any]:
    """Returns a change as a history has it: of a list, the entries that are gone and that came."""
    old, new, partial = change.old, change.new, change.partial
    if isinstance(old, list) and isinstance(new, list) and not partial:
        before, after = ([json.dumps(one, sort_keys=True) for one in each] for each in (old, new))
        differences = [
            each
            for each in SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            if each[0] != "equal"
        ]
        old = [one for _, first, end, _, _ in differences for one in old[first:end]]
        new = [one for _, _, _, first, end in differences for one in new[first:end]]
        partial = True
    shown = {"field": change.field, "old": old, "new": new}
    return {**shown, "partial": True} if partial else shown


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
