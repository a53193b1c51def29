"""Texts of others on pages, in feeds and in mail."""

import sys
import unicodedata

import pytest

from common.domain.displayed import displayed, in_line, without_addresses
from gateway.reconcile.entities import preview
from tests.builders.companies import a_company

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_control_and_direction_character_becomes_a_space() -> None:
    kept = {"\t", "\n", "\r"}
    wrong = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        # Characters that this Python does not know are left out.
        if unicodedata.category(chr(code)) != "Cn"
        and (displayed(chr(code)) != chr(code))
        != (unicodedata.category(chr(code)) in _HIDDEN and chr(code) not in kept)
    ]

    assert wrong == []


def test_a_line_is_one_line_and_cut() -> None:
    assert in_line("A\u202eB\r\nC  D", 100) == "A B C D"
    assert in_line("abcdef", 4) == "abc…"


@pytest.mark.parametrize("text, shown", [
    ("Kunder i Århus", "Kunder i Århus"),
    ("A.P. Prøve A/S, nr. 1.2, 10.000 stk.", "A.P. Prøve A/S, nr. 1.2, 10.000 stk."),
    ("se https://x.example", "se …"),
    ("se //x", "se //x"),
    ("se x.example/y nu", "se … nu"),
    ("prøve.dk", "…"),
    ("PRØVE．ＤＫ", "…"),
    ("anna＠prøve", "…"),
    ("WWW.x", "…"),
    ("198.51.100.7", "…"),
    ("pr\u200bøve.dk", "pr …"),
])  # fmt: skip
def test_a_word_with_an_address_is_left_out(text: str, shown: str) -> None:
    assert without_addresses(text, 100) == shown


def test_a_preview_of_reconciliation_has_no_hidden_characters() -> None:
    company = a_company(name="A\u202eB").model_dump(mode="json")

    page = preview(company, "https://registry.example.com/x")

    assert "<h1><a" in page
    assert ">A B</a>" in page
    assert "\u202e" not in page
