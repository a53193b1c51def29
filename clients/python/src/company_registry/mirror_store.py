"""The copy of a register in SQLite.

Rows and the place to continue from are written in one transaction, so a process that is killed at
any point continues without a loss.
"""

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from company_registry.mirror_accounts import MirrorAccounts, text_of
from company_registry.mirror_history import RETENTION, MirrorHistory
from company_registry.models import Country, Event

#: What an export has of a company beside what events have.
_NOT_OF_EVENTS: Final = ("match", "source", "annual_accounts", "accounts_state")

#: What may be newer in the register without an event: the day of a count of employees, and the
#: revision, which accounts of a first load raise.
_UNTOLD: Final = re.compile(r'"as_of":(?:null|"[0-9-]*+")|"revision":[0-9]++')

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
    copied_until TEXT,
    accounts INTEGER NOT NULL DEFAULT 0
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


#: Of events that change no accounts.
_NONE_READ: Final[Mapping[str, Sequence[dict[str, Any]]]] = {}


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
    #: True if it has annual accounts too.
    accounts: bool = False


class Counted(NamedTuple):
    """Companies, their annual accounts if the mirror has them, and a digest of all contents."""

    rows: int
    accounts: int
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
        for name in _COLUMNS.keys() - self._names("companies"):
            self._database.execute(f"ALTER TABLE companies ADD COLUMN {_column(name)}")
        if "accounts" not in self._names("mirrors"):
            added = "ALTER TABLE mirrors ADD COLUMN accounts INTEGER NOT NULL DEFAULT 0"
            self._database.execute(added)
        self._database.executescript(_INDEXES)
        self._accounts = MirrorAccounts(self._database, country)
        self._history = MirrorHistory(self._database, country, history, now)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    @property
    def place(self) -> Place:
        """Returns how far the mirror is."""
        found = self._database.execute(
            "SELECT copy, cursor, copied_until, accounts FROM mirrors WHERE country = ?",
            (self.country,),
        ).fetchone()
        if found is None:
            return Place()
        copy, cursor, copied_until, accounts = found
        return Place(copy, cursor, copied_until, bool(accounts))

    def store(self, companies: Iterable[dict[str, Any]], place: Place) -> None:
        """Stores companies of an export, and the place after them."""
        listed = list(companies)
        with self._transaction():
            self._database.executemany(
                _STORE, [self._row(company, place.copy) for company in listed]
            )
            if place.accounts:
                self._accounts.replace({each["vat"]: each["annual_accounts"] for each in listed})
            self._move(place)

    def start_over(self) -> None:
        """Begins another copy; the rows of this one stay until it is complete."""
        with self._transaction():
            before = self.place
            self._move(Place(before.copy + 1, accounts=before.accounts))

    def keep_accounts(self) -> None:
        """Begins another copy with annual accounts, unless the mirror has them."""
        with self._transaction():
            before = self.place
            if not before.accounts:
                self._move(Place(before.copy + 1, accounts=True))

    def complete(self, place: Place) -> None:
        """Ends a copy: what an earlier one had and this one has not is no longer registered."""
        with self._transaction():
            self._database.execute(
                "DELETE FROM companies WHERE country = ? AND copy < ?", (self.country, place.copy)
            )
            self._history.delete_unmirrored()
            self._accounts.delete_unmirrored()
            self._move(place)

    def apply(
        self,
        events: Iterable[Event],
        place: Place,
        accounts: Mapping[str, Sequence[dict[str, Any]]] = _NONE_READ,
    ) -> None:
        """Applies events, of each company the newest revision, and stores the place after them.

        `accounts` are those of the companies whose accounts the events change, by number.
        """
        with self._transaction():
            for event in events:
                if event.country != self.country or event.vat is None:
                    continue
                self._history.add(event)
                if event.type == "company.removed":
                    deleted = self._database.execute(
                        "DELETE FROM companies WHERE country = ? AND vat = ? AND revision <= ?",
                        (event.country, event.vat, event.revision),
                    )
                    if deleted.rowcount:
                        self._accounts.replace({event.vat: ()})
                elif event.data.company is not None:
                    company = event.data.company.model_dump(mode="json", exclude_unset=True)
                    self._database.execute(_APPLY, self._row(company, place.copy))
            self._accounts.replace(accounts)
            self._move(place)

    def counted(self) -> Counted:
        """Returns the numbers of rows, and a digest of what they are of and of their contents."""
        digest = hashlib.sha256()
        companies = self._database.execute(
            "SELECT vat, fingerprint(body) FROM companies WHERE country = ? ORDER BY vat",
            (self.country,),
        )
        counts = []
        for rows in (companies, self._accounts.bodies()):
            count = 0
            for count, row in enumerate(rows, 1):  # noqa: B007 (the last is the number)
                digest.update("{} {}\n".format(*row).encode())
            counts.append(count)
        return Counted(counts[0], counts[1], digest.hexdigest()[:32])

    def _names(self, table: str) -> set[str]:
        return {row[1] for row in self._database.execute(f"PRAGMA table_xinfo({table})")}

    def _row(self, company: dict[str, Any], copy: int) -> tuple[str, str, int, str, int]:
        return self.country, company["vat"], company["revision"], _text(company), copy

    def _move(self, place: Place) -> None:
        self._history.move(self.place.cursor, place.cursor)
        self._database.execute(
            "INSERT OR REPLACE INTO mirrors (country, copy, cursor, copied_until, accounts)"
            " VALUES (?, ?, ?, ?, ?)",
            (self.country, *place),
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
    return text_of({name: one for name, one in company.items() if name not in _NOT_OF_EVENTS})


def _fingerprint(body: str) -> str:
    return hashlib.sha256(_UNTOLD.sub("", body).encode()).hexdigest()[:32]
