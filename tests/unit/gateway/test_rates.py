"""Notation and sharing of rates."""

import pytest

from gateway.access.keys import Rate, parse_rate


@pytest.mark.parametrize(
    "text,rate",
    [
        ("60/minute", Rate(60, 60)),
        ("1/second", Rate(1, 1)),
        ("5000/hour", Rate(5000, 3600)),
    ],
)
def test_a_rate_is_a_count_in_a_unit_of_time(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "60", "0/minute", "-1/second", "60/day", "1.5/second", "60 / minute"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="60/minute"):
        parse_rate(text)


def test_a_rate_is_logged_in_words() -> None:
    assert str(Rate(60, 60)) == "60 in 60 s"
