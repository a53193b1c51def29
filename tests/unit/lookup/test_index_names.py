"""The search for a name in a built index, against the rules and against a scan of every name."""

from datetime import date

import pytest

from common.contracts.company import CompanyKey, Country, Status
from lookup.search.index import SearchIndex
from tests.builders.indexed import an_indexed_company, filled


def found(index: SearchIndex, name: str) -> CompanyKey | None:
    hit = index.search_name(name)
    return hit.key if hit else None


NORDLYS = an_indexed_company(
    "Nordlys Fiskeri og Handel ApS",
    number=10_000_001,
    trade_names=("Lyset i Nord",),
    former_names=("Aurora Trading A/S",),
)


@pytest.mark.parametrize(
    "asked",
    [
        "Nordlys Fiskeri og Handel ApS",
        "NORDLYS FISKERI OG HANDEL",
        "nordlys fiskeri & handel",
        "Nordlys Fiskeri og Hande",
        "Nordlsy Fiskeri og Handle",
        "Handel og Fiskeri Nordlys",
        "Nordlys Handel",
        "Nordlys Fiskeri og Handel Danmark",
        "Lyset i Nord",
        "Aurora Trading",
    ],
)
def test_a_company_is_found_by_each_of_its_names_however_written(
    index: SearchIndex, asked: str
) -> None:
    filled(index, NORDLYS)

    assert found(index, asked) == NORDLYS.key


@pytest.mark.parametrize(
    "asked,name",
    [
        ("Kaerheim", "Akerheim Fiskeri"),
        ("Sormed", "Saeormed Fiskeri"),
        ("Gerimod", "Aerimod Fiskeri"),
    ],
)
def test_a_typo_that_makes_or_parts_a_spelled_out_letter_is_one_typo(
    index: SearchIndex, asked: str, name: str
) -> None:
    filled(index, NORDLYS, an_indexed_company(name, number=10_000_002))

    assert found(index, asked) == "dk:10000002"


#: Names of the issue, and neighbours of them.
ONE_EDIT_AWAY = (
    "Hama Sushi ApS", "BIOMAR A/S", "Exerp ApS", "ACCUMULI SECURITY LIMITED", "AES INVEST AS",
    "Nordlys Invest AS", "Nordlys Security Limited", "Sushi Nord ApS", "Ærø Handel A/S", "Rejsa AS",
    "3B Media House AS", "Aida A/S", "Abiz AS",
)  # fmt: skip


@pytest.mark.parametrize(
    "asked, name",
    [
        ("Hama Sush iApS", "Hama Sushi ApS"),
        ("Hama SushiApS", "Hama Sushi ApS"),
        ("HamaS ushi ApS", "Hama Sushi ApS"),
        ("Hama Sushi A pS", "Hama Sushi ApS"),
        ("Hama Sushi AsP", "Hama Sushi ApS"),
        ("BIOMA RA/S", "BIOMAR A/S"),
        ("BIOMARA/S", "BIOMAR A/S"),
        ("BIOMARØA/S", "BIOMAR A/S"),
        ("BIOMAR A/SD", "BIOMAR A/S"),
        ("BIOMAR /S", "BIOMAR A/S"),
        ("ExerpApS", "Exerp ApS"),
        ("ACCUMULI SECURITY LIMTED", "ACCUMULI SECURITY LIMITED"),
        ("ACCUMULI SECURITY LMIITED", "ACCUMULI SECURITY LIMITED"),
        ("ACCUMULI SECURITYLIMITED", "ACCUMULI SECURITY LIMITED"),
        ("ACCUMULI SECURITY LIMITEDA", "ACCUMULI SECURITY LIMITED"),
        ("AEES INVEST AS", "AES INVEST AS"),
        ("AES INVSET AS", "AES INVEST AS"),
        ("AES INVESTAS", "AES INVEST AS"),
        ("Ærø HandelA/S", "Ærø Handel A/S"),
        ("RejsaAS", "Rejsa AS"),
        ("AidaA/S", "Aida A/S"),
        ("3Ø Media House AS", "3B Media House AS"),
        ("Abzi AS", "Abiz AS"),
    ],
)
def test_a_name_is_found_with_one_edit_of_any_letter_or_space(
    index: SearchIndex, asked: str, name: str
) -> None:
    filled(index, *(an_indexed_company(each, number=n) for n, each in enumerate(ONE_EDIT_AWAY)))

    hit = index.search_name(asked)

    assert hit
    assert ONE_EDIT_AWAY[int(hit.key.vat)] == name
    assert hit.score < 100 or asked == "HamaS ushi ApS"


def test_a_space_that_slipped_into_the_form_finds_the_form_behind_any_namesakes(
    index: SearchIndex,
) -> None:
    others = [an_indexed_company("Nordlys A/S", number=n, employees=9) for n in range(1, 100)]
    filled(index, *others, an_indexed_company("Nordlys ApS", number=100))

    assert found(index, "Nordly sApS") == "dk:100"


def test_a_word_is_not_read_as_a_name_and_its_form_where_a_name_has_the_word(
    index: SearchIndex,
) -> None:
    agen = an_indexed_company("Agen DA", number=1)
    filled(index, agen, an_indexed_company("Agenda Holding AS", number=2))

    assert found(index, "Agenda") == "dk:2"

    index.apply((), [CompanyKey(Country.DK, "2")])
    index.commit(b"later")

    assert found(index, "Agenda") == agen.key


@pytest.mark.parametrize("asked", ["Abi ApS", "Azib AS", "Aiad Invest"])
def test_two_edits_of_a_short_name_find_nothing(index: SearchIndex, asked: str) -> None:
    filled(index, *(an_indexed_company(each, number=n) for n, each in enumerate(ONE_EDIT_AWAY)))

    assert found(index, asked) is None


@pytest.mark.parametrize("asked", ["Holding", "Holding Group", "Bygg"])
def test_generic_words_find_only_what_is_called_so(index: SearchIndex, asked: str) -> None:
    names = [f"{word} Holding Group Bygg ApS" for word in ("Nordlys", "Aurora", "Fiskeri")]
    others = [an_indexed_company(name, number=10_000_010 + n) for n, name in enumerate(names)]
    filled(index, *others)

    nothing = found(index, asked.split()[0])
    filled(index, an_indexed_company(f"{asked} A/S", number=10_000_002))

    assert nothing is None
    assert found(index, asked) == "dk:10000002"


HOLDINGS = [
    an_indexed_company(f"{word} Holding Group ApS", number=10_000_010 + n)
    for n, word in enumerate(("Nordlys", "Aurora", "Fiskeri"))
]


@pytest.mark.parametrize("asked", ["Holding", "group", "HOLDING ApS"])
def test_a_word_that_is_too_common_to_find_one_company_is_shared(
    index: SearchIndex, asked: str
) -> None:
    filled(index, *HOLDINGS)

    assert index.search_name(asked) is None
    assert index.many_share(asked)
    assert len(index.suggest(asked, 10).hits) == 3


@pytest.mark.parametrize("asked", ["Nordlys", "Qwzxvk", "Bygg", "", "ApS"])
def test_other_words_are_not_shared(index: SearchIndex, asked: str) -> None:
    assert not filled(index, *HOLDINGS).many_share(asked)


def test_a_generic_word_of_one_name_is_not_shared(index: SearchIndex) -> None:
    company = an_indexed_company("Nordlys Holding", number=10_000_010, trade_names=("My Holding",))

    assert not filled(index, company).many_share("Holding")


@pytest.mark.parametrize(
    "asked",
    ["Qwzxvk", "Purpurabe Opvaskemaskine", "Qwzxvk Fiskeri", "asdfgh", "", "&", "ApS"],
)
def test_nonsense_is_not_found(index: SearchIndex, asked: str) -> None:
    filled(index, NORDLYS)

    assert index.search_name(asked) is None


def test_an_exact_name_scores_100_whatever_its_kind(index: SearchIndex) -> None:
    filled(index, NORDLYS)

    hits = [index.search_name(name) for name, _ in NORDLYS.names]

    assert [hit.score for hit in hits if hit] == [100.0] * 3


def test_a_fuzzy_name_scores_less(index: SearchIndex) -> None:
    hit = filled(index, NORDLYS).search_name("Nordlys Fiskeri og Handell")

    assert hit
    assert hit.score < 100


def test_an_empty_index_finds_nothing(index: SearchIndex) -> None:
    assert index.search_name("Nordlys") is None
    assert index.search_address("Storgade 5") is None


@pytest.mark.parametrize("name", ["A/S", "-", "A", "東京", "Æ"])
def test_the_shortest_names_are_found(index: SearchIndex, name: str) -> None:
    filled(index, an_indexed_company(name, number=10_000_002), NORDLYS)

    assert found(index, name) == "dk:10000002"


def test_a_name_of_the_maximum_length_is_found(index: SearchIndex) -> None:
    words = [f"selskab{letter * 5}" for letter in "abcdefghijklmno"]
    name = " ".join(words)
    filled(index, an_indexed_company(name, number=10_000_002))

    assert len(name) in range(190, 201)
    assert found(index, name) == "dk:10000002"
    assert found(index, name.replace("ccccc", "cccc")) == "dk:10000002"
    assert found(index, " ".join(reversed(words[1:]))) == "dk:10000002"


def test_the_exact_spelling_is_before_one_that_only_sounds_the_same(index: SearchIndex) -> None:
    large = an_indexed_company("Mo ApS", number=10_000_001, employees=500)
    small = an_indexed_company("Moe ApS", number=10_000_002)
    filled(index, large, small)

    assert found(index, "Moe") == small.key
    assert found(index, "Mo") == large.key
    assert found(index, "Mø") == large.key


def test_the_exact_spelling_is_found_behind_any_number_of_others(index: SearchIndex) -> None:
    others = [an_indexed_company("Mo", number=10_000_100 + n, employees=9) for n in range(300)]
    filled(index, *others, an_indexed_company("Moe", number=10_000_001))

    assert found(index, "Moe ApS") == "dk:10000001"


def test_a_current_name_is_before_a_trade_name_before_a_former_one(index: SearchIndex) -> None:
    former = an_indexed_company("Alfa", number=1, former_names=("Nordlys",), employees=900)
    trade = an_indexed_company("Beta", number=2, trade_names=("Nordlys",), employees=90)
    current = an_indexed_company("Nordlys", number=3, status=Status.ENDED)
    index.apply([former, trade, current])
    index.commit(b"1")

    answers = [found(index, "Nordlys")]
    for company in (current, trade):
        index.apply([], [company.key])
        index.commit(b"2")
        answers.append(found(index, "Nordlys"))

    assert answers == [current.key, trade.key, former.key]


@pytest.mark.parametrize("asked", ["Ali Transport", "Ali Transprt"])
def test_of_thousands_of_namesakes_the_best_ranked_answers(index: SearchIndex, asked: str) -> None:
    best = an_indexed_company(
        "Ali Transport", number=10_009_999, employees=7, founded=date(1999, 1, 1)
    )
    namesakes = [
        an_indexed_company(
            "ALI TRANSPORT AS",
            number=10_000_000 + place,
            employees=place % 8,
            founded=date(2000, 1, 1),
            status=Status.ACTIVE if place % 2 else Status.ENDED,
        )
        for place in range(3_000)
    ]
    filled(index, *namesakes[:1_500], best, *namesakes[1_500:])

    assert found(index, asked) == best.key


def test_names_that_are_equally_near_are_decided_by_rank(index: SearchIndex) -> None:
    small = an_indexed_company("Hansan Byg", number=10_000_001, employees=1)
    large = an_indexed_company("Hansin Byg", number=10_000_002, employees=5)
    filled(index, small, large)

    assert found(index, "Hansen Byg") == large.key
