"""Folding of names before they are compared."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookup.search.folding import (
    LEADING_FORMS,
    TRAILING_FORMS,
    fold_name,
    fold_text,
    refolded,
    same_spelling,
)
from tests.tables import check

#: Letters of our two countries, their spellings and their accents, beside any text there is.
NORDIC = st.text(alphabet="abeoæøåäöÆØÅéüAEOxyz .-/&'1", max_size=30)
ANY_TEXT = st.one_of(
    NORDIC, st.text(max_size=30), st.text(alphabet=st.characters(codec=None), max_size=30)
)


def relation(given: Sequence[str], other: str) -> str:
    one, two = fold_name(given[0]), fold_name(other)
    if one.key != two.key:
        return "other"
    return "same" if same_spelling(one.spelled, two.spelled) else "sound"


def test_names_are_the_same_as_in_the_table() -> None:
    check(Path(__file__).with_name("folded_names.txt"), relation)


@pytest.mark.parametrize("name", ["A/S", "AS", "ApS AS", "DA", "-", "& / !", "…"])
def test_a_name_of_only_a_form_or_signs_is_kept(name: str) -> None:
    assert fold_name(name).words


def test_every_form_is_dropped_in_each_of_its_positions() -> None:
    assert all(fold_name(f"Nordlys {form}").words == "nordlys" for form in TRAILING_FORMS)
    assert all(fold_name(f"{form} Nordlys").words == "nordlys" for form in LEADING_FORMS)


@given(ANY_TEXT)
def test_folding_is_idempotent_and_restored_from_the_spelling(text: str) -> None:
    once = fold_name(text)

    assert refolded(once.spelled) == once
    # Initials are joined, and may then read as a legal form: `0 A B` is `0 ab`.
    if all(len(word) > 1 for word in fold_text(text).tokens):
        assert fold_name(once.spelled) == once


@given(ANY_TEXT)
def test_any_text_folds_to_an_encodable_text(text: str) -> None:
    folded = fold_name(text)

    assert folded.spelled.encode().decode() == folded.spelled
    assert folded.spelled == " ".join(folded.spelled.split())
    assert len(folded.words.split(" ")) == len(folded.spelled.split(" "))


@given(st.text(alphabet=st.characters(codec="latin-1"), max_size=30))
def test_case_is_ignored(text: str) -> None:
    assert fold_name(text.upper()).words == fold_name(text).words
    assert fold_name(text.title()).words == fold_name(text.lower().title()).words


@given(st.text(alphabet="abcdeiouyz ", max_size=20), st.sampled_from("\u0301\u0300\u0302\u0308"))
def test_accents_are_ignored(text: str, accent: str) -> None:
    accented = "".join(c + accent if c in "eiuy" else c for c in text)

    assert fold_name(accented) == fold_name(text)


@given(NORDIC)
def test_all_spellings_of_a_name_are_the_same_name(text: str) -> None:
    special = fold_text(text).spelled
    digraphs = special.replace("æ", "ae").replace("ø", "oe").replace("å", "aa")
    plain = special.replace("æ", "a").replace("ø", "o").replace("å", "a")

    assert fold_text(special).words == fold_text(digraphs).words == fold_text(plain).words


@given(ANY_TEXT, ANY_TEXT)
def test_same_spelling_is_symmetric(one: str, other: str) -> None:
    first, second = fold_text(one).spelled, fold_text(other).spelled

    assert same_spelling(first, first)
    assert same_spelling(first, second) == same_spelling(second, first)
