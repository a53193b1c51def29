"""The search for a name, an address or a contact in a built index."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest

from common.contracts.company import CompanyKey, Country, Status
from lookup.search.index import SearchIndex
from lookup.search.index.addresses import search_addresses
from lookup.search.index.candidates import search_contacts
from lookup.search.index.names import many_share, search_names
from lookup.search.index.schema import View
from lookup.search.indexed_company import AddressType, IndexedAddress, IndexedCompany, SearchHit
from tests.builders.indexed import (
    an_indexed_address,
    an_indexed_company,
    filled,
    listed,
    rebuild,
    search_address,
    search_name,
)
from tests.tables import check

Search = Callable[[str, int], list[SearchHit]]
IndexSearch = Callable[[View, str, int], list[SearchHit]]


def number(hit: SearchHit) -> str:
    return f"{int(hit.key.vat)}{'?' * hit.is_other}"


def answer(search: Search, query: str) -> str:
    """The best company, its score and the number of others, and all; `?` is a proposal."""
    hits = search(query, 1)
    if not hits:
        return "-"
    others = f"+{hits[0].others}" if hits[0].others else ""
    every = " ".join(map(number, search(query, 6)))
    return f"{number(hits[0])} {hits[0].score:.1f}{others} of {every}"


@pytest.mark.parametrize(
    "table,search",
    [
        ("index_names.txt", search_names),
        ("index_addresses.txt", search_addresses),
        ("index_contacts.txt", search_contacts),
    ],
)
def test_the_companies_of_the_tables_are_found(
    index: SearchIndex, table: str, search: IndexSearch
) -> None:
    built: list[Sequence[str]] = []

    def found(given: Sequence[str], query: str) -> str:
        if built != [given]:
            built[:] = [given]
            listed(index, given)
        view = index.view()
        shared = many_share(view, query) and search == search_names
        return answer(lambda *asked: search(view, *asked), query) + " shared" * shared

    check(Path(__file__).with_name(table), found)


def found(index: SearchIndex, name: str) -> CompanyKey | None:
    hit = search_name(index, name)
    return hit.key if hit else None


def at(*lines: str, number: int, employees: int = 0) -> IndexedCompany:
    addresses = tuple(an_indexed_address(line) for line in lines)
    return an_indexed_company(
        f"Nordlys {number}", number=number, employees=employees, addresses=addresses
    )


def counted(
    index: SearchIndex,
    query: str,
    search: IndexSearch = search_names,
    limit: int = 1,
) -> tuple[str, int]:
    first = search(index.view(), query, limit)[0]
    return first.key, first.others


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
    names = [*WRITTEN, *(f"{family} {trade} ApS" for family in FAMILIES for trade in TRADES)]
    town = an_indexed_address("Prøvevej 1, 5000 Odense C")
    rebuild(
        index,
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
    assert {hit.key for hit in search_names(index.view(), "Nuvo", 6)} == {"dk:6", "dk:7"}


def test_an_empty_index_and_empty_queries_find_nothing(index: SearchIndex) -> None:
    assert search_name(index, "Nordlys") is None
    assert search_address(index, "Storgade 5") is None
    filled(index, at("Storgade 5, 5000 Odense C", number=1))
    assert search_name(index, "") is search_address(index, "") is None
    assert not many_share(index.view(), "")


def test_a_name_of_the_maximum_length_is_found(index: SearchIndex) -> None:
    words = [f"selskab{letter * 5}" for letter in "abcdefghijklmno"]
    name = " ".join(words)
    filled(index, an_indexed_company(name, number=10_000_002))

    assert len(name) in range(190, 201)
    assert found(index, name) == "dk:10000002"
    assert found(index, name.replace("ccccc", "cccc")) == "dk:10000002"
    assert found(index, " ".join(reversed(words[1:]))) == "dk:10000002"


@pytest.mark.parametrize(
    "asked,others,name,count",
    [
        # A space slipped into the form, the spelling, and the signs as queried.
        ("Nordly sApS", "Nordlys A/S", "Nordlys ApS", 300),
        ("Moe", "Mo ApS", "Moe ApS", 300),
        ("Moller Fryseri", "Møller Fryseri ApS", "Moller Fryseri ApS", 40),
        ("C# Konsulenten", "C++ Konsulenten", "C# Konsulenten ApS", 40),
    ],
)
def test_the_name_as_it_is_written_is_found_behind_many_others(
    index: SearchIndex, asked: str, others: str, name: str, count: int
) -> None:
    namesakes = [an_indexed_company(others, number=n, employees=n) for n in range(count)]
    filled(index, *namesakes, an_indexed_company(name, number=1000))

    assert found(index, asked) == "dk:1000"


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
    filled(index, *same, an_indexed_company("Bjarne Medie Holding", number=5000))

    asked = ("Bjarne Medier", "bjarne medier a/s", "Bjarne Medir", "Bjarnemedier")

    assert [counted(index, name)[1] for name in asked] == [namesakes - 1] * len(asked)
    # Alternatives begin with them.
    scores = [hit.score for hit in search_names(index.view(), "Bjarne Medier", 6)]
    assert scores[: min(namesakes, 6)] == [100.0] * min(namesakes, 6)
    assert counted(index, "Bjarne Medier", limit=6) == (same[-1].key, namesakes - 1)


def test_companies_that_were_removed_or_sound_the_same_are_not_counted(index: SearchIndex) -> None:
    filled(index, *(an_indexed_company("Moe AS", number=n, employees=n) for n in range(1, 21)))
    filled(index, *(an_indexed_company("Mo AS", number=n, employees=n) for n in range(31, 60)))
    index.apply((), [CompanyKey(Country.DK, "1"), CompanyKey(Country.DK, "2")])
    index.commit(b"later")

    assert counted(index, "Moe") == ("dk:20", 17)
    assert counted(index, "Mø") == ("dk:59", 46)


def test_an_address_of_thousands_of_companies_finds_the_best_ranked_and_the_requested_door(
    index: SearchIndex,
) -> None:
    crowd = [
        at(f"Storgade 5, {n % 9 + 1}., 5000 Odense C", number=1_000 + n, employees=n % 50 + 1)
        for n in range(2_000)
    ]
    best = at("Storgade 5, 3., 5000 Odense C", number=9_999, employees=60)
    door = at("Storgade 5, 3. 17, 5000 Odense C", number=1)
    plain = at("Storgade 5, 5000 Odense C", number=2)
    filled(index, *crowd, best, door, plain)

    queries = {
        "Storgade 5, 3., 5000 Odense C": best.key,
        "Storgade 5, 3. 17, 5000 Odense C": door.key,
        "Storgade 5, 5000 Odense C": plain.key,
        "Storgaden 5, 3. 17, 5000 Odnse C": door.key,
    }
    assert {one: counted(index, one, search_addresses)[0] for one in queries} == queries
    assert counted(index, "Storgade 5, 2., 5000 Odense C", search_addresses)[1] == 222
    assert counted(index, "Storgade 5, 5000 Odense C", search_addresses)[1] == 0


def test_an_address_abroad_is_found_by_its_text(index: SearchIndex) -> None:
    line = "Unit 7, Harbour House, Quay Road"
    scottish = IndexedAddress(AddressType.BUSINESS, line, None, None, "Leith", None, "GB")
    filled(index, an_indexed_company(number=3, addresses=(scottish,)))

    assert search_address(index, "Harbour House, Unit 7, Quay Road, Leith, Scotland")
    assert search_address(index, "Harbour House, Dundee") is None


def test_a_company_without_a_street_is_found_by_name_alone(index: SearchIndex) -> None:
    nowhere = IndexedAddress(AddressType.BUSINESS, None, None, "5000", "Odense C")
    filled(index, an_indexed_company("Nordlys", number=1, addresses=(nowhere,)))

    assert index.size.addresses == 0
    assert search_name(index, "Nordlys")


def test_the_companies_with_the_same_contact_are_counted(index: SearchIndex) -> None:
    lines = [*["Alfa | site: alfa.example"] * 8, "Beta | email: a@b.example"]
    listed(index, lines)

    others = [counted(index, one, search_contacts)[1] for one in ("alfa.example", "a@b.example")]

    assert others == [7, 0]
