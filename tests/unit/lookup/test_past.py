"""The past of a company as its register dates it."""

from datetime import UTC, date, datetime
from typing import Any

import orjson
import pytest

from common.contracts.company import Company, Country
from lookup.answers.past import dated_entries, on_dated_day
from register_store.documents import CompanyRow, Past, dump, dump_value
from tests.builders.companies import a_company, a_held_role, an_owner

TODAY = date(2026, 3, 2)
A_S = {"code": "60", "description": "Aktieselskab", "short": "A/S"}
APS = {"code": "80", "description": "Anpartsselskab", "short": "ApS"}
#: A person who has left, and one who has not.
ANNA = {"name": "Anna Testesen", "type": "person", "since": "2018-03-01"}
BO = {"name": "Bo Prøvesen", "type": "person", "since": "2022-01-01"}
FIRM = {"name": "Testen ApS", "type": "company", "since": "2001-01-01"}

PAST: list[Past] = [
    ("2000-01-01", "name", "Prøven ApS"),
    ("2010-01-01", "name", "Prøvefabrikken A/S"),
    ("2000-01-01", "form", APS),
    ("2010-01-01", "form", A_S),
    ("2000-01-01", "status", "active"),
    ("2005-01-01", "status", "bankrupt"),
    ("2005-01-01", "status_text", "UNDER KONKURS"),
    ("2006-01-01", "status", "active"),
    ("2006-01-01", "status_text", "NORMAL"),
    ("2018-03-01", "owners", [[], [ANNA]]),
    ("2022-01-01", "owners", [[ANNA], [BO]]),
]


def a_row(company: Company | None = None, *, owners: Any = None, roles: Any = None) -> CompanyRow:
    company = company or a_company(name="Prøvefabrikken A/S", founded="2000-01-01", form=A_S)
    return CompanyRow(7, dump(company), dump_value(owners), dump_value(roles), None)


def changes(past: list[Past], *, today: date = TODAY) -> list[tuple[str, str, list[Any]]]:
    return [
        (
            entry["time"],
            entry["type"],
            [(change["field"], change["old"], change["new"]) for change in entry["changes"]],
        )
        for entry in dated_entries(a_row(a_company()), past, before=None, today=today)
    ]


def test_an_object_changes_field_by_field_and_a_status_in_one_entry() -> None:
    assert changes(PAST[2:9]) == [
        (
            "2010-01-01",
            "company.updated",
            [
                ("form.code", "80", "60"),
                ("form.description", "Anpartsselskab", "Aktieselskab"),
                ("form.short", "ApS", "A/S"),
            ],
        ),
        (
            "2006-01-01",
            "company.status_changed",
            [("status", "bankrupt", "active"), ("status_text", "UNDER KONKURS", "NORMAL")],
        ),
        (
            "2005-01-01",
            "company.status_changed",
            [("status", "active", "bankrupt"), ("status_text", None, "UNDER KONKURS")],
        ),
        ("2000-01-01", "company.updated", [("form", None, APS)]),
        ("2000-01-01", "company.status_changed", [("status", None, "active")]),
    ]


def test_owners_that_came_and_went_are_entries() -> None:
    assert changes(PAST[9:]) == [
        ("2022-01-01", "owners.changed", [("owners", [ANNA], [BO])]),
        ("2018-03-01", "owners.changed", [("owners", None, [ANNA])]),
    ]


def test_a_person_who_left_ten_years_ago_is_not_shown_but_a_company_is() -> None:
    past: list[Past] = [
        ("2018-03-01", "owners", [[], [ANNA, FIRM]]),
        ("2022-01-01", "owners", [[ANNA, FIRM], [BO]]),
    ]

    shown = changes(past, today=date(2032, 1, 2))

    assert shown == [
        ("2022-01-01", "owners.changed", [("owners", [FIRM], [BO])]),
        ("2018-03-01", "owners.changed", [("owners", None, [FIRM])]),
    ]


def test_entries_since_the_company_is_known_are_left_to_the_history() -> None:
    entries = dated_entries(
        a_row(a_company()), PAST, before=datetime(2010, 1, 1, 12, tzinfo=UTC), today=TODAY
    )

    assert max(entry["time"] for entry in entries) == "2006-01-01"


def on(day: str, past: list[Past] = PAST, **row: Any) -> tuple[dict[str, Any], Any, Any] | None:
    found = on_dated_day(Country.DK, a_row(**row), past, date.fromisoformat(day), TODAY)
    if found is None:
        return None
    owners, roles = orjson.loads(found.owners), orjson.loads(found.roles)
    return orjson.loads(found.core), owners, roles


def test_a_company_is_as_its_register_dates_it() -> None:
    company, owners, _ = on("2019-05-05", owners=[BO]) or ({}, None, None)

    assert {name: company[name] for name in ("name", "form", "status", "status_text")} == {
        "name": "Prøvefabrikken A/S",
        "form": A_S,
        "status": "active",
        "status_text": "NORMAL",
    }
    assert owners == [ANNA]


def test_values_of_a_day_are_those_from_the_last_day_before() -> None:
    company, _, _ = on("2005-06-01") or ({}, None, None)

    assert (company["name"], company["status"], company["status_since"]) == (
        "Prøven ApS",
        "bankrupt",
        "2005-01-01",
    )


def test_nothing_is_guessed_of_what_the_register_does_not_date() -> None:
    present = a_company(
        name="Prøvefabrikken A/S", founded="2000-01-01", phone="22334455", email="a@b.example"
    )

    company, _, _ = on("2019-05-05", company=present) or ({}, None, None)

    assert (company["phone"], company["email"], company["employees"]) == (None, None, None)
    # A field that never changed has had its value since the company began.
    assert company["address"]["text"] == "Prøvevej 43, 1112 København K"


@pytest.mark.parametrize(
    "day,owners",
    [
        # The last persons who left before then are not kept for so long.
        ("2010-05-05", None),
        ("2018-02-28", []),
        ("2021-12-31", [ANNA]),
        ("2022-01-01", [BO]),
    ],
)
def test_owners_of_a_day_are_known_for_ten_years(day: str, owners: list[Any] | None) -> None:
    found = on(day, owners=[BO])

    assert found is not None
    assert found[1] == owners


def test_holders_without_a_first_day_make_the_list_unknown() -> None:
    found = on(
        "2019-05-05",
        [],
        owners=[an_owner(since=None).model_dump(mode="json")],
        roles=[a_held_role(since="2019-01-01").model_dump(mode="json")],
    )

    assert found is not None
    assert found[1] is None
    assert [one["name"] for one in found[2]] == ["Anna Testesen"]


def test_there_is_no_company_before_it_was_founded() -> None:
    assert on("1999-12-31") is None


def test_parts_of_fields_that_an_earlier_release_stored_are_no_values_of_a_day() -> None:
    company, _, _ = on("2005-06-01", [("2010-01-01", "address.text", "Nyvej 1")]) or ({}, 0, 0)

    assert company["address"] is None
