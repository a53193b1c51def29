"""Parameters of suggestions."""

import pytest

from common.contracts.company import Country
from common.contracts.lookup import SuggestRequest
from gateway.lookups.queries import parse_suggestion
from gateway.problems import InvalidParameter, MissingParameter, Problem


def parsed(**parameters: str) -> SuggestRequest:
    return parse_suggestion({name: [value] for name, value in parameters.items()})


def refused(parameters: dict[str, list[str]]) -> Problem:
    with pytest.raises(Problem) as caught:
        parse_suggestion(parameters)
    return caught.value


def test_the_text_is_trimmed_and_the_default_limit_is_ten() -> None:
    assert parsed(country="no", q=" Prøv ") == SuggestRequest(
        country=Country.NO, text="Prøv", limit=10
    )


@pytest.mark.parametrize("limit", [1, 7, 20])
def test_the_limit_may_be_up_to_twenty(limit: int) -> None:
    assert parsed(country="dk", q="ab", limit=str(limit)).limit == limit


@pytest.mark.parametrize("limit", ["0", "21", "-1", "1.0", "+5", "05", "ten", "", "٣", "1" * 5000])
def test_another_limit_is_refused(limit: str) -> None:
    problem = refused({"country": ["dk"], "q": ["ab"], "limit": [limit]})

    assert isinstance(problem, InvalidParameter)
    assert [error.parameter for error in problem.errors] == ["limit"]


@pytest.mark.parametrize("text", ["a", " a ", "a" * 201, "", "  ", "a\ufffdb"])
def test_a_text_is_two_to_two_hundred_characters(text: str) -> None:
    problem = refused({"country": ["dk"], "q": [text]})

    assert isinstance(problem, InvalidParameter)
    assert [error.parameter for error in problem.errors] == ["q"]


@pytest.mark.parametrize("text", ["ab", "a" * 200, "æø", "12"])
def test_a_text_of_that_length_is_taken_as_it_is(text: str) -> None:
    assert parsed(country="dk", q=text).text == text


@pytest.mark.parametrize(
    "parameters, named",
    [
        ({}, ["country", "q"]),
        ({"q": ["ab"]}, ["country"]),
        ({"country": ["dk"]}, ["q"]),
        ({"country": ["dk"], "limit": ["0"]}, ["q", "limit"]),
    ],
)
def test_missing_parameters_come_first(parameters: dict[str, list[str]], named: list[str]) -> None:
    problem = refused(parameters)

    assert isinstance(problem, MissingParameter)
    assert [error.parameter for error in problem.errors] == named


@pytest.mark.parametrize("after", ["ffffffffffffffff.12345674", "0123456789abcdef" + ".1" * 20])
def test_a_cursor_leads_to_the_next_page(after: str) -> None:
    assert parsed(country="dk", q="ab", after=after).after == after


@pytest.mark.parametrize(
    "after", ["", "x", "f" * 17, "f" * 16 + ".", "f" * 16 + ".1" * 21, "F" * 16, "f" * 16 + "\n"]
)
def test_another_text_is_no_cursor(after: str) -> None:
    problem = refused({"country": ["dk"], "q": ["ab"], "after": [after]})

    assert isinstance(problem, InvalidParameter)
    assert [error.parameter for error in problem.errors] == ["after"]


@pytest.mark.parametrize("name", ["country", "q", "limit", "after"])
def test_repeated_parameters_are_rejected(name: str) -> None:
    given = {"country": ["dk"], "q": ["ab"], "limit": ["5"], "after": ["f" * 16]}

    problem = refused({**given, name: given[name] * 2})

    assert isinstance(problem, InvalidParameter)
    assert [error.parameter for error in problem.errors] == [name]
