"""Parsing of query strings and batches: what is asked, and which parameter is at fault."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Include
from common.contracts.lookup import TYPED_SEARCHES, LookupRequest, SearchType, SuggestRequest
from gateway.http.formats import Format, wanted_format
from gateway.lookups.batch import FIELDS, MAX_LOOKUPS, parse_batch
from gateway.lookups.lists import parse_suggestion
from gateway.lookups.lookup import parse_lookup, requested_search
from gateway.problems import InvalidBody, InvalidParameter, Problem

VAT = "country=dk&vat=12345674"
GOOD = {"country": "dk", "vat": "12345674"}


def lookup(query: str, typed: SearchType | None = None) -> tuple[LookupRequest, Format]:
    return parse_lookup(parse_qs(query, keep_blank_values=True), typed=typed)


def suggestion(query: str) -> SuggestRequest:
    return parse_suggestion(parse_qs(query, keep_blank_values=True))


def terms(request: LookupRequest) -> list[str]:
    return [f"{question.type}:{question.term}" for question in request.questions]


def parameters(problem: Problem) -> list[str]:
    """The parameters at fault, each once."""
    return list(dict.fromkeys(error.parameter for error in problem.errors))


def test_a_typed_search_is_one_question() -> None:
    asked, format_ = lookup("country=dk&vat=DK+12345674")

    assert (asked.country, terms(asked)) == (Country.DK, ["vat:12345674"])
    assert (asked.include, asked.inferred) == ((), False)
    assert (format_, requested_search(asked)) == (Format.JSON, "vat")


@pytest.mark.parametrize("country", ["dk", "DK", "Dk"])
def test_the_case_of_a_country_does_not_matter(country: str) -> None:
    asked, _ = lookup(f"country={country}&vat=12345674")

    assert asked.country is Country.DK


def test_an_inferred_search_is_marked() -> None:
    asked, _ = lookup("country=no&search=987654321")

    assert terms(asked) == ["vat:987654321", "produ:987654321"]
    assert (requested_search(asked), asked.inferred) == ("search", True)


def test_a_typed_endpoint_infers_nothing() -> None:
    asked, _ = lookup("country=dk&q=12345674", SearchType.NAME)

    assert (terms(asked), requested_search(asked)) == (["name:12345674"], "name")


@pytest.mark.parametrize(
    "include",
    [
        "include=einvoicing,owners,einvoicing",
        "include=einvoicing&include=owners",
        "include=owners,+einvoicing+",
    ],
)
def test_includes_come_once_each_and_in_a_fixed_order(include: str) -> None:
    asked, _ = lookup(f"{VAT}&{include}")

    assert asked.include == (Include.OWNERS, Include.EINVOICING)


def test_a_misspelt_value_gets_the_nearest_one() -> None:
    hints = {"include=owner": "owners", "include=roels": "roles", "format=xlm": "xml"}
    for query, hint in hints.items():
        with pytest.raises(InvalidParameter, match=f"did you mean {hint}\\?"):
            lookup(f"{VAT}&{query}")


@pytest.mark.parametrize(
    "country, vat, message",
    [
        ("dk", "NO+310+345+679+MVA", "Norwegian one: give country=no"),
        ("no", "CVR+12345674", "Danish one: give country=dk"),
        ("dk", "5501431", "dropped the first zero of 05501431"),
        ("dk", "4,10000E%2B07", "its last digits are lost"),
    ],
)
def test_a_number_that_is_none_of_the_country_says_what_it_is(
    country: str, vat: str, message: str
) -> None:
    for query in (f"country={country}&vat={vat}", f"country={country}&search={vat}"):
        with pytest.raises(InvalidParameter, match=message):
            lookup(query)


INVALID, MISSING, MULTIPLE = "invalid_parameter", "missing_parameter", "multiple_search_parameters"


@pytest.mark.parametrize(
    "query, code, faults",
    [
        ("vat=12345674", MISSING, "country"),
        ("vat=987654321", MISSING, "country"),
        # Without a country a term must be valid in one.
        ("vat=1", MISSING, "country vat"),
        ("", MISSING, "country search"),
        ("country=dk", MISSING, "search"),
        (f"{VAT}&name=x+y", MULTIPLE, "vat name"),
        (f"{VAT}&search=", MULTIPLE, "vat search"),
        ("country=dk&vat=1", INVALID, "vat"),
        ("country=dk&vat=", INVALID, "vat"),
        ("country=dk&vat=+", INVALID, "vat"),
        (f"{VAT}&vat=12345674", INVALID, "vat"),
        ("country=&vat=12345674", INVALID, "country"),
        ("country=se&vat=12345674", INVALID, "country"),
        (f"country=dk&{VAT}", INVALID, "country"),
        (f"{VAT}&include=", INVALID, "include"),
        (f"{VAT}&include=owners,", INVALID, "include"),
        (f"{VAT}&include=Owners", INVALID, "include"),
        (f"{VAT}&include=owners&include=b", INVALID, "include"),
        (f"{VAT}&include=owners&include=", INVALID, "include"),
        (f"{VAT}&format=", INVALID, "format"),
        (f"{VAT}&format=xlm", INVALID, "format"),
        ("country=dk&name=K%F8benhavn", INVALID, "name"),
        ("country=dk&name=x", INVALID, "name"),
        ("country=dk&search=x", INVALID, "search"),
        # The code is that of the first of several errors.
        ("vat=1&name=&include=x&format=y", MISSING, "country vat name include format"),
        ("country=xx&vat=12345674&name=Ab&include=x", MULTIPLE, "vat name country include"),
        ("country=xx&format=y", MISSING, "search country format"),
    ],
)
def test_an_error_has_one_code_and_names_its_parameters(query: str, code: str, faults: str) -> None:
    with pytest.raises(Problem) as caught:
        lookup(query)

    assert (caught.value.code, parameters(caught.value)) == (code, faults.split())


@pytest.mark.parametrize(
    "query, code, fault",
    [
        *(
            (f"country=dk&q=12345674&{name}=1", MULTIPLE, name)
            for name in (*TYPED_SEARCHES, "search")
        ),
        ("country=dk&vat=12345674", MISSING, "q"),
        ("country=dk&q=1", INVALID, "q"),
    ],
)
def test_a_typed_endpoint_takes_q_and_no_other_search(query: str, code: str, fault: str) -> None:
    with pytest.raises(Problem) as caught:
        lookup(query, SearchType.VAT)

    assert (caught.value.code, parameters(caught.value)) == (code, [fault])


@pytest.mark.parametrize(
    "query, accept, format_",
    [
        ("format=xml", "", Format.XML),
        ("format=json", "", Format.JSON),
        ("", "", Format.JSON),
        ("format=XML", "", Format.XML),
        ("format=xml&format=xml", "", Format.JSON),
        ("", "application/xml", Format.XML),
        ("format=json", "application/xml", Format.JSON),
        ("format=x", "application/xml", Format.JSON),
    ],
)
def test_errors_of_an_invalid_query_have_its_format(
    query: str, accept: str, format_: Format
) -> None:
    assert wanted_format(parse_qs(query), accept=accept) is format_


def test_a_search_without_a_country_names_the_list_of_both_registers() -> None:
    for query in ("name=Alfa", "search=Alfa"):
        with pytest.raises(Problem) as caught:
            lookup(query)

        assert (caught.value.code, parameters(caught.value)) == (MISSING, ["country"])
        assert "GET /api/companies?q=" in caught.value.detail


NAMES = st.sampled_from(["country", "vat", "name", "q", "search", "include", "format", "ean"])
VALUES = st.lists(st.text(max_size=12) | st.sampled_from(["dk", "no", "xml"]), min_size=1)


@given(st.dictionaries(NAMES, VALUES), st.none() | st.sampled_from(TYPED_SEARCHES))
def test_any_query_is_a_lookup_or_a_problem_with_errors(
    query: dict[str, list[str]], typed: SearchType | None
) -> None:
    try:
        outcome: Sequence[object] = parse_lookup(query, typed=typed)[0].questions
    except Problem as problem:
        outcome = problem.errors

    assert len(outcome) > 0


# Suggestions


def test_the_text_is_trimmed_and_the_default_limit_is_ten() -> None:
    expected = SuggestRequest(country=Country.NO, text="Prøv", limit=10)

    assert suggestion("country=no&q=+Prøv+") == expected


@pytest.mark.parametrize(
    "name, value",
    [
        *(("limit", number) for number in ("1", "7", "20")),
        *(("q", text) for text in ("ab", "a" * 200, "æø", "12")),
        *(("after", text) for text in ("f" * 16 + ".12345674", "0123456789abcdef" + ".1" * 20)),
    ],
)
def test_a_valid_parameter_of_a_suggestion_is_taken_as_it_is(name: str, value: str) -> None:
    parsed = parse_suggestion({"country": ["dk"], "q": ["ab"], name: [value]})

    taken = {"q": parsed.text, "limit": str(parsed.limit), "after": parsed.after}
    assert taken[name] == value


@pytest.mark.parametrize(
    "name, value",
    [
        *(("limit", text) for text in ("0", "21", "-1", "1.0", "+5", "05", "ten", "", "٣")),
        ("limit", "1" * 5000),
        *(("q", text) for text in ("a", " a ", "a" * 201, "", "  ", "a\ufffdb")),
        *(("after", text) for text in ("", "x", "f" * 17, "f" * 16 + ".", "F" * 16)),
        *(("after", text) for text in ("f" * 16 + ".1" * 21, "f" * 16 + "\n")),
    ],
)
def test_an_invalid_parameter_of_a_suggestion_is_named(name: str, value: str) -> None:
    with pytest.raises(Problem) as caught:
        parse_suggestion({"country": ["dk"], "q": ["ab"], name: [value]})

    assert (caught.value.code, parameters(caught.value)) == (INVALID, [name])


@pytest.mark.parametrize(
    "query, code, faults",
    [
        ("", MISSING, "country q"),
        ("q=ab", MISSING, "country"),
        ("country=dk", MISSING, "q"),
        ("country=dk&limit=0", MISSING, "q limit"),
        ("country=dk&country=dk&q=ab", INVALID, "country"),
        ("country=dk&q=ab&q=ab", INVALID, "q"),
        ("country=dk&q=ab&limit=5&limit=5", INVALID, "limit"),
        (f"country=dk&q=ab&after={'f' * 16}&after={'f' * 16}", INVALID, "after"),
    ],
)
def test_missing_parameters_come_first_and_repeated_ones_are_refused(
    query: str, code: str, faults: str
) -> None:
    with pytest.raises(Problem) as caught:
        suggestion(query)

    assert (caught.value.code, parameters(caught.value)) == (code, faults.split())


# Batches


def batch(*lookups: Any) -> list[LookupRequest | Problem]:
    return parse_batch(orjson.dumps({"lookups": lookups}))


def faults_of(body: bytes) -> list[tuple[str, str]]:
    with pytest.raises(InvalidBody) as caught:
        parse_batch(body)
    return [(error.parameter, error.message) for error in caught.value.errors]


def test_lookups_of_any_type_are_read_in_their_order() -> None:
    requests = batch(
        {"country": "dk", "vat": "DK 12 34 56 74", "include": ["einvoicing", "owners"]},
        {"country": "no", "name": " Prøven "},
        {"country": "no", "search": "310345679", "vat": None},
    )

    assert [(each.country, terms(each), each.include) for each in requests] == [  # type: ignore[union-attr, arg-type]
        ("dk", ["vat:12345674"], ("owners", "einvoicing")),
        ("no", ["name:Prøven"], ()),
        ("no", ["vat:310345679", "produ:310345679"], ()),
    ]


@pytest.mark.parametrize("include", [None, [], ["owners"], "owners", ["owners", "owners"]])
def test_include_is_a_list_or_a_text_with_commas_or_nothing(include: Any) -> None:
    [request] = batch({**GOOD, "include": include})

    assert isinstance(request, LookupRequest)
    assert request.include == ((Include.OWNERS,) if include else ())


@pytest.mark.parametrize(
    "faulty, code, faults",
    [
        ({}, MISSING, ["country", "search"]),
        ({**GOOD, "vat": ""}, INVALID, ["vat"]),
        ({**GOOD, "include": ""}, INVALID, ["include"]),
        ({**GOOD, "phone": "12345678"}, MULTIPLE, ["vat", "phone"]),
        (7, INVALID, ["lookups[1]"]),
        ({"country": "dk", "vat": 12345674}, INVALID, ["vat"]),
        ({"contry": "dk", "include": [1]}, INVALID, ["contry", "include"]),
        ({**GOOD, "format": "xml"}, INVALID, ["format"]),
    ],
)
def test_a_faulty_lookup_is_a_problem_among_good_ones(
    faulty: Any, code: str, faults: list[str]
) -> None:
    [before, problem, after] = batch(GOOD, faulty, GOOD)

    assert isinstance(problem, Problem)
    assert (problem.code, parameters(problem)) == (code, faults)
    assert problem.detail.startswith(faults[0]) or code != INVALID
    assert isinstance(before, LookupRequest)
    assert before == after


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"lookups": [{"vat": "\\ud800"}]}', b"[]", b"null", b'"lookups"']
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    assert faults_of(body) == []


@pytest.mark.parametrize("lookups", [[], [GOOD] * (MAX_LOOKUPS + 1), None, {}, "x", GOOD])
def test_a_batch_has_one_to_a_hundred_lookups(lookups: Any) -> None:
    [(parameter, message)] = faults_of(orjson.dumps({"lookups": lookups}))

    assert parameter == "lookups"
    assert "1 to 100" in message
    assert len(batch(*[GOOD] * MAX_LOOKUPS)) == 100


def test_an_unknown_field_has_the_nearest_or_all_of_them() -> None:
    of_body = faults_of(orjson.dumps({"lookups": [GOOD], "format": "xml"}))
    [near, far] = [
        problem.errors[0].message
        for problem in batch({**GOOD, "inclde": []}, {**GOOD, "format": "xml"})
        if isinstance(problem, Problem)
    ]

    assert of_body == [("format", "unknown field; the fields are lookups")]
    assert near == "unknown field; did you mean include?"
    assert all(field in far for field in FIELDS)


def test_a_long_field_name_is_truncated_in_the_error() -> None:
    [problem] = batch({**GOOD, "x" * 5000: "1"})

    assert isinstance(problem, Problem)
    assert len(problem.errors[0].parameter) < 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4))
def test_any_list_is_parsed_or_rejected(lookups: list[Any]) -> None:
    with suppress(InvalidBody):
        assert len(parse_batch(json.dumps({"lookups": lookups}).encode())) == len(lookups)
