"""Scores of names for a query; words weigh by their rarity."""

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
from lookup.search.similarity import EXACT
from lookup.store.ranking import Rank

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


@pytest.mark.parametrize(
    "query,name",
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
        ("J K S A/S", "JKS A/S"),
        ("Nordlys Fem", "Nordlys 5"),
        ("Nr. Nordlys", "Nørre Nordlys"),
        ("Sdr. Nordlys", "Sønder Nordlys"),
        ("Gl. Nordlys", "Gammel Nordlys"),
        ("St. Nordlys", "Skt. Nordlys"),
        ("Nordlys IL", "Nordlys Idrettslag"),
        ("I.L. Nordlys", "IL Nordlys"),
        ("Nordlys Vgs", "Nordlys videregående skole"),
        ("Kbh. Nordlys", "København Nordlys"),
        ("Chr. Nordlys", "Christian Nordlys"),
        ("Nordlys brl", "Nordlys Borettslag"),
        ("T.I.S.", "TIS AS"),
        ("B.I.K.S.", "BIKS AS"),
        ("M.B.A.S.", "MBAS"),
    ],
)
def test_spellings_of_a_name_are_exact(query: str, name: str) -> None:
    assert match(query, name).score == EXACT
    assert match(name, query).score == EXACT


@pytest.mark.parametrize(
    "query,name",
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
        ("Kaerheim", "Akerheim Fiskeri"),
        ("Akrheim", "Aekrheim Fiskeri"),
        ("AgnaeOffset", "Agna Offset"),
        ("Nordlys P/S Denmark", "Nordlys Holding P/S"),
    ],
)
def test_additional_and_different_words_are_tolerated(query: str, name: str) -> None:
    found = match(query, name)

    assert found.accepted
    assert not found.exact
    assert found.score < EXACT


@pytest.mark.parametrize(
    "query,name",
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
def test_uninformative_queries_are_not_accepted(query: str, name: str) -> None:
    assert not match(query, name, places="odense 5000").accepted


@pytest.mark.parametrize(
    "query,name",
    [
        ("Abiz AS", "Abez AS"),
        ("Hbkz", "Hbkzs AS"),
        ("Nordlys AXS", "Nordlys AS"),
        ("Nordlys A S", "Nordlys AS"),
        ("Nordly sApS", "Nordlys ApS"),
        ("NordlysAktieselskab", "Nordlys Aktieselskab"),
        ("Nordlys Anpartsselksab", "Nordlys Anpartsselskab"),
        ("Aus Invest", "Aes Invest"),
    ],
)
def test_one_edit_of_a_name_as_it_is_written_is_accepted(query: str, name: str) -> None:
    assert match(query, name).accepted


@pytest.mark.parametrize(
    "query,name",
    [
        ("HBK AS", "ABK AS"),  # three letters are near to too many names
        ("Aden AS", "Aeven A/S"),  # `aven` as collapsed
        ("Alefa AS", "A-Leaf ApS"),  # a letter and the form
        ("Nordlys AXXS", "Nordlysfiskeri AS"),
        # A generic word alone, and a name with one or two letters more.
        ("Danmark", "3Danmark"),
        ("Danmark", "4C Danmark ApS"),
        ("Bygg", "A Bygg AS"),
    ],
)
def test_another_edit_is_another_name(query: str, name: str) -> None:
    assert not match(query, name).accepted
    assert match(query, query).exact


def test_a_slipped_space_is_nearer_than_a_typo_and_this_than_one_without_its_spaces() -> None:
    slipped = match("Abi zAS", "Abiz AS")
    typo = match("Abi zAS", "Abi Ras")
    without_spaces = match("Abe z AS", "Abiz AS")

    assert EXACT > slipped.score > typo.score >= without_spaces.score


@pytest.mark.parametrize(
    "query,name",
    [
        ("Team 8", "Team 7"),
        ("Team8", "Team7"),
        ("Team 8", "Team"),
        ("Fællesvirke 2002", "Fællesvirke 2000 ApS"),
        ("Fællesvirke2002", "Fællesvirke2000"),
        ("2. maj", "1. maj"),
        ("2. maj Nordlys", "1. maj Nordlys"),
        ("Tre Nordlys", "To Nordlys"),
        ("Brunsø V", "Brunsø IV AS"),
        ("Brunsø V AS", "Brunsø IV AS"),
        ("IIII", "III AS"),
        ("Nordlys II", "Nordlys"),
        ("Nordlys Huset 12A", "Nordlys Huset 12B"),
        ("3Ø Media House", "3B Media House"),
        ("Nordlys Invest A", "Nordlys Invest B"),
        ("Nordlys Invest B", "Nordlys Invest"),
        ("Jens P Nordlys", "Jens K Nordlys"),
        ("Brunsø V Danmark", "Brunsø X"),
    ],
)
def test_another_figure_makes_another_name_that_is_proposed(query: str, name: str) -> None:
    found = match(query, name)

    assert (found.accepted, found.is_other) == (False, True)
    assert match(query, query).exact


@pytest.mark.parametrize(
    "query,name",
    [
        ("Team", "Team 7"),
        ("Nordlis 2000", "Nordlys 2000"),
        ("Fælesvirke IV", "Fællesvirke IV"),
        ("Brunsø Fiskeri Handel 4", "Brunsø Fiskeri Handel IV"),
        ("Nordlys 5000", "Nordlys"),  # its postal code
        ("Nordlys Odense C", "Nordlys Fiskeri"),
        ("Nordlys i Vestfold", "Nordlys Vestfold"),
        ("Vi i Nordlys", "Vi Nordlys"),
        ("Back to Nordlys", "Back Nordlys"),
        ("Jens P Nordlys", "Jens Peter Nordlys"),
        ("Jens P Nordlys", "Jens Nordlys"),
        ("Nordl s", "Nordlys"),  # a space that stands for a letter
        ("N rdlys Fiskeri", "Nordlys Fiskeri"),
        ("h17. maj Nordlys", "17. maj Nordlys"),  # a letter too many before a number
        ("Morrow", "2morrow"),
        ("Nordlys S", "Nordlys AS"),
    ],
)
def test_the_same_figures_and_none_do_not(query: str, name: str) -> None:
    assert match(query, name, places="odense 5000").accepted


@pytest.mark.parametrize("query", ["Nordlys afd. 2", "Nordlys Avdeling 2", "Nordlys dept. B"])
def test_the_number_of_a_department_is_no_figure_of_the_name(query: str) -> None:
    assert not match(query, "Nordlys ApS").is_other
    assert match(query, query.replace("2", "3").replace("B", "C")).is_other


def test_initials_with_the_letters_of_a_form_are_no_form() -> None:
    assert not match("D.S.B.V.", "D/S Orionhav").accepted
    assert not match("D.S.B.V.", "D/S Orionhav").is_other


def test_the_town_of_the_company_raises_the_score() -> None:
    in_town = match("Nordlys Odense", "Nordlys Fiskeri", places="odense 5000")
    elsewhere = match("Nordlys Odense", "Nordlys Fiskeri", places="aarhus 8000")
    without_town = match("Nordlys", "Nordlys Fiskeri", places="odense 5000")

    assert in_town.accepted
    assert in_town > without_town > elsewhere
    assert not elsewhere.accepted


def test_among_matching_names_the_one_with_the_queried_country_comes_first() -> None:
    with_country = match("Nordlys Denmark Danmark", "Nordlys Denmark A/S")
    without = match("Nordlys Denmark Danmark", "Nordlys A/S")

    assert with_country > without
    assert without.accepted


def test_the_closest_name_comes_first() -> None:
    in_order = [
        "Nordlys Fiskeri",
        "Nordlys Fiskeri Holding",
        "Nordlys Fiskeri Kværn",
        "Holding Nordlys Fiskeri",
        "Nordlys Fiskery",
    ]

    found = [match("Nordlys Fiskeri", name) for name in in_order]

    assert found == sorted(found, reverse=True)
    assert len({one.score for one in found}) == len(found)


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
