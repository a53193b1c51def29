"""Scores of names for a query; words weigh by their rarity."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Status
from lookup.search.folding import collapsed, fold_name
from lookup.search.indexed_company import NameType, order_of, rank_order
from lookup.search.scoring import (
    ACCEPTED_INFORMATION,
    Name,
    NameMatch,
    match_name,
    read_query,
    weight,
)
from lookup.search.similarity import EXACT, similarity
from register_store.documents import Rank
from tests.tables import answered, check

NAMES = st.text(alphabet="abeknorstæøå aeo", min_size=1, max_size=25)
REGISTER = 100_000
#: The number of names with a word; one for a word that is not listed.
COMMON = {"holding": 20_000, "danmark": 4_000, "nordic": 1_500, "bygg": 3_000, "transport": 2_500}


def weigh(word: str) -> float:
    return weight(collapsed(word), COMMON.get(collapsed(word), 1), REGISTER)


def match(
    query: str, text: str, *, kind: NameType = NameType.CURRENT, places: str = ""
) -> NameMatch:
    name = Name(kind, fold_name(text), text, frozenset(places.split()))
    return match_name(read_query(query, Country.DK), name, 1, weigh)


def result(given: Sequence[str], query: str) -> str:
    text, _, places = given[0].partition(" | ")
    found = match(query, text, places=places)
    kinds = {"exact": found.exact, "accepted": found.accepted, "other": found.is_other}
    return f"{found.score:.1f} {next((kind for kind, is_it in kinds.items() if is_it), 'none')}"


def test_a_name_has_the_score_of_the_table() -> None:
    check(Path(__file__).with_name("name_scores.txt"), result)


def test_equal_names_are_equal_in_both_directions() -> None:
    table = Path(__file__).with_name("name_scores.txt").read_text()
    [names] = [part for part in table.split("\n\n") if part.startswith("# Spellings of a name")]

    def reverse(given: Sequence[str], query: str) -> str:
        return result([query], given[0])

    assert answered(f"{names}\n", reverse) == f"{names}\n"


def test_letters_have_the_similarity_of_the_table() -> None:
    def letters(given: Sequence[str], query: str) -> str:
        return f"{similarity(fold_name(query), fold_name(given[0])):.1f}"

    check(Path(__file__).with_name("similarities.txt"), letters)


def test_among_equal_names_the_one_with_the_queried_spelling_comes_first() -> None:
    in_order = [
        "ALLMØR A/S", "Allmør A/S", "ALLMØR AKTIESELSKAB", "ALLMOER A/S", "ALLMØR ApS", "ALLMOER",
    ]  # fmt: skip

    found = [match("ALLMØR A/S", name) for name in in_order]

    assert {one.score for one in found} == {EXACT}
    assert found == sorted(found, reverse=True)
    assert len({one.literal for one in found}) == len(found)


@pytest.mark.parametrize(
    "query,others",
    [
        ("Moller Fryseri", ["Møller Fryseri", "Møller Fryseri ApS"]),
        ("Moeller Fryseri", ["Møller Fryseri"]),
        ("C# Konsulenten", ["C++ Konsulenten", "C Konsulenten ApS"]),
        ("Nordlys & Skov", ["Nordlys og Skov", "Nordlys Skov"]),
        ("Gl. Nordlys", ["Gammel Nordlys", "Gamle Nordlys ApS"]),
    ],
)
def test_the_name_that_is_written_as_queried_comes_first_with_any_form(
    query: str, others: list[str]
) -> None:
    found = [match(query, name) for name in others]

    assert {one.score for one in found} == {EXACT}
    assert all(match(query, f"{query} ApS") > one for one in found)


def test_current_names_come_before_trade_names_and_these_before_former_ones() -> None:
    found = [match("Nordlys Fiskri", "Nordlys Fiskeri", kind=kind) for kind in NameType]

    assert found == sorted(found, reverse=True)
    assert len({one.score for one in found}) == len(NameType)


def test_an_exact_former_name_ranks_before_a_similar_current_one() -> None:
    former = match("Nordlys", "Nordlys ApS", kind=NameType.FORMER)

    assert former > match("Nordlys", "Nordlyset ApS")
    assert former.score == EXACT


@given(NAMES, NAMES)
def test_only_equal_names_score_100(one: str, other: str) -> None:
    found = match(one, other)

    assert 0 <= found.score <= EXACT
    assert match(one, one).score == EXACT
    assert found.score < EXACT or fold_name(one).key == fold_name(other).key


def test_a_word_is_weighted_by_its_rarity() -> None:
    weights = [weight("nordlys", count, REGISTER) for count in (0, 1, 10, 1_000, REGISTER)]

    assert weights == pytest.approx([1.0, 1.0, 0.8, 0.4, 0.0])


def test_a_rare_generic_word_has_a_limited_weight() -> None:
    assert weight("holding", 1, REGISTER) < ACCEPTED_INFORMATION


def test_a_branch_comes_before_the_record_of_its_foreign_company() -> None:
    def ranked(*, is_foreign: bool) -> NameMatch:
        order = order_of(0, rank_order(Rank(Status.ACTIVE, 0, None, 900_000_000, is_foreign)))
        text = "Nordlys Ltd" if is_foreign else "Nordlys Ltd Norwegian Branch"
        name = Name(NameType.CURRENT, fold_name(text), text)
        return match_name(read_query("Nordlys Norway", Country.NO), name, order, weigh)

    assert ranked(is_foreign=False) > ranked(is_foreign=True)
