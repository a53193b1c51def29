"""Invented equivalents of names that searches did not find, each among similar names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.contracts.company import Country
from lookup.search.index import SearchIndex
from lookup.search.indexed import AddressKind, IndexedAddress
from tests.builders.indexed import an_indexed_company

TRADES = ("Holding", "Invest", "Byg", "Transport", "Handel", "Danmark", "Nordic", "Group")
FAMILIES = ("Ager", "Birk", "Dahl", "Eng", "Falk", "Gran", "Holm", "Krog", "Lund", "Mose", "Skov")
NAMES = (
    "KQMG Statsautoriseret Revisionspartnerselskab P/S",
    "IBX Danmark ApS",
    "Vastes Wind Systems A/S",
    "Vastes Northern & Central Europe A/S",
    "Kvoop Danmark A/S",
    "Arnst & Yonge Godkendt Revisionspartnerselskab",
    "Nuvo Nordisk A/S",
    "Nuvo Holdings A/S",
    "McKvinsey & Company Denmark, filial af McKvinsey & Company Inc., USA",
    "Det Kongelige Prøveteater",
    "Danmarks Prøvende Universitet (DPU)",
    "A.P. Mørkel Invest A/S",
    "TopPrøven Forsikring A/S",
    "Solens Café v/ Anna Prøve",
    "Andelsboligforeningen Solprøven",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    folder: Path = tmp_path_factory.mktemp("index")
    index = SearchIndex.open(folder, Country.DK)
    others = [f"{family} {trade} ApS" for family in FAMILIES for trade in TRADES]
    town = IndexedAddress(AddressKind.BUSINESS, "Prøvevej 1", None, "5000", "Odense C")
    companies = [
        an_indexed_company(name, number=number, addresses=(town,), employees=number)
        for number, name in enumerate((*NAMES, *others))
    ]
    index.rebuild(companies, b"here")
    yield index
    index.close()


@pytest.mark.parametrize(
    "asked,name",
    [
        ("KQMG", NAMES[0]),
        ("kqmg odense", NAMES[0]),
        ("IBX", NAMES[1]),
        ("IBX Denmark", NAMES[1]),
        ("Vastes", NAMES[2]),
        ("Vaste Wind", NAMES[2]),
        ("Kvoop", NAMES[4]),
        ("Kvoop 5000 Odense", NAMES[4]),
        ("Arnst & Yonge", NAMES[5]),
        ("Arnst and Yonge P/S", NAMES[5]),
        ("Nuvo Nordsik", NAMES[6]),
        ("McKvinsey & Co", NAMES[8]),
        ("Det Kgl. Prøveteater", NAMES[9]),
        ("DPU", NAMES[10]),
        ("AP Mørkel", NAMES[11]),
        ("A P Moerkel Invest", NAMES[11]),
        ("Top Prøven", NAMES[12]),
        ("Solens Cafe", NAMES[13]),
        ("A/B Solprøven", NAMES[14]),
    ],
)
def test_a_name_as_people_write_it_finds_its_company(
    index: SearchIndex, asked: str, name: str
) -> None:
    hit = index.search_name(asked)

    assert hit
    assert hit.key == f"dk:{NAMES.index(name)}"


def test_a_name_that_two_companies_begin_with_finds_one_of_them_and_lists_both(
    index: SearchIndex,
) -> None:
    hits = index.search_names("Nuvo", 6)

    assert {hit.key for hit in hits} == {"dk:6", "dk:7"}
