"""Suggestions of a built index for a partly typed name."""

import re
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, Status
from common.contracts.lookup import SUGGEST_CURSOR
from lookup.search.index import SearchIndex
from lookup.search.index.prefixes import writings
from lookup.search.indexed_company import SearchHit
from register_samples.companies import corporate
from register_samples.registers import REGISTERS
from tests.builders.indexed import an_indexed_company, filled, listed, search_name
from tests.tables import check


def named(index: SearchIndex, *names: str) -> SearchIndex:
    """Companies whose numbers are the places of their names in the list."""
    return filled(index, *(an_indexed_company(n, number=i) for i, n in enumerate(names)))


def numbers(found: Sequence[SearchHit]) -> list[int]:
    return [int(one.key.removeprefix("dk:")) for one in found]


def suggested(index: SearchIndex, text: str, limit: int = 10) -> list[int]:
    return numbers(index.suggest(text, limit).hits)


def result(index: SearchIndex, typed: str) -> str:
    """The companies with their scores, and the name that matched if it is not the current one."""
    page = index.suggest(typed, 10)
    assert page.cursor is None
    scores = [one.score for one in page.hits]
    assert scores == sorted(scores, reverse=True)
    if typed[-1].isdigit():
        assert [*chain(*pages(index, typed, 1))] == numbers(page.hits)
    shown = (
        f"{int(one.key.vat)} {one.score:.0f}"
        + (f" ({one.matched_name})" if one.matched_name else "")
        for one in page.hits
    )
    return ", ".join(shown) or "-"


def test_the_companies_of_the_table_are_suggested(index: SearchIndex) -> None:
    built: list[Sequence[str]] = []

    def suggested(given: Sequence[str], typed: str) -> str:
        if built != [given]:
            built[:] = [given]
            listed(index, given)
        return result(index, typed)

    check(Path(__file__).with_name("suggestions.txt"), suggested)


def test_the_first_suggestion_is_what_a_search_for_the_name_answers(index: SearchIndex) -> None:
    named(index, "Nordlys A/S", "Nordlys ApS", "Nordlys Fiskeri", "Nordlyset Fiskerier", "Fiskerne")
    typed = ["Nordlys", "Nordlys Fiskeri", "Nordlys ApS", "Nordlsy Fiskeri", "Fiskeri", "Nordly"]

    assert [index.suggest(text, 10).hits[0] for text in typed] == [
        search_name(index, text) for text in typed
    ]


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

    found = index.suggest("nordlys", 2).hits

    assert numbers(found) == [1, 2]
    assert found[0].score == 100.0


def test_a_purged_company_is_not_suggested(index: SearchIndex) -> None:
    named(index, "Nordlys")
    index.apply((), [an_indexed_company(number=0).key])
    index.commit(b"later")

    assert suggested(index, "nordlys") == []


def test_any_text_may_be_typed(index: SearchIndex) -> None:
    named(index, "Nordlys")

    for typed in ("  --", "\0\0", "\ud800x", "a" * 200, "æ" * 200, "a b " * 50):
        assert index.suggest(typed, 10).hits == []


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


def test_current_names_that_begin_are_found_behind_many_trade_names(index: SearchIndex) -> None:
    others = [an_indexed_company(f"C{n}", number=n, trade_names=("Nordlys",)) for n in range(1, 40)]
    stems = [an_indexed_company(f"Nordlys {n}", number=n, employees=9) for n in range(50, 90)]
    filled(index, *others, *stems, an_indexed_company("Nordlysasfalt", number=99))

    assert suggested(index, "nordlys", 1)[0] in range(50, 90)
    assert suggested(index, "nordlys as", 1) == [99]


def test_norwegian_numbers_have_nine_digits(tmp_path: Path) -> None:
    with closing(SearchIndex.open(tmp_path, Country.NO)) as index:
        companies = [(310345679, "Prøve"), (310999999, "Nordlys"), (810345679, "Sørlys")]
        filled(
            index,
            *(an_indexed_company(name, number=n, country=Country.NO) for n, name in companies),
        )

        found = [index.suggest(typed, 5).hits for typed in ("310 3", "310", "NO 310345679", "8103")]

    assert [[one.key for one in hits] for hits in found] == [
        ["no:310345679"],
        ["no:310345679", "no:310999999"],
        ["no:310345679"],
        ["no:810345679"],
    ]


def test_a_whole_number_is_before_the_names_with_it_and_all_names_before_other_numbers(
    index: SearchIndex,
) -> None:
    names = [an_indexed_company(f"2000 Byg {n}", number=n + 50_000_000) for n in range(25)]
    by_number = [an_indexed_company(f"Firma {n}", number=20_000_000 + n) for n in range(25)]
    filled(index, *names, *by_number, an_indexed_company("20000003 Byg", number=60_000_000))

    assert suggested(index, "20000003") == [20_000_003, 60_000_000]
    listed = [number for page in pages(index, "2000", 4) for number in page]
    assert sorted(listed[:26]) == [*range(50_000_000, 50_000_025), 60_000_000]
    assert listed[26:] == list(range(20_000_000, 20_000_025))


def pages(index: SearchIndex, text: str, limit: int) -> list[list[int]]:
    """The companies of each page of a list."""
    found, cursor = [], None
    while True:
        page = index.suggest(text, limit, after=cursor)
        found.append(numbers(page.hits))
        cursor = page.cursor
        if cursor is None:
            return found
        assert re.fullmatch(SUGGEST_CURSOR, cursor)


def many(index: SearchIndex) -> SearchIndex:
    """Sixty companies with `Holding` in some of their names, and ten without."""
    others = [an_indexed_company(f"Aurora {n}", number=n) for n in range(61, 71)]
    holdings = [
        an_indexed_company(
            f"Holdingselskab {n}" if n % 3 else f"Nordlys {n}",
            number=n,
            trade_names=() if n % 3 else (f"Holding {n}", "Holding Handel"),
            former_names=(f"Gammel Holding {n}",) if n % 2 else (),
            employees=n % 7,
        )
        for n in range(1, 61)
    ]
    return filled(index, *holdings, *others)


def test_the_pages_of_a_list_have_each_company_once(index: SearchIndex) -> None:
    many(index)

    for limit in (1, 7, 19, 20):
        found = pages(index, "holding", limit)

        assert sorted(number for page in found for number in page) == list(range(1, 61))
        assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
        assert found[-1]


def test_later_pages_are_in_the_order_of_rank(index: SearchIndex) -> None:
    filled(
        index, *(an_indexed_company(f"Nordlys {n}", number=n, employees=n) for n in range(1, 40))
    )

    assert [number for page in pages(index, "nordlys", 9) for number in page] == [*range(39, 0, -1)]


@pytest.mark.parametrize("typed, numbers", [("nordlys", [1, 2]), ("nordlsy", [1, 2]), ("x", [])])
def test_a_list_that_fits_on_its_page_has_no_cursor(
    index: SearchIndex, typed: str, numbers: list[int]
) -> None:
    filled(
        index,
        an_indexed_company("Nordlys Fiskeri", number=1, former_names=("Nordlys", "Nordlysene")),
        an_indexed_company("Nordlys Handel", number=2),
    )

    assert pages(index, typed, 2) == [numbers]


def test_a_page_goes_on_behind_companies_that_were_listed_before(index: SearchIndex) -> None:
    """Their trade and former names match, too, and take all that one page reads."""
    old = tuple(f"Nordlys {year}" for year in range(1900, 1999))
    filled(
        index,
        *(an_indexed_company(f"Nordlys {n}", number=n, former_names=old) for n in range(1, 4)),
        an_indexed_company("Aurora", number=4, former_names=("Nordlys",), status=Status.ENDED),
    )

    assert [n for page in pages(index, "nordlys", 1) for n in page] == [1, 2, 3, 4]


def test_a_list_goes_on_after_companies_of_earlier_pages_have_changed(index: SearchIndex) -> None:
    many(index)
    first = index.suggest("holding", 5)
    second = index.suggest("holding", 5, after=first.cursor)
    following = index.suggest("holding", 20, after=second.cursor)

    gone = [one.key for one in (*first.hits, *second.hits)]
    index.apply([an_indexed_company("Holding Ny", number=90, employees=99)], gone)
    index.commit(b"later")

    assert index.suggest("holding", 20, after=second.cursor) == following


@given(st.text(alphabet="abeoæøå ", max_size=12), st.integers(0, 12))
def test_whatever_begins_a_text_begins_one_of_its_writings(text: str, length: int) -> None:
    typed = writings(text[:length])

    assert all(any(whole.startswith(start) for whole in writings(text)) for start in typed)


#: Beginnings of words of Danish and Norwegian names, with special letters and without.
BEGINNINGS = [
    "prø", "pro", "prøve", "ær", "ar", "ærø", "aro", "bø", "bo", "bøg", "bog", "sø", "so", "søn",
    "son", "sønd", "sond", "kø", "ko", "køb", "kob", "køl", "kol", "hø", "ho", "høj", "hoj", "hå",
    "ha", "håk", "hak", "mø", "mo", "møl", "mol", "møller", "moller", "ål", "al", "ås", "as",
    "år", "ar", "rø", "ro", "røn", "ron", "råd", "rad", "grø", "gro", "grøn", "gron", "tø", "to",
    "tøm", "tom", "lø", "lo", "løv", "lov", "øs", "os", "øst", "ost", "nø", "no", "næ", "na",
    "nør", "nor", "fæ", "fa", "sæ", "sa", "by", "bygg", "nord", "jo", "da",
]  # fmt: skip


@pytest.mark.parametrize("country", Country)
def test_names_with_the_letters_as_typed_come_first(tmp_path: Path, country: Country) -> None:
    register = REGISTERS[country]
    names = {place: corporate(register, place)["name"] for place in range(3_000)}
    letters = {place: letters_of(name) for place, name in names.items()}
    companies = (
        an_indexed_company(name, number=place, country=country) for place, name in names.items()
    )

    with closing(SearchIndex.open(tmp_path, country)) as index:
        filled(index, *companies)
        wrong = {}
        for typed in BEGINNINGS:
            hits = index.suggest(typed, 10).hits
            places = [int(hit.key.number) for hit in hits]
            first = min(10, sum(each.startswith(typed) for each in letters.values()))
            begun = [letters[place].startswith(typed) for place in places]
            if not all(begun[:first]) or any(hit.score <= 0 for hit in hits):
                wrong[typed] = [names[place] for place in places]

    assert len(set(BEGINNINGS)) >= 60
    assert wrong == {}


def letters_of(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def test_words_with_the_letters_as_typed_come_before_other_spellings(index: SearchIndex) -> None:
    named(index, "Bornholm", "Nordre Bø", "Bøgen", "Boligen", "Lille Bor")

    assert suggested(index, "bø") == [2, 1, 0, 3, 4]
    assert suggested(index, "bo")[:2] == [0, 3]
    assert suggested(index, "bo")[2] == 2


def test_a_name_that_begins_with_another_reading_has_a_score(index: SearchIndex) -> None:
    named(index, "To Øl", "Total", "Tømrer", "Cafeen")

    assert suggested(index, "to") == [0, 1, 2]
    assert all(hit.score > 0 for hit in index.suggest("to", 10).hits)


@pytest.mark.parametrize(
    "typed, found",
    [("a/s", {0}), ("as", {0, 1}), ("A/S", {0}), ("i/s", {4}), ("is", {3, 4}), ("aps", set())],
)
def test_a_legal_form_alone_suggests_no_company_by_its_form(
    index: SearchIndex, typed: str, found: set[int]
) -> None:
    names = ("Aspen", "Lille Asfalt", "Roche A/S. Danmark", "Hansens Is ApS", "Island")
    named(index, *names)

    assert set(suggested(index, typed)) == found
