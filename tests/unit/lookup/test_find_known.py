"""A word in many names is searched once, and its list follows every change."""

from functools import partial
from random import Random

import numpy as np

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest, FindSort
from lookup.search.find.pages import Hits
from lookup.search.index import SearchIndex
from lookup.search.index.words import (
    FEWEST_KEPT,
    MAX_CHANGED,
    MAX_KEPT,
    HitsCache,
    cached_with_words,
    with_words,
)
from lookup.search.indexed_company import IndexedCompany
from tests.builders.indexed import an_indexed_company, filled

#: Many have the first, and few the last.
WORDS = ("Holding", "Holding", "Holding", "Nordlys", "Aurora Holding", "Kro")
ASKED = ("holding", "HOLDING aps", "aurora holding", "nordlys", "kro", "holding as")


def some_company(random: Random, number: int) -> IndexedCompany:
    form = random.choice(["ApS", "ApS", "A/S"])
    return an_indexed_company(
        f"{random.choice(WORDS)} {random.choice(['', number])} {form}",
        number=number,
        former_names=(random.choice(WORDS),) if random.random() < 0.2 else (),
        employees=random.randrange(50),
    )


def a_key(number: int) -> CompanyKey:
    return CompanyKey(Country.DK, str(number))


def some_hits(count: int) -> Hits:
    return Hits(np.arange(count, dtype=np.uint32), np.arange(count, dtype=np.uint64))


def test_lists_of_frequent_and_rare_words_follow_every_change(index: SearchIndex) -> None:
    random = Random(1)
    companies = [some_company(random, 10_000_000 + place) for place in range(2_500)]
    filled(index, *companies)
    generation = index._generation

    for changes in (0, 1, 40, 0, MAX_CHANGED + 1, 3):
        changed = random.sample(range(10_000_000, 10_002_600), changes)
        removed = [a_key(number) for number in changed if random.random() < 0.3]
        upserts = [some_company(random, n) for n in changed if a_key(n) not in removed]
        index.apply(upserts, removed)
        index.commit(b"again")
        for words in ASKED:
            known = cached_with_words(generation.known, generation.view, words)
            searched = with_words(generation.view(), words)
            assert known.numbers.tolist() == searched.numbers.tolist()
            assert known.keys.tolist() == searched.keys.tolist()
    assert generation.known.of("holding").hits is not None
    assert generation.known.of("kro").hits is None


def test_a_known_list_is_shown_as_changed_companies_are(index: SearchIndex) -> None:
    numbers = range(10_000_000, 10_000_000 + FEWEST_KEPT + 1)
    filled(index, *(an_indexed_company("Holding ApS", number=number) for number in numbers))
    request = partial(
        FindRequest, country=Country.DK, words="holding", sort=FindSort.RELEVANCE, limit=2
    )
    before = index.find(request())

    index.apply([an_indexed_company("Holding Nord", number=11_000_000)], [a_key(numbers[0])])
    index.commit(b"later")

    after = index.find(request())
    assert [one.number for one in before.positions] == [numbers[0], numbers[1]]
    assert [one.number for one in after.positions] == [numbers[1], numbers[2]]
    assert (before.total, after.total) == (len(numbers), len(numbers))


def test_only_companies_changed_since_a_result_are_searched_again() -> None:
    known = HitsCache()
    known.change([a_key(1)])
    known.keep("holding", some_hits(FEWEST_KEPT), known.of("holding").changes)

    known.change([a_key(2), a_key(3)])
    known.change([a_key(3)])

    assert known.of("holding").changed == [a_key(2), a_key(3)]


def test_a_result_found_before_too_many_changes_is_searched_again() -> None:
    known = HitsCache()
    known.keep("holding", some_hits(FEWEST_KEPT), 0)

    known.change([a_key(number) for number in range(MAX_CHANGED)])
    assert known.of("holding").hits is not None

    known.change([a_key(0)])
    assert known.of("holding").hits is None


def test_cached_results_are_bounded_and_the_least_recently_used_are_evicted() -> None:
    known = HitsCache()
    known.keep("few", some_hits(FEWEST_KEPT - 1), 0)
    known.keep("all", some_hits(MAX_KEPT + 1), 0)
    known.keep("one", some_hits(MAX_KEPT // 2), 0)
    known.keep("two", some_hits(MAX_KEPT // 2), 0)

    assert known.of("one").hits is not None
    known.keep("three", some_hits(FEWEST_KEPT), 0)

    kept = {words for words in ("few", "all", "one", "two", "three") if known.of(words).hits}
    assert kept == {"one", "three"}
