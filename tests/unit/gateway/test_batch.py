"""Parsing of batches: errors of the whole body, and of a single lookup."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupRequest, Question, SearchType
from gateway.domain.batch import FIELDS, MAX_LOOKUPS, parse_batch
from gateway.domain.problems import (
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


def faults_of(*lookups: Any) -> list[str]:
    return [parameter for parameter, _ in faults(orjson.dumps({"lookups": lookups}))]


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


def test_every_error_names_its_field() -> None:
    assert faults_of(
        GOOD, 7, {"country": "dk", "vat": 12345674}, {"contry": "dk", "include": [1]}
    ) == ["lookups[1]", "lookups[2].vat", "lookups[3].contry", "lookups[3].include"]


def test_an_unknown_field_is_rejected_and_the_known_ones_are_listed() -> None:
    found = faults(orjson.dumps({"lookups": [{**GOOD, "format": "xml"}], "format": "xml"}))

    assert found == [("format", "unknown field; the fields are lookups")]
    [(parameter, message)] = faults(orjson.dumps({"lookups": [{**GOOD, "format": "xml"}]}))
    assert parameter == "lookups[0].format"
    assert all(field in message for field in FIELDS)


def test_a_long_field_name_is_truncated_in_the_error() -> None:
    [parameter] = faults_of({**GOOD, "x" * 5000: "1"})

    assert len(parameter) < 200


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
