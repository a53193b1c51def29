"""The former names of Norwegian companies, with the days that the register gives them."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ingest.records.records import CompanyRecord
from ingest.registers.brreg.sync import NO_ENTITIES
from register_samples import companies_no
from tests.builders.companies import TODAY, parsed

DOCUMENT = json.loads((Path(__file__).parent / "documents" / "no-enheter.json").read_text())[
    "document"
]
NAME = DOCUMENT["navn"]


def past(document: dict[str, Any], today: date = TODAY) -> list[list[str]] | None:
    record = parsed(NO_ENTITIES, document, today)
    assert isinstance(record, CompanyRecord)
    return None if record.past is None else json.loads(record.past)


def former(name: str | None, since: str | None, until: str | None) -> dict[str, Any]:
    return {"navn": name, "fraDato": since, "tilDato": until}


#: Former names, and the dated ones that are read.
NAMES: dict[str, tuple[list[dict[str, Any]], list[list[str]]]] = {
    "none": ([], []),
    "one, with local times": (
        [former("PRØVEN AS", "2014-10-29 14:14:38", "2025-09-01 12:29:08")],
        [["2014-10-29", "name", "PRØVEN AS"], ["2025-09-01", "name", NAME]],
    ),
    "several, in any order": (
        [
            former("B AS", "2006-03-13 20:26:12", "2007-11-28 20:31:59"),
            former("A AS", "2001-11-20 20:34:43", "2006-03-13 20:26:12"),
        ],
        [
            ["2001-11-20", "name", "A AS"],
            ["2006-03-13", "name", "B AS"],
            ["2007-11-28", "name", NAME],
        ],
    ),
    "one that came back": (
        [former("A AS", "2001-01-01", "2002-01-01"), former(NAME, "2002-01-01", "2003-01-01"),
         former("A AS", "2003-01-01", "2004-01-01")],
        [["2001-01-01", "name", "A AS"], ["2002-01-01", "name", NAME],
         ["2003-01-01", "name", "A AS"], ["2004-01-01", "name", NAME]],
    ),
    "two on one day": (
        [former("B AS", "2001-01-01 09:00:00", "2001-01-01 10:00:00"),
         former("A AS", "2001-01-01 10:00:00", "2004-01-01 10:00:00")],
        [["2001-01-01", "name", "A AS"], ["2004-01-01", "name", NAME]],
    ),
    "a new name of tomorrow": (
        [former("A AS", "2001-01-01", "2099-01-01")],
        [],
    ),
    "without a first day or a name": (
        [former("A AS", None, "2002-01-01"), former(None, "2002-01-01", "2003-01-01")],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("names, expected", NAMES.values(), ids=NAMES)
def test_former_names_have_their_first_days(
    names: list[dict[str, Any]], expected: list[list[str]]
) -> None:
    assert past({**DOCUMENT, "historiskeNavn": names}) == expected


def test_a_file_without_former_names_leaves_the_stored_ones() -> None:
    older = {name: value for name, value in DOCUMENT.items() if name != "respons_klasse"}
    older.pop("historiskeNavn", None)

    assert past(older) is None


def test_renamed_companies_of_the_invented_register_have_the_days_of_their_names() -> None:
    renamed = [one for one in companies_no(400) if one.get("historiskeNavn")]

    assert renamed
    for one in renamed:
        days = past(one, date(2026, 7, 1))
        assert days is not None
        assert days[-1][2] == one["navn"]
