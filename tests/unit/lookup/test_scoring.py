"""How well a name answers a query, by words that weigh their rarity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Status
from lookup.search.folding import collapsed, fold_name
from lookup.search.indexed import NameKind, order_of, rank_order
from lookup.search.matching import EXACT
from lookup.search.scoring import (
    ACCEPTED_INFORMATION,
    Name,
    NameStanding,
    name_standing,
    read_query,
    weight,
)
from lookup.store.ranking import Rank

NAMES = st.text(alphabet="abeknorstæøå aeo", min_size=1, max_size=25)
REGISTER = 100_000
#: How many of the register's names have a word; a word that is not here, one.
COMMON = {"holding": 20_000, "danmark": 4_000, "nordic": 1_500, "bygg": 3_000, "transport": 2_500}


def weigh(word: str) -> float:
    return weight(collapsed(word), COMMON.get(collapsed(word), 1), REGISTER)


def standing(
    asked: str, there: str, *, kind: NameKind = NameKind.CURRENT, places: str = ""
) -> NameStanding:
    name = Name(kind, fold_name(there), there, frozenset(places.split()))
    return name_standing(read_query(asked, Country.DK), name, 1, weigh)


@pytest.mark.parametrize(
    "asked,there",
    [
        ("nordlys fiskeri", "Nordlys Fiskeri ApS"),
        ("Nordlys & Fiskeri", "Nordlys og Fiskeri"),
        ("Nordlys + Fiskeri AS", "NORDLYS AND FISKERI A/S"),
        ("Nordlys Limited", "NORDLYS LTD."),
        ("Nordlys Aktieselskab", "Nordlys A/S"),
        ("A/B Nordlys", "Andelsboligforeningen Nordlys"),
        ("E/F Nordlys", "Ejerforeningen Nordlys"),
        ("G/F Nordlys", "Grundejerforeningen Nordlys"),
        ("Det Kgl. Fiskeri", "Det Kongelige Fiskeri"),
        ("Sct. Nordlys", "Sankt Nordlys"),
        ("Skt. Nordlys", "Sankt Nordlys"),
        ("A.P. Nordlys", "AP Nordlys"),
        ("J P Nordlys", "JP Nordlys A/S"),
        ("Nordlys & Co", "Nordlys & Company"),
        ("TopNordlys", "Top Nordlys A/S"),
    ],
)
def test_two_ways_to_write_a_name_are_one(asked: str, there: str) -> None:
    assert standing(asked, there).score == EXACT
    assert standing(there, asked).score == EXACT


@pytest.mark.parametrize(
    "asked,there",
    [
        ("Nordlys", "Nordlys Fiskeri og Handel Danmark ApS"),
        ("Fiskeri Nordlys", "Nordlys Fiskeri og Handel"),
        ("Nordlsy", "Nordlys Fiskeri Holding"),
        ("Nordly", "Nordlys Fiskeri Holding"),
        ("Kværnbru", "Kværnbruget Holding"),
        ("Nordlys Danmark", "Nordlys ApS"),
        ("Nordlys ApS Denmark", "Nordlys A/S"),
        ("NUFI", "Nordens Unge Fiskere (NUFI)"),
        ("Sol Måne Handel", "SolMåne Handel Holding"),
        ("SolMåne Handel", "Sol Måne Handel Holding"),
        ("JP Nordlys", "J. P. Nordlys Transport"),
        ("Solens Café", "Solens Café v/ Anna Prøve"),
        ("Transport Nordic", "Nordic Transport Group"),
    ],
)
def test_what_the_name_has_more_or_has_otherwise_does_not_hinder(asked: str, there: str) -> None:
    found = standing(asked, there)

    assert found.accepted
    assert not found.exact
    assert found.score < EXACT


@pytest.mark.parametrize(
    "asked,there",
    [
        ("Danmark", "Nordlys Danmark A/S"),
        ("Holding", "Nordlys Holding ApS"),
        ("Nordic", "Nordic Fiskeri ApS"),
        ("Raveru Holding", "Nordlys Holding"),
        ("Raveru Transport", "Nordlys Transport"),
        ("Nordlys Fiskeri", "Nordlys Smedje"),
        ("Sydlys", "Nordlys"),
        ("Abel Transport", "Adam Transport"),
        ("AB Holding", "Nordlys Holding"),
        ("Odense", "Nordlys"),
    ],
)
def test_what_tells_too_little_is_not_accepted(asked: str, there: str) -> None:
    assert not standing(asked, there, places="odense 5000").accepted


def test_a_town_that_the_company_is_in_confirms_it() -> None:
    there = standing("Nordlys Odense", "Nordlys Fiskeri", places="odense 5000")
    elsewhere = standing("Nordlys Odense", "Nordlys Fiskeri", places="aarhus 8000")
    unasked = standing("Nordlys", "Nordlys Fiskeri", places="odense 5000")

    assert there.accepted
    assert there > unasked > elsewhere
    assert not elsewhere.accepted


def test_the_closest_name_comes_first() -> None:
    in_order = [
        "Nordlys Fiskeri",
        "Nordlys Fiskeri Holding",
        "Nordlys Fiskeri Kværn",
        "Holding Nordlys Fiskeri",
        "Nordlys Fiskery",
    ]

    found = [standing("Nordlys Fiskeri", name) for name in in_order]

    assert found == sorted(found, reverse=True)
    assert len({one.score for one in found}) == len(found)


def test_of_names_that_are_equal_the_one_written_as_asked_comes_first() -> None:
    in_order = ["ALLMOR A/S", "Allmor A/S", "ALLMOR AKTIESELSKAB", "ALLMOR ApS"]

    found = [standing("ALLMOR A/S", name) for name in in_order]

    assert {one.score for one in found} == {EXACT}
    assert [one.literal for one in found] == [3, 2, 1, 0]


def test_current_names_come_before_trade_names_and_these_before_former_ones() -> None:
    found = [standing("Nordlys Fiskri", "Nordlys Fiskeri", kind=kind) for kind in NameKind]

    assert found == sorted(found, reverse=True)
    assert len({one.score for one in found}) == len(NameKind)


def test_an_exact_former_name_is_before_a_near_current_one() -> None:
    former = standing("Nordlys", "Nordlys ApS", kind=NameKind.FORMER)

    assert former > standing("Nordlys", "Nordlyset ApS")
    assert former.score == EXACT


@given(NAMES, NAMES)
def test_a_score_is_100_for_equal_names_and_for_no_others(one: str, other: str) -> None:
    found = standing(one, other)

    assert 0 <= found.score <= EXACT
    assert standing(one, one).score == EXACT
    assert found.score < EXACT or fold_name(one).key == fold_name(other).key


def test_a_word_weighs_by_its_rarity() -> None:
    weights = [weight("nordlys", count, REGISTER) for count in (0, 1, 10, 1_000, REGISTER)]

    assert weights == pytest.approx([1.0, 1.0, 0.8, 0.4, 0.0])


def test_a_generic_word_tells_little_even_where_it_is_rare() -> None:
    assert weight("holding", 1, REGISTER) < ACCEPTED_INFORMATION


def test_a_branch_comes_before_the_record_of_its_foreign_company() -> None:
    def ranked(*, is_foreign: bool) -> NameStanding:
        order = order_of(0, rank_order(Rank(Status.ACTIVE, 0, None, 900_000_000, is_foreign)))
        there = "Nordlys Ltd" if is_foreign else "Nordlys Ltd Norwegian Branch"
        name = Name(NameKind.CURRENT, fold_name(there), there)
        return name_standing(read_query("Nordlys Norway", Country.NO), name, order, weigh)

    assert ranked(is_foreign=False) > ranked(is_foreign=True)


@pytest.mark.parametrize("asked,there", [("Danmark", "4C Danmark ApS"), ("Bygg", "A Bygg AS")])
def test_a_generic_word_alone_is_not_the_name_that_has_two_letters_more(
    asked: str, there: str
) -> None:
    assert not standing(asked, there).accepted
    assert standing(asked, asked).exact
