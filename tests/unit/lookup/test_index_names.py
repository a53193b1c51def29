"""The search for a name in a built index, against the rules and against a scan of every name."""

from datetime import date

import pytest

from common.contracts.company import CompanyKey, Country, Status
from lookup.search.index import SearchIndex
from tests.builders.indexed import an_indexed_address, an_indexed_company, filled


def found(index: SearchIndex, name: str) -> CompanyKey | None:
    hit = index.search_name(name)
    return hit.key if hit else None


NORDLYS = an_indexed_company(
    "Nordlys Fiskeri og Handel ApS",
    number=10_000_001,
    trade_names=("Lyset i Nord",),
    former_names=("Aurora Trading A/S",),
)

FAMILIES = ("Ager", "Birk", "Dahl", "Eng", "Falk", "Gran", "Holm", "Krog", "Lund", "Mose", "Skov")
TRADES = ("Holding", "Invest", "Byg", "Transport", "Handel", "Danmark", "Nordic", "Group")
#: Each name, and what people write for it.
WRITTEN = {
    "KQMG Statsautoriseret Revisionspartnerselskab P/S": ["KQMG", "kqmg odense"],
    "IBX Danmark ApS": ["IBX", "IBX Denmark"],
    "Vastes Wind Systems A/S": ["Vastes", "Vaste Wind"],
    "Vastes Northern & Central Europe A/S": [],
    "Kvoop Danmark A/S": ["Kvoop", "Kvoop 5000 Odense"],
    "Arnst & Yonge Godkendt Revisionspartnerselskab": ["Arnst & Yonge", "Arnst and Yonge P/S"],
    "Nuvo Nordisk A/S": ["Nuvo Nordsik"],
    "Nuvo Holdings A/S": [],
    "McKvinsey & Company Denmark, filial af McKvinsey & Company Inc., USA": ["McKvinsey & Co"],
    "Det Kongelige Prøveteater": ["Det Kgl. Prøveteater"],
    "Danmarks Prøvende Universitet (DPU)": ["DPU"],
    "A.P. Mørkel Invest A/S": ["AP Mørkel", "A P Moerkel Invest"],
    "TopPrøven Forsikring A/S": ["Top Prøven"],
    "Solens Café v/ Anna Prøve": ["Solens Cafe"],
    "Andelsboligforeningen Solprøven": ["A/B Solprøven"],
}


def test_names_as_people_write_them_find_their_companies_among_similar_ones(
    index: SearchIndex,
) -> None:
    others = [f"{family} {trade} ApS" for family in FAMILIES for trade in TRADES]
    names = [*WRITTEN, *others]
    town = an_indexed_address("Prøvevej 1, 5000 Odense C")
    index.rebuild(
        (
            an_indexed_company(name, number=number, addresses=(town,), employees=number)
            for number, name in enumerate(names)
        ),
        b"here",
    )

    answers = {asked: found(index, asked) for written in WRITTEN.values() for asked in written}

    expected = {asked: name for name, written in WRITTEN.items() for asked in written}
    assert answers == {asked: f"dk:{names.index(name)}" for asked, name in expected.items()}
    # Two companies begin with this one: one of them is found, and both are listed.
    assert {hit.key for hit in index.search_names("Nuvo", 6)} == {"dk:6", "dk:7"}


@pytest.mark.parametrize(
    "asked",
    [
        "Nordlys Fiskeri og Handel ApS", "NORDLYS FISKERI OG HANDEL", "nordlys fiskeri & handel",
        "Nordlys Fiskeri og Hande", "Nordlsy Fiskeri og Handle", "Handel og Fiskeri Nordlys",
        "Nordlys Handel", "Nordlys Fiskeri og Handel Danmark", "Lyset i Nord", "Aurora Trading",
    ],
)  # fmt: skip
def test_a_company_is_found_by_each_of_its_names_however_written(
    index: SearchIndex, asked: str
) -> None:
    assert found(filled(index, NORDLYS), asked) == NORDLYS.key


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


#: Each name, and texts that are one edit of any letter or space away from it.
ONE_EDIT_AWAY = {
    "Hama Sushi ApS": ["Hama Sush iApS", "Hama SushiApS", "Hama Sushi A pS", "Hama Sushi AsP"],
    "BIOMAR A/S": ["BIOMA RA/S", "BIOMARA/S", "BIOMARØA/S", "BIOMAR A/SD", "BIOMAR /S"],
    "Exerp ApS": ["ExerpApS"],
    "ACCUMULI SECURITY LIMITED": [
        "ACCUMULI SECURITY LIMTED", "ACCUMULI SECURITY LMIITED", "ACCUMULI SECURITYLIMITED",
        "ACCUMULI SECURITY LIMITEDA",
    ],
    "AES INVEST AS": ["AEES INVEST AS", "AES INVSET AS", "AES INVESTAS"],
    "Nordlys Invest AS": [],
    "Nordlys Security Limited": [],
    "Sushi Nord ApS": [],
    "Ærø Handel A/S": ["Ærø HandelA/S"],
    "Rejsa AS": ["RejsaAS"],
    "3B Media House AS": ["3B Mædia House AS"],
    "Aida A/S": ["AidaA/S"],
    "Abiz AS": ["Abzi AS"],
}  # fmt: skip


def test_a_name_is_found_with_one_edit_of_any_letter_or_space_and_not_with_two(
    index: SearchIndex,
) -> None:
    filled(index, *(an_indexed_company(name, number=n) for n, name in enumerate(ONE_EDIT_AWAY)))

    for number, texts in enumerate(ONE_EDIT_AWAY.values()):
        hits = [index.search_name(text) for text in texts]
        assert [hit and (hit.key, hit.score < 100) for hit in hits] == [
            (f"dk:{number}", True)
        ] * len(texts)
    assert found(index, "HamaS ushi ApS") == "dk:0"
    assert [found(index, text) for text in ("Abi ApS", "Azib AS", "Aiad Invest")] == [None] * 3


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

    with_the_word = found(index, "Agenda")
    index.apply((), [CompanyKey(Country.DK, "2")])
    index.commit(b"later")

    assert (with_the_word, found(index, "Agenda")) == ("dk:2", agen.key)


HOLDINGS = [
    an_indexed_company(f"{word} Holding Group Bygg ApS", number=10_000_010 + n)
    for n, word in enumerate(("Nordlys", "Aurora", "Fiskeri"))
]


@pytest.mark.parametrize("asked", ["Holding", "group", "HOLDING ApS", "Bygg"])
def test_generic_words_find_only_companies_of_that_name_and_count_as_shared(
    index: SearchIndex, asked: str
) -> None:
    filled(index, *HOLDINGS)

    assert found(index, asked) is None
    assert index.many_share(asked)
    assert len(index.suggest(asked, 10).hits) == 3

    filled(index, an_indexed_company(f"{asked} A/S", number=10_000_002))

    assert found(index, asked) == "dk:10000002"


def test_other_words_are_not_shared(index: SearchIndex) -> None:
    one = an_indexed_company("Nordlys Kontor", number=10_000_020, trade_names=("Mit Kontor",))
    filled(index, *HOLDINGS, one)

    assert not any(map(index.many_share, ("Nordlys", "Qwzxvk", "Kontor", "", "ApS")))


@pytest.mark.parametrize(
    "asked",
    ["Qwzxvk", "Purpurabe Opvaskemaskine", "Qwzxvk Fiskeri", "asdfgh", "", "&", "ApS"],
)
def test_nonsense_is_not_found(index: SearchIndex, asked: str) -> None:
    assert filled(index, NORDLYS).search_name(asked) is None


def test_an_exact_name_scores_100_whatever_its_kind_and_a_fuzzy_one_less(
    index: SearchIndex,
) -> None:
    filled(index, NORDLYS)

    hits = [index.search_name(name) for name, _ in NORDLYS.names]
    fuzzy = index.search_name("Nordlys Fiskeri og Handell")

    assert [hit.score for hit in hits if hit] == [100.0] * 3
    assert fuzzy
    assert fuzzy.score < 100


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


def test_the_exact_spelling_is_before_any_number_of_others_that_only_sound_the_same(
    index: SearchIndex,
) -> None:
    others = [an_indexed_company("Mo ApS", number=10_000_100 + n, employees=n) for n in range(300)]
    filled(index, *others, an_indexed_company("Moe ApS", number=10_000_001))

    assert found(index, "Moe") == found(index, "Moe ApS") == "dk:10000001"
    assert found(index, "Mo") == found(index, "Mø") == "dk:10000399"


def test_a_current_name_is_before_a_trade_name_before_a_former_one(index: SearchIndex) -> None:
    former = an_indexed_company("Alfa", number=1, former_names=("Nordlys",), employees=900)
    trade = an_indexed_company("Beta", number=2, trade_names=("Nordlys",), employees=90)
    current = an_indexed_company("Nordlys", number=3, status=Status.ENDED)
    filled(index, former, trade, current)

    answers = [found(index, "Nordlys")]
    for company in (current, trade):
        index.apply([], [company.key])
        index.commit(b"later")
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


def counted(index: SearchIndex, name: str, limit: int = 1) -> tuple[str, int] | None:
    first = next((hit for hit in index.search_names(name, limit) if not hit.is_other), None)
    return first and (first.key, first.others)


@pytest.mark.parametrize("namesakes", [1, 2, 8, 9, 300])
def test_the_companies_with_the_same_name_are_counted_however_many_there_are(
    index: SearchIndex, namesakes: int
) -> None:
    same = [
        an_indexed_company(
            "Bjarne Medier ApS" if n % 3 else "Bjarne Medier A/S",
            number=n,
            employees=n,
            # A company with the name twice counts once.
            trade_names=("BJARNE-MEDIER",),
        )
        for n in range(1, namesakes + 1)
    ]
    other = an_indexed_company("Bjarne Medie Holding", number=5000)
    filled(index, *same, other)

    asked = ("Bjarne Medier", "bjarne medier a/s", "Bjarne Medir", "Bjarnemedier")
    counts = [counted(index, name) for name in asked]

    assert [found and found[1] for found in counts] == [namesakes - 1] * len(asked)
    # Alternatives begin with them.
    listed = index.search_names("Bjarne Medier", 6)
    assert [hit.score for hit in listed][: min(namesakes, 6)] == [100.0] * min(namesakes, 6)
    assert counted(index, "Bjarne Medier", 6) == (same[-1].key, namesakes - 1)


def test_companies_that_were_removed_or_sound_the_same_are_not_counted(index: SearchIndex) -> None:
    filled(index, *(an_indexed_company("Moe AS", number=n, employees=n) for n in range(1, 21)))
    filled(index, *(an_indexed_company("Mo AS", number=n, employees=n) for n in range(31, 60)))
    index.apply((), [CompanyKey(Country.DK, "1"), CompanyKey(Country.DK, "2")])
    index.commit(b"later")

    assert counted(index, "Moe") == ("dk:20", 17)
    assert counted(index, "Mø") == ("dk:59", 46)


def test_similar_names_that_are_as_near_are_counted(index: SearchIndex) -> None:
    names = ("Hansan Byg", "Hansin Byg", "Hansin Byg", "Hansyn Byg Holding")
    filled(index, *(an_indexed_company(name, number=n) for n, name in enumerate(names, 1)))

    assert counted(index, "Hansen Byg") == ("dk:1", 2)
    assert counted(index, "Hansyn Byg Holding") == ("dk:4", 0)


#: Registered names, and others that differ in a figure.
OTHER_FIGURES = {
    "Team 7 ApS": ["Team 8", "TEAM 8 ApS", "Team8", "Team 77", "Team 7B"],
    "Fællesvirke 2000": ["Fællesvirke 2002", "Faellesvirke 2001"],
    "1. maj Foreningen": ["2. maj Foreningen", "11. maj Foreningen"],
    "Brunsø IV": ["Brunsø V", "Brunsø III ApS", "Brunsø VI"],
    "III A/S": ["IIII", "IIII A/S"],
    "Skovhuset 12A": ["Skovhuset 12B", "Skovhuset 14A"],
    "Kilden Ejendomme A": ["Kilden Ejendomme B", "Kilden Ejendomme C ApS"],
}


def test_another_figure_is_proposed_and_not_found(index: SearchIndex) -> None:
    registered = enumerate(OTHER_FIGURES, 1)
    filled(index, *(an_indexed_company(name, number=n) for n, name in registered))

    for number, (name, others) in enumerate(OTHER_FIGURES.items(), 1):
        assert found(index, name) == f"dk:{number}"
        for other in others:
            hits = index.search_names(other, 1)
            assert [(hit.key, hit.is_other) for hit in hits] == [(f"dk:{number}", True)], other
            assert found(index, other) is None
            assert f"dk:{number}" in [hit.key for hit in index.suggest(other, 5).hits], other


def test_names_with_other_figures_follow_the_alternatives(index: SearchIndex) -> None:
    names = ("Team 7 ApS", "Team 8 ApS", "Team 7 Holding")
    filled(index, *(an_indexed_company(name, number=n) for n, name in enumerate(names, 1)))

    listed = [(hit.key, hit.is_other) for hit in index.search_names("Team 7", 6)]

    assert listed == [("dk:1", False), ("dk:3", False), ("dk:2", True)]
    scores = [hit.score for hit in index.search_names("Team 7", 6)]
    assert scores == sorted(scores, reverse=True)
    assert scores[2] < scores[1]


@pytest.mark.parametrize("asked", ["Moller Fryseri", "C# Konsulenten"])
def test_the_name_as_it_is_asked_is_found_behind_any_number_of_equal_ones(
    index: SearchIndex, asked: str
) -> None:
    other = {"Moller Fryseri": "Møller Fryseri ApS", "C# Konsulenten": "C++ Konsulenten"}[asked]
    filled(
        index,
        *(an_indexed_company(other, number=n, employees=9) for n in range(1, 40)),
        an_indexed_company(f"{asked} ApS", number=77),
    )

    assert counted(index, asked) == ("dk:77", 39)


def test_initials_keep_the_letters_of_a_form(index: SearchIndex) -> None:
    names = ("TIS AS", "BIKS AS", "MBAS", "D/S Orionhav", "T Byg")
    filled(index, *(an_indexed_company(name, number=n) for n, name in enumerate(names, 1)))

    asked = ("T.I.S.", "B.I.K.S.", "M.B.A.S.", "D.S.B.V.", "T. I. S.")

    assert [found(index, name) for name in asked] == ["dk:1", "dk:2", "dk:3", None, "dk:1"]


def test_abbreviations_of_addresses_are_abbreviations_of_names(index: SearchIndex) -> None:
    names = {
        "Nørre Snede Kro": "Nr. Snede Kro",
        "Sdr. Felding Smedje": "Sønder Felding Smedje",
        "Gammel Skagen Kaffe": "Gl Skagen Kaffe",
        "St. Hans Bageri": "Skt. Hans Bageri",
        "Nordlyset Idrettslag": "Nordlyset IL",
        "Fjellvik vgs": "Fjellvik videregående skole",
        "Kbh. Lakridsfabrik": "Københavns Lakridsfabrik",
    }
    filled(index, *(an_indexed_company(name, number=n) for n, name in enumerate(names, 1)))

    assert [found(index, name) for name in names.values()] == [
        f"dk:{n}" for n in range(1, len(names) + 1)
    ]
