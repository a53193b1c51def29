"""Parsing of batches: errors of the whole body, and of a single lookup."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupRequest, Question, SearchType
from gateway.lookups.queries import FIELDS, MAX_LOOKUPS, parse_batch
from gateway.problems import (
    InvalidBody,
    InvalidParameter,
    MissingParameter,
    MultipleSearchParameters,
    Problem,
)

GOOD = {"country": "dk", "vat": "12345674"}


def parsed(*lookups: Any) -> list[LookupRequest | Problem]:
    return parse_batch(orjson.dumps({"lookups": lookups}))


def faults(body: bytes) -> list[tuple[str, str]]:
    with pytest.raises(InvalidBody) as caught:
        parse_batch(body)
    return [(error.parameter, error.message) for error in caught.value.errors]


def test_lookups_of_any_type_are_read_in_their_order() -> None:
    [first, second, third] = parsed(
        {"country": "dk", "vat": "DK 12 34 56 74", "include": ["einvoicing", "owners"]},
        {"country": "no", "name": " Prøven "},
        {"country": "no", "search": "310345679"},
    )

    assert first == LookupRequest(
        country=Country.DK,
        questions=(Question(type=SearchType.VAT, term="12345674"),),
        include=(Include.OWNERS, Include.EINVOICING),
    )
    assert isinstance(second, LookupRequest)
    assert second.questions == (Question(type=SearchType.NAME, term="Prøven"),)
    assert isinstance(third, LookupRequest)
    assert [question.type for question in third.questions] == ["vat", "produ"]


@pytest.mark.parametrize("include", [None, [], ["owners"], "owners", ["owners", "owners"]])
def test_include_is_a_list_or_a_text_with_commas_or_nothing(include: Any) -> None:
    [lookup] = parsed({**GOOD, "include": include})

    assert isinstance(lookup, LookupRequest)
    assert lookup.include == ((Include.OWNERS,) if include else ())


def test_null_members_are_ignored() -> None:
    [lookup] = parsed({**GOOD, "name": None, "search": None})

    assert isinstance(lookup, LookupRequest)


@pytest.mark.parametrize(
    "lookup, kind, parameters",
    [
        ({}, MissingParameter, ["country", "search"]),
        ({**GOOD, "vat": ""}, InvalidParameter, ["vat"]),
        ({**GOOD, "include": ""}, InvalidParameter, ["include"]),
        ({**GOOD, "phone": "12345678"}, MultipleSearchParameters, ["vat", "phone"]),
    ],
)
def test_a_faulty_lookup_is_a_problem_among_good_ones(
    lookup: dict[str, Any], kind: type[Problem], parameters: list[str]
) -> None:
    [before, problem, after] = parsed(GOOD, lookup, GOOD)

    assert isinstance(problem, kind)
    assert [error.parameter for error in problem.errors] == parameters
    assert isinstance(before, LookupRequest)
    assert before == after


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"lookups": [{"vat": "\\ud800"}]}', b"[]", b"null", b'"lookups"']
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    assert faults(body) == []


@pytest.mark.parametrize("lookups", [[], [GOOD] * (MAX_LOOKUPS + 1), None, {}, "x", GOOD])
def test_a_batch_has_one_to_a_hundred_lookups(lookups: Any) -> None:
    [(parameter, message)] = faults(orjson.dumps({"lookups": lookups}))

    assert parameter == "lookups"
    assert "1 to 100" in message


def test_a_hundred_lookups_are_a_batch() -> None:
    assert len(parsed(*[GOOD] * MAX_LOOKUPS)) == 100


@pytest.mark.parametrize(
    "lookup, parameters",
    [
        (7, ["lookups[1]"]),
        ({"country": "dk", "vat": 12345674}, ["vat"]),
        ({"contry": "dk", "include": [1]}, ["contry", "include"]),
        ({**GOOD, "format": "xml"}, ["format"]),
    ],
)
def test_a_lookup_of_another_shape_is_a_problem_among_good_ones(
    lookup: Any, parameters: list[str]
) -> None:
    [before, problem, after] = parsed(GOOD, lookup, GOOD)

    assert isinstance(problem, InvalidParameter)
    assert [error.parameter for error in problem.errors] == parameters
    assert problem.detail.startswith(f"{parameters[0]}: ")
    assert isinstance(before, LookupRequest)
    assert before == after


def test_an_unknown_field_has_the_nearest_or_all_of_them() -> None:
    assert faults(orjson.dumps({"lookups": [GOOD], "format": "xml"})) == [
        ("format", "unknown field; the fields are lookups")
    ]
    [near, far] = parsed({**GOOD, "inclde": []}, {**GOOD, "format": "xml"})
    assert isinstance(near, Problem)
    assert near.errors[0].message == "unknown field; did you mean include?"
    assert isinstance(far, Problem)
    assert all(field in far.errors[0].message for field in FIELDS)


def test_a_long_field_name_is_truncated_in_the_error() -> None:
    [problem] = parsed({**GOOD, "x" * 5000: "1"})

    assert isinstance(problem, Problem)
    assert len(problem.errors[0].parameter) < 200


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@given(st.lists(_JSON, max_size=4))
def test_any_list_is_parsed_or_rejected(lookups: list[Any]) -> None:
    try:
        results = parse_batch(json.dumps({"lookups": lookups}).encode())
    except InvalidBody:
        return

    assert len(results) == len(lookups)
