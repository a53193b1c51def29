"""API keys: their form and verification, and the notation of rates."""

from datetime import timedelta

import pytest

from gateway.access.keys import PresentedKey, Rate, parse_key, parse_rate, write_key
from tests.builders.keys import NOON, a_presented_key, an_api_key


def test_a_key_is_read_as_it_is_written() -> None:
    key = a_presented_key(7)

    assert parse_key(write_key(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0" * 24,
        "0" * 24 + ".",
        "0" * 24 + "." + "s" * 42,
        "0" * 24 + "." + "s" * 44,
        "0" * 23 + "g." + "s" * 43,
        " " + "0" * 24 + "." + "s" * 43,
        "0" * 24 + "." + "s" * 42 + "æ",
        "$where." + "s" * 43,
    ],
)
def test_a_malformed_key_is_rejected_without_a_read(text: str) -> None:
    assert parse_key(text) is None


def test_neither_form_of_a_key_shows_its_secret() -> None:
    presented = PresentedKey(id="0" * 24, secret="secret-" * 6 + "s")

    shown = repr(presented) + repr(an_api_key(presented))

    assert "secret-" not in shown


@pytest.mark.parametrize("seconds, accepted", [(-1, True), (0, False)])
def test_a_key_is_accepted_until_it_expires(seconds: int, *, accepted: bool) -> None:
    key = a_presented_key()
    stored = an_api_key(key, expires_at=NOON)

    assert stored.accepts(key, at=NOON + timedelta(seconds=seconds)) is accepted


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
def test_any_other_notation_of_a_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="60/minute"):
        parse_rate(text)


def test_a_rate_is_logged_in_words() -> None:
    assert str(Rate(60, 60)) == "60 in 60 s"
