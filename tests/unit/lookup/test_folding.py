"""Folding of names before they are compared."""

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

#: Letters of our two countries, their spellings and their accents, beside any text there is.
NORDIC = st.text(alphabet="abeoæøåäöÆØÅéüAEOxyz .-/&'1", max_size=30)
ANY_TEXT = st.one_of(
    NORDIC, st.text(max_size=30), st.text(alphabet=st.characters(codec=None), max_size=30)
)


def same_name(one: str, other: str) -> bool:
    first, second = fold_name(one), fold_name(other)
    return first.key == second.key and same_spelling(first.spelled, second.spelled)


@pytest.mark.parametrize(
    "names",
    [
        ["Åse", "Ase", "Aase"],
        ["Møller", "Moller", "Moeller"],
        ["Ærø", "Aero", "Aeroe", "Aro"],
        ["Bagsværd", "Bagsvaerd", "BAGSVARD"],
        ["Aagaard", "Ågård"],
        ["Händel", "Haendel"],
        ["Götze", "Goetze"],
        ["Café Liné", "cafe line"],
        ["Müller", "Muller"],
        # Punctuation.
        ["A.T. Kearney P/S", "AT Kearney"],
        ["&TRADITION A/S", "Tradition"],
        ["Hansen-Jensen", "Hansen Jensen"],
        ["O'Neill", "ONeill"],
        ["Fisk, Frugt & Grønt", "fisk frugt grønt"],
    ],
)
def test_spellings_of_a_letter_and_punctuation_are_the_same_name(names: list[str]) -> None:
    assert all(same_name(names[0], other) for other in names[1:])


@pytest.mark.parametrize("one,other", [("Moe", "Mo"), ("Aaby", "Aby"), ("Så", "Sæ"), ("Møe", "Mo")])
def test_other_letters_are_another_name(one: str, other: str) -> None:
    assert not same_name(one, other)


def test_names_that_sound_the_same_have_the_same_words() -> None:
    assert fold_name("Moe").words == fold_name("Mo").words


@pytest.mark.parametrize(
    "form",
    [
        "A/S", "ApS", "IVS", "I/S", "K/S", "P/S", "A.M.B.A.", "AMBA", "AS", "ASA", "ANS", "DA",
        "KS", "SA", "BA", "ENK", "NUF", "a s", "Aktieselskab", "Aksjeselskap", "GmbH", "S.A.",
    ],
)  # fmt: skip
def test_a_legal_form_at_the_end_is_ignored(form: str) -> None:
    assert same_name(f"Nordlys {form}", "Nordlys")


@pytest.mark.parametrize("form", ["A/S", "AS", "Aktieselskabet", "Anpartsselskabet"])
def test_a_legal_form_at_the_beginning_is_ignored(form: str) -> None:
    assert same_name(f"{form} Nordlys", "Nordlys")


def test_several_legal_forms_are_ignored() -> None:
    assert same_name("A/S Nordlys ApS NUF", "Nordlys")


@pytest.mark.parametrize("name", ["Da Vinci AS", "Asa Nord AS", "Kasse AS", "Sa Marigo"])
def test_words_that_only_resemble_a_legal_form_are_kept(name: str) -> None:
    folded = fold_name(name)

    assert folded.words == fold_text(name.removesuffix(" AS")).words


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
