"""The past that Danish documents tell: values with their first days."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.records.records import CompanyRecord
from ingest.registers.cvr.sync import DK_COMPANIES
from tests.builders.companies import parsed

DOCUMENT = json.loads((Path(__file__).parent / "documents" / "dk-virksomhed.json").read_text())[
    "document"
]


def dated(since: str | None, **fields: Any) -> dict[str, Any]:
    return {**fields, "periode": {"gyldigFra": since, "gyldigTil": None}}


def named(*names: tuple[str | None, str]) -> dict[str, Any]:
    return {"navne": [dated(since, navn=name) for since, name in names]}


def past(**fields: Any) -> list[list[str]]:
    record = parsed(DK_COMPANIES, {**DOCUMENT, **fields})
    assert isinstance(record, CompanyRecord)
    assert record.past is not None
    found: list[list[str]] = json.loads(record.past)
    return found


@pytest.mark.parametrize(
    "fields,expected",
    [
        (named(("1999-11-15", "Prøven ApS")), []),
        (
            named(("2010-01-01", "Nyt ApS"), ("1999-11-15", "Prøven ApS")),
            [["1999-11-15", "name", "Prøven ApS"], ["2010-01-01", "name", "Nyt ApS"]],
        ),
        # A name that came back, two periods of one, one to come, and one without a first day.
        (
            named(
                ("1999-11-15", "A ApS"), ("2001-01-01", "A ApS"), ("2003-01-01", "B ApS"),
                ("2005-01-01", "A ApS"), ("2099-01-01", "C ApS"), (None, "D ApS"),
            ),
            [["1999-11-15", "name", "A ApS"], ["2003-01-01", "name", "B ApS"],
             ["2005-01-01", "name", "A ApS"]],
        ),
        # Of two classifications on one day.
        (
            {"hovedbranche": [dated("2000-01-01", branchekode="1", branchetekst="A"),
                              dated("2025-01-01", branchekode="2", branchetekst="B"),
                              dated("2025-01-01", branchekode="3", branchetekst="C")]},
            [["2000-01-01", "industry.description", "A"],
             ["2025-01-01", "industry.description", "C"]],
        ),
        (
            {"beliggenhedsadresse": [
                dated(day, vejnavn="Prøvevej", husnummerFra=number, postnummer=1112,
                      postdistrikt="København K", landekode="DK")
                for day, number in (("2000-01-01", 1), ("2004-01-01", 2))
            ]},
            [["2000-01-01", "address.text", "Prøvevej 1, 1112 København K"],
             ["2004-01-01", "address.text", "Prøvevej 2, 1112 København K"]],
        ),
        (
            {"virksomhedsstatus": [dated("2000-01-01", status="NORMAL"),
                                   dated("2004-01-01", status="UNDER KONKURS")],
             "virksomhedsform": [dated("2000-01-01", virksomhedsformkode="80",
                                       langBeskrivelse="Anpartsselskab"),
                                 dated("2003-01-01", virksomhedsformkode="60",
                                       langBeskrivelse="Aktieselskab")]},
            [["2000-01-01", "form.description", "Anpartsselskab"],
             ["2003-01-01", "form.description", "Aktieselskab"],
             ["2000-01-01", "status_text", "NORMAL"],
             ["2004-01-01", "status_text", "UNDER KONKURS"]],
        ),
    ],
)  # fmt: skip
def test_values_have_their_first_days(fields: dict[str, Any], expected: list[list[str]]) -> None:
    assert past(**fields) == expected
