"""Parsing of query strings, valid and invalid."""

from collections.abc import Sequence
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Include
from common.contracts.failures import FieldError
from common.contracts.lookup import Question, SearchType
from gateway.http.formats import Format, wanted_format
from gateway.lookups.queries import LookupQuery, parse_lookup
from gateway.problems import Problem


def parsed(query: str, typed: SearchType | None = None) -> LookupQuery:
    return parse_lookup(parse_qs(query, keep_blank_values=True), typed=typed)


def refused(query: str, typed: SearchType | None = None) -> Problem:
    with pytest.raises(Problem) as caught:
        parsed(query, typed)
    return caught.value


def parameters(problem: Problem) -> list[str]:
    return [error.parameter for error in problem.errors]


def questions(query: LookupQuery) -> list[tuple[str, str]]:
    return [(question.type.value, question.term) for question in query.request.questions]


def test_a_typed_search_is_one_question() -> None:
    query = parsed("country=dk&vat=DK+12345674")

    assert questions(query) == [("vat", "12345674")]
    assert query.request.country is Country.DK
    assert query.request.include == ()
    assert query.format is Format.JSON
    assert query.search_type == "vat"


@pytest.mark.parametrize("country", ["dk", "DK", "Dk"])
def test_the_case_of_a_country_does_not_matter(country: str) -> None:
    assert parsed(f"country={country}&vat=12345674").request.country is Country.DK


def test_an_inferred_search_is_marked() -> None:
    query = parsed("country=no&search=987654321")

    assert questions(query) == [("vat", "987654321"), ("produ", "987654321")]
    assert query.search_type == "search"
    assert query.request.inferred
    assert not parsed("country=no&vat=987654321").request.inferred


def test_a_typed_endpoint_infers_nothing() -> None:
    query = parsed("country=dk&q=12345674", SearchType.NAME)

    assert questions(query) == [("name", "12345674")]
    assert query.search_type == "name"


def test_includes_come_once_each_and_in_a_fixed_order() -> None:
    query = parsed("country=dk&vat=12345674&include=einvoicing,owners,einvoicing")

    assert query.request.include == (Include.OWNERS, Include.EINVOICING)


@pytest.mark.parametrize(
    "include", ["include=einvoicing&include=owners", "include=owners,+einvoicing+"]
)
def test_include_may_be_repeated_and_spaced(include: str) -> None:
    query = parsed(f"country=dk&vat=12345674&{include}")

    assert query.request.include == (Include.OWNERS, Include.EINVOICING)


@pytest.mark.parametrize(
    "query,code,faults",
    [
        ("vat=12345674", "missing_parameter", ["country"]),
        ("", "missing_parameter", ["country", "search"]),
        ("country=dk", "missing_parameter", ["search"]),
        ("country=dk&vat=12345674&name=x+y", "multiple_search_parameters", ["vat", "name"]),
        ("country=dk&vat=12345674&search=", "multiple_search_parameters", ["vat", "search"]),
        ("country=dk&vat=1", "invalid_parameter", ["vat"]),
        ("country=dk&vat=", "invalid_parameter", ["vat"]),
        ("country=dk&vat=+", "invalid_parameter", ["vat"]),
        ("country=dk&vat=12345674&vat=12345674", "invalid_parameter", ["vat"]),
        ("country=&vat=12345674", "invalid_parameter", ["country"]),
        ("country=se&vat=12345674", "invalid_parameter", ["country"]),
        ("country=dk&country=dk&vat=12345674", "invalid_parameter", ["country"]),
        ("country=dk&vat=12345674&include=", "invalid_parameter", ["include"]),
        ("country=dk&vat=12345674&include=owners,", "invalid_parameter", ["include"]),
        ("country=dk&vat=12345674&include=Owners", "invalid_parameter", ["include"]),
        ("country=dk&vat=12345674&include=owners&include=b", "invalid_parameter", ["include"]),
        ("country=dk&vat=12345674&include=owners&include=", "invalid_parameter", ["include"]),
        ("country=dk&vat=12345674&format=", "invalid_parameter", ["format"]),
        ("country=dk&vat=12345674&format=XML", "invalid_parameter", ["format"]),
        ("country=dk&name=K%F8benhavn", "invalid_parameter", ["name"]),
        ("country=dk&name=x", "invalid_parameter", ["name"]),
        ("country=dk&search=x", "invalid_parameter", ["search"]),
    ],
)
def test_an_error_has_one_code_and_names_its_parameter(
    query: str, code: str, faults: list[str]
) -> None:
    problem = refused(query)

    assert problem.code == code
    assert set(parameters(problem)) == set(faults)


@pytest.mark.parametrize(
    "query,code,named",
    [
        (
            "vat=1&name=&include=x&format=y",
            "missing_parameter",
            "country vat name include format",
        ),
        (
            "country=xx&vat=12345674&name=Fabrikken&include=x",
            "multiple_search_parameters",
            "vat name country include",
        ),
        ("country=xx&format=y", "missing_parameter", "search country format"),
    ],
)
def test_the_code_is_that_of_the_first_error(query: str, code: str, named: str) -> None:
    problem = refused(query)

    assert problem.code == code
    assert list(dict.fromkeys(parameters(problem))) == named.split()


def test_without_a_country_a_term_must_be_valid_in_one() -> None:
    assert parameters(refused("vat=987654321")) == ["country"]
    assert parameters(refused("vat=1")) == ["country", "vat"]


@pytest.mark.parametrize("other", ["vat", "name", "produ", "phone", "ean", "address", "search"])
def test_a_typed_endpoint_takes_no_search_beside_q(other: str) -> None:
    problem = refused(f"country=dk&q=12345674&{other}=12345674", SearchType.VAT)

    assert problem.code == "multiple_search_parameters"
    assert parameters(problem) == [other]


def test_a_typed_endpoint_needs_q() -> None:
    problem = refused("country=dk&vat=12345674", SearchType.VAT)

    assert problem.code == "missing_parameter"
    assert parameters(problem) == ["q"]


def test_a_fault_of_a_typed_endpoint_names_q() -> None:
    assert parameters(refused("country=dk&q=1", SearchType.PHONE)) == ["q"]


@pytest.mark.parametrize(
    "query,format_",
    [
        ("format=xml", Format.XML),
        ("format=json", Format.JSON),
        ("", Format.JSON),
        ("format=XML", Format.JSON),
        ("format=xml&format=xml", Format.JSON),
    ],
)
def test_the_format_applies_to_errors_of_an_invalid_query(query: str, format_: Format) -> None:
    assert wanted_format(parse_qs(query), accept="") is format_


@pytest.mark.parametrize(
    "query,format_", [("", Format.XML), ("format=json", Format.JSON), ("format=x", Format.JSON)]
)
def test_without_a_format_accept_selects_that_of_errors(query: str, format_: Format) -> None:
    assert wanted_format(parse_qs(query), accept="application/xml") is format_


names = st.sampled_from(["country", "vat", "name", "q", "search", "include", "format", "ean"])
values = st.lists(st.text(max_size=12) | st.sampled_from(["dk", "no", "xml"]), max_size=2)


def outcome(
    query: dict[str, list[str]], typed: SearchType | None
) -> Sequence[Question] | Sequence[FieldError]:
    try:
        return parse_lookup(query, typed=typed).request.questions
    except Problem as problem:
        return problem.errors


@given(st.dictionaries(names, values), st.none() | st.sampled_from(SearchType))
def test_any_query_is_a_lookup_or_a_problem_with_errors(
    query: dict[str, list[str]], typed: SearchType | None
) -> None:
    given_parameters = {name: value for name, value in query.items() if value}

    assert len(outcome(given_parameters, typed)) > 0
