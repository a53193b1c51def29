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


def over(since: str, until: str | None, value: str) -> dict[str, Any]:
    return {"vaerdi": value, "periode": {"gyldigFra": since, "gyldigTil": until}}


def attributes(type_: str, *values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": type_, "vaerdier": list(values)}]


def member(name: str, body: str, given: list[dict[str, Any]], *, number: int = 1) -> dict[str, Any]:
    return {
        "deltager": {"enhedsNummer": number, "enhedstype": "PERSON", "navne": [{"navn": name}]},
        "organisationer": [
            {
                "hovedtype": "REGISTER" if body == "EJERREGISTER" else "LEDELSESORGAN",
                "organisationsNavn": [{"navn": body}],
                "medlemsData": [{"attributter": given}],
            }
        ],
    }


def form(code: str, description: str) -> dict[str, Any]:
    return {"code": code, "description": description, "short": None}


def address(street: str) -> dict[str, Any]:
    return {
        **dict.fromkeys(("co", "district", "municipality", "municipality_code", "id")),
        "street": street,
        "postal_code": "1112",
        "city": "København K",
        "country": "DK",
        "text": f"{street}, 1112 København K",
    }


def role(code: str, text: str, since: str, name: str = "Anna Testesen") -> dict[str, Any]:
    held = {"role": code, "role_text": text, "name": name, "type": "person"}
    beside = ("elected_by", "elected_by_text", "approval", "group_changed")
    return {**held, "vat": None, "since": since, **dict.fromkeys(beside)}


def owner(share: tuple[str, str], since: str) -> dict[str, Any]:
    return {
        "name": "Anna Testesen",
        "type": "person",
        "vat": None,
        "role": "owner",
        "role_text": "EJERREGISTER",
        "share": {"min": share[0], "max": share[1]},
        "votes": None,
        "since": since,
        **dict.fromkeys(("reported_on", "share_class", "conditions", "contribution", "country")),
    }


def past(**fields: Any) -> list[list[Any]]:
    record = parsed(DK_COMPANIES, {**DOCUMENT, **fields})
    assert isinstance(record, CompanyRecord)
    assert record.past is not None
    found: list[list[Any]] = json.loads(record.past)
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
            [["2000-01-01", "industry", {"code": "1", "description": "A"}],
             ["2025-01-01", "industry", {"code": "2", "description": "B"}]],
        ),
        (
            {"beliggenhedsadresse": [
                dated(day, vejnavn="Prøvevej", husnummerFra=number, postnummer=1112,
                      postdistrikt="København K", landekode="DK")
                for day, number in (("2000-01-01", 1), ("2004-01-01", 2))
            ]},
            [["2000-01-01", "address", address("Prøvevej 1")],
             ["2004-01-01", "address", address("Prøvevej 2")]],
        ),
        (
            {"virksomhedsstatus": [dated("2000-01-01", status="NORMAL"),
                                   dated("2004-01-01", status="UNDER KONKURS")],
             "virksomhedsform": [dated("2000-01-01", virksomhedsformkode="80",
                                       langBeskrivelse="Anpartsselskab"),
                                 dated("2003-01-01", virksomhedsformkode="60",
                                       langBeskrivelse="Aktieselskab")]},
            [["2000-01-01", "form", form("80", "Anpartsselskab")],
             ["2003-01-01", "form", form("60", "Aktieselskab")],
             ["2000-01-01", "status", "active"], ["2000-01-01", "status_text", "NORMAL"],
             ["2004-01-01", "status", "bankrupt"], ["2004-01-01", "status_text", "UNDER KONKURS"]],
        ),
        # A word that nobody knows has no status.
        (
            {"virksomhedsstatus": [dated("2000-01-01", status="PRØVES"),
                                   dated("2004-01-01", status="OPLØST EFTER KONKURS")]},
            [["2000-01-01", "status_text", "PRØVES"],
             ["2004-01-01", "status", "ended"],
             ["2004-01-01", "status_text", "OPLØST EFTER KONKURS"]],
        ),
    ],
)  # fmt: skip
def test_values_have_their_first_days(fields: dict[str, Any], expected: list[list[str]]) -> None:
    assert past(**fields) == expected


def held(function: str, since: str, until: str | None) -> list[dict[str, Any]]:
    return attributes("FUNKTION", over(since, until, function))


CHAIR = role("board_chair", "FORMAND", "2018-03-01")
DIRECTOR = role("director", "DIREKTION", "2022-01-01", "Bo Prøvesen")
SHARE = "EJERANDEL_PROCENT"
DECREE = {"kreditoplysningkode": 1, "kreditoplysningtekst": "Konkurs"}


@pytest.mark.parametrize(
    "fields,expected",
    [
        # A code of another classification with the same text.
        (
            {"hovedbranche": [dated("2000-01-01", branchekode="620100", branchetekst="A"),
                              dated("2025-01-01", branchekode="621000", branchetekst="A")]},
            [["2000-01-01", "industry", {"code": "620100", "description": "A"}],
             ["2025-01-01", "industry", {"code": "621000", "description": "A"}]],
        ),
        # The one purpose, which is later than the company, and two signing rules.
        (
            {"attributter": [
                *attributes("FORMÅL", over("2015-03-01", None, "Handel")),
                *attributes("TEGNINGSREGEL", over("1999-11-15", "2004-12-31", "En direktør"),
                            over("2005-01-01", None, "To direktører")),
            ]},
            [["2015-03-01", "purpose", "Handel"],
             ["1999-11-15", "signing_rule", "En direktør"],
             ["2005-01-01", "signing_rule", "To direktører"]],
        ),
        # Each amount with the currency of its day.
        (
            {"attributter": [
                *attributes("KAPITAL", over("1999-11-15", "2009-12-31", "125000.00"),
                            over("2010-01-01", None, "500000.00")),
                *attributes("KAPITALVALUTA", over("1999-11-15", "2019-12-31", "DKK"),
                            over("2020-01-01", None, "EUR")),
            ]},
            [["1999-11-15", "capital", {"amount": "125000.00", "currency": "DKK"}],
             ["2010-01-01", "capital", {"amount": "500000.00", "currency": "DKK"}],
             ["2020-01-01", "capital", {"amount": "500000.00", "currency": "EUR"}]],
        ),
        # The notices of courts on a company without a word for its status.
        (
            {"virksomhedsstatus": [], "status": [
                dated("2012-02-01", statuskode=1, statustekst="Dekret", **DECREE),
                dated("2012-05-01", statuskode=6, statustekst="Skiftesamling", **DECREE),
                dated("2013-06-01", statuskode=3, statustekst="Regnskab og boafslutning", **DECREE),
             ]},
            [["1999-11-15", "status", "active"],
             ["2012-02-01", "status", "bankrupt"], ["2012-02-01", "status_text", "Konkurs"],
             ["2013-06-01", "status", "active"], ["2013-06-01", "status_text", None]],
        ),
        # A change of share is an entry; the owner and the first day stay.
        (
            {"deltagerRelation": [member("Anna Testesen", "EJERREGISTER", attributes(
                SHARE, over("2018-03-01", "2021-12-31", "0.5"), over("2022-01-01", None, "0.9"),
            ))]},
            [["2018-03-01", "owners", [[], [owner(("50", "66.67"), "2018-03-01")]]],
             ["2022-01-01", "owners", [[owner(("50", "66.67"), "2018-03-01")],
                                       [owner(("90", "100"), "2018-03-01")]]]],
        ),
        # A chair that left, and one that is left out, since that was more than ten years ago.
        (
            {"deltagerRelation": [
                member("Anna Testesen", "Bestyrelse", held("FORMAND", "2018-03-01", "2021-12-31")),
                member("Bo Prøvesen", "Bestyrelse", held("FORMAND", "2001-03-01", "2012-12-31"),
                       number=2),
                member("Bo Prøvesen", "Direktion", held("DIREKTION", "2022-01-01", None), number=2),
            ]},
            [["2018-03-01", "roles", [[], [CHAIR]]],
             ["2022-01-01", "roles", [[CHAIR], [DIRECTOR]]]],
        ),
        # Only present holders: their own days are in the record.
        (
            {"deltagerRelation": [
                member("Anna Testesen", "Bestyrelse", held("FORMAND", "2018-03-01", None)),
            ]},
            [],
        ),
    ],
)  # fmt: skip
def test_the_past_has_what_the_register_gives_with_periods(
    fields: dict[str, Any], expected: list[list[Any]]
) -> None:
    assert past(**fields) == expected
