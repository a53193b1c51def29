"""The SQLite file of a mirror."""

import sqlite3
from pathlib import Path

from company_registry.mirror_store import MirrorStore, Place

COMPANY = {
    "country": "no",
    "vat": "310345679",
    "revision": 2,
    "name": "PRØVEFABRIKKEN AS",
    "form": {"code": "AS", "short": "AS"},
    "address": {"municipality_code": "1818"},
    "employees": {"min": 5, "exact": None},
    "status_since": "2026-01-31",
}


def row(path: Path) -> dict[str, object]:
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        found = database.execute("SELECT * FROM companies").fetchone()
    database.close()
    return dict(found)


def test_values_of_a_company_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    store = MirrorStore(path, "no")

    store.store([COMPANY], Place())
    store.close()

    assert (
        row(path).items()
        >= {
            "name": "PRØVEFABRIKKEN AS",
            "form_short": "AS",
            "municipality_code": "1818",
            "employees": 5,
            "status_since": "2026-01-31",
            "activity": None,
        }.items()
    )


def test_a_file_of_an_earlier_release_gets_the_columns_of_this_one(tmp_path: Path) -> None:
    path = tmp_path / "mirror.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE companies (country TEXT NOT NULL, vat TEXT NOT NULL,"
            " revision INTEGER NOT NULL, body TEXT NOT NULL, copy INTEGER NOT NULL,"
            " name TEXT GENERATED ALWAYS AS (json_extract(body, '$.name')),"
            " PRIMARY KEY (country, vat));"
            "INSERT INTO companies (country, vat, revision, body, copy)"
            """ VALUES ('no', '1', 1, '{"name":"A","status_since":"2026-01-31"}', 1)"""
        )
    database.close()

    for _ in range(2):
        MirrorStore(path, "no").close()

    found = row(path)
    assert (found["name"], found["status_since"], found["sector"]) == ("A", "2026-01-31", None)
