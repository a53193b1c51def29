"""Form and verification of API keys."""

from datetime import timedelta

import pytest

from gateway.access.keys import PresentedKey, parse_key, write_key
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
