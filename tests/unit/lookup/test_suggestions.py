"""Suggestions of a built index for a partly typed name."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Status
from lookup.search.hits import SearchHit
from lookup.search.index import SearchIndex
from lookup.search.suggesting import writings
from tests.builders.indexed import an_indexed_company, filled


def named(index: SearchIndex, *names: str) -> SearchIndex:
    """Companies whose numbers are the places of their names in the list."""
    return filled(index, *(an_indexed_company(n, number=i) for i, n in enumerate(names)))


def numbers(found: list[SearchHit]) -> list[int]:
    return [int(one.key.removeprefix("dk:")) for one in found]


def suggested(index: SearchIndex, text: str, limit: int = 10) -> list[int]:
    return numbers(index.suggest(text, limit))


@pytest.mark.parametrize("length", range(2, len("Prøvefabrikken ApS") + 1))
def test_a_company_is_suggested_from_the_second_letter_of_its_name_to_the_last(
    index: SearchIndex, length: int
) -> None:
    named(index, "Prøvefabrikken ApS")

    assert suggested(index, "Prøvefabrikken ApS"[:length]) == [0]


@pytest.mark.parametrize(
    "typed", ["PRØVEF", "prøve-f", "Prøve f", "proevef", "provef", "A/S Prøvefab", "  prøvef "]
)
def test_it_does_not_matter_how_the_letters_are_written(index: SearchIndex, typed: str) -> None:
    named(index, "Prøvefabrikken ApS")

    assert suggested(index, typed) == [0]


@pytest.mark.parametrize("typed", ["ær", "aer", "ar", "Ærø k", "aeroe k", "aero k", "aro k"])
def test_each_spelling_of_a_special_letter_begins_the_name(index: SearchIndex, typed: str) -> None:
    named(index, "Ærø Kro")

    assert suggested(index, typed) == [0]


def test_letters_that_were_typed_apart_are_not_taken_for_one(index: SearchIndex) -> None:
    named(index, "Mobiliteket", "Moelven Træ", "Mølven Træ")

    assert suggested(index, "moe") == [1, 2]


def test_a_name_is_not_begun_by_what_the_search_for_names_makes_of_it(index: SearchIndex) -> None:
    named(index, "Moen Maskin", "Mønster")

    assert [one.score < 100 for one in index.suggest("Mon Maskin", 10)] == [True]
    assert [one.score for one in index.suggest("Monster", 10)] == [100.0]


def test_a_whole_name_comes_first_then_words_beginnings_and_typos(index: SearchIndex) -> None:
    named(index, "Det Nordlys", "Nardlys", "Nordlyset", "Nordlys A/S")

    found = index.suggest("nordlys", 10)

    assert numbers(found) == [3, 0, 2, 1]
    assert found[0].score == 100.0
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_current_names_come_before_trade_names_and_these_before_former_ones(
    index: SearchIndex,
) -> None:
    filled(
        index,
        an_indexed_company("Aurora", number=1, former_names=("Nordlyset",), employees=500),
        an_indexed_company("Borealis", number=2, trade_names=("Nordlyset",), employees=50),
        an_indexed_company("Nordlyset", number=3),
    )

    assert suggested(index, "nordl") == [3, 2, 1]


def test_of_equal_fits_the_active_the_larger_and_the_older_come_first(index: SearchIndex) -> None:
    filled(
        index,
        an_indexed_company("Nordlys A", number=1, status=Status.ENDED, employees=900),
        an_indexed_company("Nordlys B", number=2, founded=date(2001, 1, 1)),
        an_indexed_company("Nordlys C", number=3, founded=date(1950, 1, 1)),
        an_indexed_company("Nordlys D", number=4, employees=30),
        an_indexed_company("Nordlys E", number=5, status=Status.BANKRUPT, employees=40),
    )

    assert suggested(index, "nordlys") == [4, 3, 2, 5, 1]


def test_a_company_is_suggested_once_by_the_best_of_its_names(index: SearchIndex) -> None:
    filled(
        index,
        an_indexed_company(
            "Nordlys Fiskeri",
            number=1,
            trade_names=("Nordlys Handel", "Nordlys"),
            former_names=tuple(f"Nordlys {year}" for year in range(1950, 2000)),
        ),
        an_indexed_company("Nordlysets Venner", number=2),
    )

    found = index.suggest("nordlys", 2)

    assert numbers(found) == [1, 2]
    assert found[0].score == 100.0


def test_words_may_be_begun_in_any_order(index: SearchIndex) -> None:
    named(index, "Nordlys Fiskeri og Handel", "Nordlys Havn")

    assert suggested(index, "hand nord") == [0]


@pytest.mark.parametrize(
    "typed", ["nrodl", "nardlys", "norlys", "nordllys", "nordlys fsikeri", "fiskeri nordlis"]
)
def test_one_typo_is_forgiven(index: SearchIndex, typed: str) -> None:
    named(index, "Nordlys Fiskeri", "Aurora Handel")

    found = index.suggest(typed, 10)

    assert [one.score < 100 for one in found] == [True]
    assert numbers(found) == [0]


@pytest.mark.parametrize("typed", ["prøvefabirk", "prøvefabr", "prøvefbarikken", "Prøvefabirk Hol"])
def test_a_name_that_is_begun_with_a_typo_has_a_score(index: SearchIndex, typed: str) -> None:
    named(index, "Prøvefabrikken Holding ApS")

    [found] = index.suggest(typed, 10)

    assert 0 < found.score < 100


def test_two_typos_are_forgiven_only_where_nothing_else_fits(index: SearchIndex) -> None:
    named(index, "Nordlys Fiskeri", "Nordlkssfiskeri")

    assert suggested(index, "nirdlisfis") == [0]
    assert suggested(index, "nordlkss") == [1]


@pytest.mark.parametrize("typed", ["nor", "qw", "no x", "qwzxvk"])
def test_what_is_short_or_far_off_is_not_guessed_at(index: SearchIndex, typed: str) -> None:
    named(index, "Nardlys", "Nordlys" if typed == "no x" else "Aurora")

    assert suggested(index, typed) == []


def test_a_legal_form_begun_does_not_hide_the_company(index: SearchIndex) -> None:
    named(index, "Nordlys A/S", "Nordlys Asfalt")

    assert suggested(index, "nordlys a") == [0, 1]
    assert suggested(index, "nordlys as") == [0, 1]
    assert suggested(index, "nordlys asf") == [1]


def test_a_purged_company_is_suggested_no_more(index: SearchIndex) -> None:
    named(index, "Nordlys")
    index.apply((), [an_indexed_company(number=0).key])
    index.commit(b"later")

    assert suggested(index, "nordlys") == []


@pytest.mark.parametrize("typed", ["--", "&", "\0\0", "\ud800x", "a" * 200, "æ" * 200, "a b " * 50])
def test_any_text_may_be_typed(index: SearchIndex, typed: str) -> None:
    named(index, "Nordlys")

    assert index.suggest(typed, 10) == []


def test_the_limit_is_kept_and_the_shorter_list_is_the_beginning_of_the_longer(
    index: SearchIndex,
) -> None:
    filled(
        index,
        *(
            an_indexed_company(f"Nordlys {n}", number=n, employees=n % 7, former_names=("Lyset",))
            for n in range(1, 60)
        ),
    )

    longest = suggested(index, "nor", 20)

    assert len(longest) == len(set(longest)) == 20
    assert all(suggested(index, "nor", limit) == longest[:limit] for limit in range(1, 20))


@pytest.mark.parametrize(
    "asked", ["Nordlys", "Nordlys Fiskeri", "Nordlys ApS", "Nordlsy Fiskeri", "Fiskeri", "Nordly"]
)
def test_the_first_suggestion_is_what_a_search_for_the_name_answers(
    index: SearchIndex, asked: str
) -> None:
    named(index, "Nordlys A/S", "Nordlys ApS", "Nordlys Fiskeri", "Nordlyset Fiskerier", "Fiskerne")
    answer = index.search_name(asked)

    first = index.suggest(asked, 10)[0]

    assert answer
    assert first == answer


@given(st.text(alphabet="abeoæøå ", max_size=12), st.integers(0, 12))
def test_whatever_begins_a_text_begins_one_of_its_writings(text: str, length: int) -> None:
    typed = writings(text[:length])

    assert all(any(whole.startswith(start) for whole in writings(text)) for start in typed)
