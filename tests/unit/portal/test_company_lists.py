"""The list of companies: its form, what narrows it down, and the cells of a download."""

from typing import Any

import pytest
from multidict import MultiDict

from company_registry import Company
from company_registry.models import FacetCount
from portal.domain.company_columns import COLUMNS, cells
from portal.domain.company_form import CompanyForm, read_company_form
from portal.domain.facets import FacetValue, facets
from portal.domain.industries import industry
from tests.builders.answers import a_found_company


def a_form(*pairs: tuple[str, str]) -> CompanyForm:
    return read_company_form(MultiDict(pairs))


@pytest.mark.parametrize(
    "pairs, filter_",
    [
        ([("municipality", "Oslo, Aarhus;Bergen")], {"municipality": ("Oslo", "Aarhus", "Bergen")}),
        ([("has", "phone"), ("has", "email")], {"has": ("phone", "email")}),
        ([("q", " prøve, og sønn "), ("industry", "")], {"q": "prøve, og sønn"}),
        ([("employees_min", "5"), ("founded_from", "2020-01-31")], None),
        ([("advertising_protected", "false")], {"advertising_protected": False}),
        ([("vat_registered", "maybe"), ("unknown", "1")], {"vat_registered": None}),
        ([("employees_max", "some")], {"employees_max": None}),
    ],
)
def test_a_form_is_a_filter(pairs: list[tuple[str, str]], filter_: dict[str, Any] | None) -> None:
    expected = filter_ or {"employees_min": 5, "founded_from": "2020-01-31"}

    assert a_form(*pairs).filter.model_dump(exclude_unset=True) == expected


@pytest.mark.parametrize("text", ["some", "-1", "1.5", "٣", "123456789"])
def test_an_invalid_number_has_a_fault(text: str) -> None:
    assert a_form(("employees_min", text)).faults == {"employees_min": "Enter a whole number."}


def test_a_form_leads_to_itself() -> None:
    form = a_form(("city", "Oslo,Moss"), ("q", "as"), ("sort", "relevance"), ("after", "c1"))

    assert read_company_form(MultiDict(form.pairs)) == form


@pytest.mark.parametrize("sort, query", [("relevance", ""), ("-unknown", "as"), ("", "")])
def test_an_order_that_is_not_possible_is_left_out(sort: str, query: str) -> None:
    assert a_form(("sort", sort), ("q", query)).sort is None


def test_a_changed_filter_begins_with_the_first_page() -> None:
    form = a_form(("city", "Oslo, Moss"), ("q", "as"), ("sort", "relevance"), ("after", "c1"))

    assert form.without("city", "Moss").pairs == [
        ("q", "as"),
        ("city", "Oslo"),
        ("sort", "relevance"),
    ]
    assert form.only("city", "Bergen").text("city") == "Bergen"
    assert form.without("q", "as").pairs == [("city", "Oslo, Moss")]
    assert form.sorted_by("name").pairs[-1] == ("sort", "name")
    assert form.following("c2").after == "c2"


def counted(name: str, form: CompanyForm, *counts: tuple[str, int]) -> list[FacetValue]:
    given = [FacetCount(value=value, count=count) for value, count in counts]
    return facets({name: given}, form, []).get(name, [])


def test_industries_are_counted_by_division_until_one_is_chosen() -> None:
    counts = [("620100", 4), ("412000", 3), ("620200", 2), ("xx", 1)]

    divisions = counted("industry", a_form(), *counts)
    codes = counted("industry", a_form(("industry", "62")), *counts)

    assert [(each.label, each.count) for each in divisions] == [
        ("Computer programming and consultancy (62)", 6),
        ("Construction of buildings (41)", 3),
        ("xx", 1),
    ]
    assert divisions[0].form.pairs == [("industry", "62")]
    assert codes[0].label == "Computer programming and consultancy (620100)"
    assert codes[0].form.pairs == [("industry", "620100")]


def test_a_chosen_value_is_taken_away_and_another_takes_its_place() -> None:
    form = a_form(("form", "AS"))

    chosen, other = counted("form", form, ("AS", 9), ("80", 1))

    assert (chosen.is_chosen, chosen.form.pairs) == (True, [])
    assert (other.is_chosen, other.form.pairs) == (False, [("form", "80")])
    assert chosen.label == "Private limited company (AS)"
    assert other.label == "Private limited company (80)"


def test_a_value_that_all_companies_have_narrows_nothing_down() -> None:
    assert counted("status", a_form(), ("active", 9)) == []


def test_an_unknown_industry_has_no_words() -> None:
    assert (industry("62.010"), industry("00")) == ("Computer programming and consultancy", "")


@pytest.mark.parametrize(
    "name, cell",
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("@sum(a1)", "'@sum(a1)"),
        ("\t=1", "' =1"),
        ("\r-a", "' -a"),
        ("Prøve ApS", "Prøve ApS"),
    ],
)
def test_a_cell_is_harmless(name: str, cell: str) -> None:
    company = Company.model_validate({**a_found_company(), "name": name})

    assert dict(zip(COLUMNS, cells(company), strict=True))["Name"] == cell


@pytest.mark.parametrize(
    "count, cell",
    [
        ({"min": 7, "max": 7, "exact": 7}, "7"),
        ({"min": 5, "max": 9}, "5-9"),
        ({"min": 1000}, "1000+"),
        (None, ""),
    ],
)
def test_employees_are_a_number_or_a_class(count: dict[str, int] | None, cell: str) -> None:
    company = Company.model_validate({**a_found_company(), "employees": count})

    assert dict(zip(COLUMNS, cells(company), strict=True))["Employees"] == cell
