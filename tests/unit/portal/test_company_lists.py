"""The list of companies: its form, what narrows it down, and the cells of a download."""

from typing import Any

import pytest
from multidict import MultiDict

from company_registry import Company
from company_registry.models import FacetCount
from portal.domain.company_lists import (
    COLUMNS,
    CompanyForm,
    FacetValue,
    cells,
    facets,
    read_company_form,
)
from tests.builders.answers import a_found_company


def a_form(*pairs: tuple[str, str]) -> CompanyForm:
    return read_company_form(MultiDict(pairs))


@pytest.mark.parametrize(
    "pairs, filter_",
    [
        ([("municipality", "Oslo, Aarhus;Bergen")], {"municipality": ("Oslo", "Aarhus", "Bergen")}),
        ([("has", "phone"), ("has", "email")], {"has": ("phone", "email")}),
        ([("q", " prøve, og sønn "), ("industry", "")], {"q": "prøve, og sønn"}),
        (
            [("employees_min", "5"), ("founded_from", "2020-01-31")],
            {"employees_min": 5, "founded_from": "2020-01-31"},
        ),
        (
            [("min_revenue", "10 000 000"), ("max_equity", "−1"), ("accounts_year", "2024;2025")],
            {"min_revenue": 10_000_000, "max_equity": -1, "accounts_year": ("2024", "2025")},
        ),
        ([("accounts_late", "true")], {"accounts_late": True}),
        (
            [("min_revenue", "10.000")],
            {"min_revenue": 10_000},
        ),
        ([("advertising_protected", "false")], {"advertising_protected": False}),
        ([("vat_registered", "maybe"), ("unknown", "1")], {"vat_registered": None}),
        *(
            ([("employees_max", text)], {"employees_max": None})
            for text in ("some", "-1", "1.5", "٣", "123456789")
        ),
    ],
)
def test_a_form_is_a_filter_and_an_invalid_number_a_fault(
    pairs: list[tuple[str, str]], filter_: dict[str, Any]
) -> None:
    form = a_form(*pairs)

    assert form.filter.model_dump(exclude_unset=True) == filter_
    is_wrong = "employees_max" in filter_
    assert form.faults == ({"employees_max": "Enter a whole number."} if is_wrong else {})


def test_a_form_leads_to_itself_and_with_a_change_to_the_first_page() -> None:
    form = a_form(("city", "Oslo, Moss"), ("q", "as"), ("sort", "relevance"), ("after", "c1"))

    assert read_company_form(MultiDict(form.pairs)) == form
    assert form.without("city", "Moss").pairs == [
        *(("q", "as"), ("city", "Oslo"), ("sort", "relevance"))
    ]
    assert form.only("city", "Bergen").text("city") == "Bergen"
    assert form.without("q", "as").pairs == [("city", "Oslo, Moss")]
    assert form.sorted_by("name").pairs == [("q", "as"), ("city", "Oslo, Moss"), ("sort", "name")]
    assert form.following("c2").after == "c2"


def test_a_column_sorts_and_then_the_other_way_round() -> None:
    form = a_form(("status_since_from", "2026-11-23"), ("after", "c1"))
    named = form.sorted_by("name")
    youngest = form.sorted_by("-founded")

    assert (form.direction("name"), named.sort, named.after) == ("ascending", "-name", "")
    assert (named.direction("name"), named.sorted_by("name").sort) == ("descending", "name")
    assert (youngest.sort, youngest.direction("-founded")) == ("-founded", "descending")
    assert youngest.sorted_by("-founded").sort == "founded"
    assert youngest.sorted_by("-founded").direction("-founded") == "ascending"
    assert youngest.direction("name") == ""
    assert a_form(("q", "as")).direction("name") == ""
    assert a_form(("q", "as")).sorted_by("name").sort == "name"


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("city", "Oslo", (None, False)),
        ("ended_to", "2026-01-31", ("ended", False)),
        ("status_since_to", "2026-01-31", ("any", True)),
        ("sort", "-status_since", (None, True)),
    ],
)
def test_days_of_a_status_bring_their_column_and_every_status(
    name: str, value: str, expected: tuple[str | None, bool]
) -> None:
    form = a_form((name, value))

    assert (form.default_status, form.is_since) == expected


@pytest.mark.parametrize("sort, query", [("relevance", ""), ("-unknown", "as"), ("", "")])
def test_an_order_that_is_not_possible_is_left_out(sort: str, query: str) -> None:
    assert a_form(("sort", sort), ("q", query)).sort is None


def counted(
    name: str, form: CompanyForm, *counts: tuple[str, int, str | None, str | None]
) -> list[tuple[str, int, bool, list[tuple[str, str]]]]:
    """Label, count and query of each value of a facet."""
    given = [
        FacetCount(value=value, count=count, text=text, text_en=english)
        for value, count, text, english in counts
    ]
    found: list[FacetValue] = facets({name: given}, form).get(name, [])
    return [(each.label, each.count, each.is_chosen, each.form.pairs) for each in found]


def test_industries_are_counted_by_division_until_one_is_chosen() -> None:
    division = "Computer programming and consultancy"
    counts = [
        ("620100", 4, "Programmering", division),
        ("412000", 3, "Opførelse af bygninger", "Construction of buildings"),
        ("620200", 2, None, division),
        ("xx", 1, None, None),
    ]

    assert counted("industry", a_form(), *counts) == [
        (f"{division} (62)", 6, False, [("industry", "62")]),
        ("Construction of buildings (41)", 3, False, [("industry", "41")]),
        ("xx", 1, False, [("industry", "xx")]),
    ]
    assert [label for label, *_ in counted("industry", a_form(("industry", "62")), *counts)] == [
        "Programmering (620100)",
        "Opførelse af bygninger (412000)",
        f"{division} (620200)",
        "xx",
    ]


def test_a_chosen_value_is_taken_away_and_another_takes_its_place() -> None:
    found = counted(
        "form",
        a_form(("form", "AS")),
        ("AS", 9, "Aksjeselskap", "Private limited company"),
        ("27", 1, "Dødsbo", None),
        ("999", 1, None, None),
    )

    assert found == [
        ("Private limited company (Norway, AS)", 9, True, []),
        ("Dødsbo (Denmark, 27)", 1, False, [("form", "27")]),
        ("999", 1, False, [("form", "999")]),
    ]


def test_one_form_of_both_registers_is_told_apart() -> None:
    words = "Private limited company"

    found = counted("form", a_form(), ("80", 2, None, words), ("AS", 1, None, words))

    assert [label for label, *_ in found] == [f"{words} (Denmark, 80)", f"{words} (Norway, AS)"]


def test_values_are_in_english_words_and_one_that_all_have_narrows_nothing_down() -> None:
    active, bankrupt = ("active", 9, "Aktiv", "Active"), ("bankrupt", 1, "Konkurs", "Bankrupt")

    assert counted("status", a_form(), active) == []
    assert [label for label, *_ in counted("status", a_form(), active, bankrupt)] == [
        *("Active", "Bankrupt")
    ]
    cities = [("Oslo", 2, "Oslo", None), ("KRISTIANSAND I AGDER", 1, None, None)]
    assert [label for label, *_ in counted("municipality", a_form(), *cities)] == [
        *("Oslo", "Kristiansand i Agder")
    ]


@pytest.mark.parametrize(
    "members, header, cell",
    [
        *(
            ({"name": name}, "Name", cell)
            for name, cell in {
                "=1+1": "'=1+1",
                "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
                "@sum(a1)": "'@sum(a1)",
                "\t=1": "' =1",
                "\r-a": "' -a",
                "Prøve ApS": "Prøve ApS",
            }.items()
        ),
        ({"employees": {"min": 7, "max": 7, "exact": 7}}, "Employees", "7"),
        ({"employees": {"min": 5, "max": 9}}, "Employees", "5-9"),
        ({"employees": {"min": 1000}}, "Employees", "1000+"),
        ({"employees": None}, "Employees", ""),
        ({"country": "no"}, "Country", "NO"),
        ({"form": {"code": "80", "description": None}}, "Legal form", "80"),
        ({"advertising_protected": True}, "Advertising", "not wanted"),
    ],
)
def test_a_cell_is_a_harmless_text(members: dict[str, object], header: str, cell: str) -> None:
    company = Company.model_validate({**a_found_company(), **members})

    assert dict(zip(COLUMNS, cells(company), strict=True))[header] == cell
