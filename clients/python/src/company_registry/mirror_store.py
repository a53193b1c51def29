"""The copy of a register in SQLite.

Rows and the place to continue from are written in one transaction, so a process that is killed at
any point continues without a loss.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from company_registry.mirror_history import RETENTION, MirrorHistory
from company_registry.models import Country, Event

#: Of the feed's parts of a company; an export has more.
_NOT_OF_EVENTS: Final = ("match", "source")

_COUNTED: Final = re.compile(r'"as_of":(?:null|"[0-9-]*+")')

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS companies (
    country TEXT NOT NULL,
    vat TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    copy INTEGER NOT NULL,
    PRIMARY KEY (country, vat)
);
CREATE TABLE IF NOT EXISTS mirrors (
    country TEXT PRIMARY KEY,
    copy INTEGER NOT NULL,
    cursor TEXT,
    copied_until TEXT
);
"""
#: Columns by the paths of their values in a company; a file of an earlier release gets new ones.
_COLUMNS: Final = {
    "name": "$.name",
    "status": "$.status",
    "form": "$.form.code",
    "industry": "$.industry.code",
    "municipality": "$.address.municipality",
    "postal_code": "$.address.postal_code",
    "city": "$.address.city",
    "founded": "$.founded",
    "ended": "$.ended",
    "phone": "$.phone",
    "email": "$.email",
    "website": "$.website",
    "status_since": "$.status_since",
    "form_short": "$.form.short",
    "municipality_code": "$.address.municipality_code",
    "activity": "$.activity",
    "sector": "$.sector.code",
    # The first of these that is known.
    "employees": ("$.employees.exact", "$.employees.min"),
}
_INDEXES: Final = """
CREATE INDEX IF NOT EXISTS companies_name ON companies (name COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS companies_industry ON companies (industry);
CREATE INDEX IF NOT EXISTS companies_postal_code ON companies (postal_code);
"""

_STORE: Final = """
INSERT INTO companies (country, vat, revision, body, copy) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (country, vat) DO UPDATE
SET revision = excluded.revision, body = excluded.body, copy = excluded.copy
"""
#: Of an event, which may be of before the stored row.
_APPLY: Final = f"{_STORE} WHERE excluded.revision >= companies.revision"


def _column(name: str) -> str:
    paths = _COLUMNS[name]
    if isinstance(paths, str):
        return f"{name} TEXT GENERATED ALWAYS AS (json_extract(body, '{paths}'))"
    values = ", ".join(f"json_extract(body, '{path}')" for path in paths)
    return f"{name} INTEGER GENERATED ALWAYS AS (coalesce({values}))"


class Place(NamedTuple):
    """How far a mirror is."""

    #: The number of the copy that is or was made; rows of an earlier one are not in the register.
    copy: int = 1
    #: The place in the event feed; None before the copy has begun.
    cursor: str | None = None
    #: The last registration number of a copy that is not complete; None once it is.
    copied_until: str | None = ""


class Counted(NamedTuple):
    """Rows, and a digest of all their contents."""

    rows: int
    digest: str


class MirrorStore:
    """The SQLite database of one country's copy; other countries may be in the same file."""

    def __init__(
        self,
        path: Path,
        country: Country,
        *,
        history: timedelta = RETENTION,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Opens or creates the file. Raises sqlite3.Error.

        Changes are kept for the time `history`, beside the companies; for zero none are.
        """
        self.country = country
        self._database = sqlite3.connect(path, isolation_level=None, timeout=30.0)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.create_function("fingerprint", 1, _fingerprint, deterministic=True)
        self._database.executescript(_SCHEMA)
        known = {row[1] for row in self._database.execute("PRAGMA table_xinfo(companies)")}
        for name in _COLUMNS.keys() - known:
            self._database.execute(f"ALTER TABLE companies ADD COLUMN {_column(name)}")
        self._database.executescript(_INDEXES)
        self._history = MirrorHistory(self._database, country, history, now)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    @property
    def place(self) -> Place:
        """Returns how far the mirror is."""
        found = self._database.execute(
            "SELECT copy, cursor, copied_until FROM mirrors WHERE country = ?", (self.country,)
        ).fetchone()
        return Place() if found is None else Place(*found)

    def store(self, companies: Iterable[dict[str, Any]], place: Place) -> None:
        """Stores companies of an export, and the place after them."""
        with self._transaction():
            self._database.executemany(
                _STORE, [self._row(company, place.copy) for company in companies]
            )
            self._move(place)

    def start_over(self) -> None:
        """Begins another copy; the rows of this one stay until it is complete."""
        with self._transaction():
            self._move(Place(self.place.copy + 1))

    def complete(self, place: Place) -> None:
        """Ends a copy: what an earlier one had and this one has not is no longer registered."""
        with self._transaction():
            self._database.execute(
                "DELETE FROM companies WHERE country = ? AND copy < ?", (self.country, place.copy)
            )
            self._history.delete_unmirrored()
            self._move(place)

    def apply(self, events: Iterable[Event], place: Place) -> None:
        """Applies events, of each company the newest revision, and stores the place after them."""
        with self._transaction():
            for event in events:
                if event.country != self.country or event.vat is None:
                    continue
                self._history.add(event)
                if event.type == "company.removed":
                    self._database.execute(
                        "DELETE FROM companies WHERE country = ? AND vat = ? AND revision <= ?",
                        (event.country, event.vat, event.revision),
                    )
                elif event.data.company is not None:
                    company = event.data.company.model_dump(mode="json", exclude_unset=True)
                    self._database.execute(_APPLY, self._row(company, place.copy))
            self._move(place)

    def counted(self) -> Counted:
        """Returns the number of rows, and a digest of their numbers, revisions and contents."""
        rows = self._database.execute(
            "SELECT vat, revision, fingerprint(body) FROM companies WHERE country = ? ORDER BY vat",
            (self.country,),
        )
        digest, count = hashlib.sha256(), 0
        for count, row in enumerate(rows, 1):  # noqa: B007 (the last is the number)
            digest.update("{} {} {}\n".format(*row).encode())
        return Counted(count, digest.hexdigest()[:32])

    def _row(self, company: dict[str, Any], copy: int) -> tuple[str, str, int, str, int]:
        return self.country, company["vat"], company["revision"], _text(company), copy

    def _move(self, place: Place) -> None:
        self._history.move(self.place.cursor, place.cursor)
        self._database.execute(
            "INSERT OR REPLACE INTO mirrors VALUES (?, ?, ?, ?)", (self.country, *place)
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _text(company: dict[str, Any]) -> str:
    shown = {name: value for name, value in company.items() if name not in _NOT_OF_EVENTS}
    return json.dumps(shown, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _fingerprint(body: str) -> str:
    # The day of a count of employees may be newer in the register, without a revision.
    return hashlib.sha256(_COUNTED.sub("", body).encode()).hexdigest()[:32]
