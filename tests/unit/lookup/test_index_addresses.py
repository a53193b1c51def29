"""The search for an address in a built index."""

import pytest

from common.contracts.company import CompanyKey
from lookup.search.index import SearchIndex
from lookup.search.indexed_company import AddressType, IndexedAddress, IndexedCompany
from tests.builders.indexed import an_indexed_address, an_indexed_company, filled

ABROAD = "Unit 7, Harbour House, Quay Road"


def at(*lines: str, number: int, employees: int = 0) -> IndexedCompany:
    addresses = tuple(an_indexed_address(line) for line in lines)
    return an_indexed_company(
        f"Nordlys {number}", number=number, employees=employees, addresses=addresses
    )


def found(index: SearchIndex, address: str) -> CompanyKey | None:
    hit = index.search_address(address)
    return hit.key if hit else None


@pytest.mark.parametrize("with_postcode", [True, False])
def test_an_address_is_found_however_written(index: SearchIndex, *, with_postcode: bool) -> None:
    filled(
        index,
        at("Margrethepladsen 4, 4., 8000 Aarhus C", number=1),
        at("Margrethepladsen 14, 4., 8000 Aarhus C", number=2, employees=50),
        at("Margrethevej 4, 8000 Aarhus C", number=3, employees=50),
    )
    spellings = ["Margrethepladsen 4, Aarhus C", "Margreteplassen 4, Aarhus C"]
    spellings += [
        "Margrethepladsen 4, Arhus",
        "Margrethepladsen 4, Aarhuus C",
        "Margrethepladsen 4",
    ]
    if with_postcode:
        filled(index, at("Margrethepladsen 4, 9000 Aalborg", number=4))
        spellings = ["Margrethepladsen 4, 4. 8000 Aarhus C", "Margreteplassen 4, 4. 8000 Aarhus C"]
        spellings += ["Margrethepladsen 4, 8000 Århus C", "Margretheplads 04, 8000"]
        spellings += ["Magrethe pladsen 4 8000 århus c"]

    assert [found(index, spelling) for spelling in spellings] == ["dk:1"] * len(spellings)


@pytest.mark.parametrize(
    "asked",
    [
        "Storgade 6, 5000 Odense C", "Storgade 5, 9000 Aalborg", "Lillegade 5, 5000 Odense C",
        "Storvej 5, 5000 Odense C", "Qwzxvk 5, 5000 Odense C", "5000 Odense C", "Odense", "5", "",
    ],
)  # fmt: skip
def test_an_address_without_companies_finds_none(index: SearchIndex, asked: str) -> None:
    filled(index, at("Storgade 5, 5000 Odense C", number=1))

    assert index.search_address(asked) is None


def test_the_nearer_of_two_streets_answers(index: SearchIndex) -> None:
    far = at("Mosede Engvej 6, 2670 Greve", number=2, employees=50)
    filled(index, at("Mosede Kærvej 6, 2670 Greve", number=1), far)

    hit = index.search_address("Mosede Kægvej 6, 2670 Greve")

    assert hit
    assert (hit.key, hit.score < 100) == ("dk:1", True)


def test_floor_and_door_choose_among_the_companies_of_a_house(index: SearchIndex) -> None:
    filled(
        index,
        at("Storgade 5, 5000 Odense C", number=1),
        at("Storgade 5, 2. tv, 5000 Odense C", number=2),
        at("Storgade 5, 2. th, 5000 Odense C", number=3, employees=50),
    )

    assert found(index, "Storgade 5, 5000 Odense C") == "dk:1"
    assert found(index, "Storgade 5, 2. sal tv, 5000 Odense C") == "dk:2"
    assert found(index, "Storgade 5, 2. mf, 5000 Odense C") == "dk:3"


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

    assert found(index, "Storgade 5, 3., 5000 Odense C") == best.key
    assert found(index, "Storgade 5, 3. 17, 5000 Odense C") == door.key
    assert found(index, "Storgade 5, 5000 Odense C") == plain.key
    assert found(index, "Storgaden 5, 3. 17, 5000 Odnse C") == door.key


def test_without_a_town_the_best_ranked_of_all_towns_answers(index: SearchIndex) -> None:
    filled(
        index,
        at("Storgade 5, 5000 Odense C", number=1, employees=5),
        at("Storgade 5, 9000 Aalborg", number=2, employees=9),
        at("Storgade 6, 9000 Aalborg", number=3, employees=99),
    )

    assert found(index, "Storgade 5") == "dk:2"


def test_a_business_address_is_before_a_postal_one(index: SearchIndex) -> None:
    post = an_indexed_address("Storgade 5, 5000 Odense C", kind=AddressType.POSTAL)
    letters = an_indexed_company(number=1, addresses=(post,), employees=90)
    filled(index, letters, at("Storgade 5, 5000 Odense C", number=2))

    assert found(index, "Storgade 5, 5000 Odense C") == "dk:2"


def test_a_place_without_house_numbers_and_an_address_abroad_are_found(index: SearchIndex) -> None:
    scottish = IndexedAddress(AddressType.BUSINESS, ABROAD, None, None, "Leith", None, "GB")
    abroad = an_indexed_company(number=3, addresses=(scottish,))
    filled(index, at("Alnes, 6055 Godøya", number=1), at("Alnes 7, 6055 Godøya", number=2), abroad)

    assert found(index, "Alnes, 6055 Godøya") == "dk:1"
    assert found(index, "Harbour House, Unit 7, Quay Road, Leith, Scotland") == "dk:3"
    assert found(index, "Harbour House, Dundee") is None


@pytest.mark.parametrize(
    "asked",
    [
        "Postboks 39", "Torvet 4", "PO Box 39", "Frederik 7. gade 2",
        "Hans Christian Prøvesens Vej 3",
    ],
)  # fmt: skip
def test_each_spelling_leads_to_the_documents_of_its_street(index: SearchIndex, asked: str) -> None:
    streets = ("Torvet 4, Postboks 39", "Frederik VII's Gade 2", "H C Prøvesens Vej 3")
    here = (f"{street}, 3700 Rønne" for street in streets)
    there = (f"{street}, 3700 Rønne" for street in ("Torvet 5", "Torvet 39"))
    filled(index, at(*here, number=1), at(*there, number=2, employees=50))

    assert found(index, f"{asked}, 3700 Rønne") == "dk:1"


def test_the_companies_of_a_house_are_ranked_each_once(index: SearchIndex) -> None:
    line = "Margrethepladsen 4, 8000 Aarhus C"
    twice = (an_indexed_address(line), an_indexed_address(line, kind=AddressType.POSTAL))
    filled(
        index,
        at(line, number=1, employees=5),
        an_indexed_company("Sydlys", number=2, employees=50, addresses=twice),
        at("Margrethepladsen 4, 1. th, 8000 Aarhus C", number=3),
        at("Margrethepladsen 6, 8000 Aarhus C", number=4),
    )

    hits = index.search_addresses(line, 6)

    assert [hit.key for hit in hits] == ["dk:2", "dk:1", "dk:3"]
    assert index.search_addresses(line, 1) == hits[:1]


def test_a_company_without_a_street_is_found_by_name_alone(index: SearchIndex) -> None:
    nowhere = IndexedAddress(AddressType.BUSINESS, None, None, "5000", "Odense C")
    filled(index, an_indexed_company("Nordlys", number=1, addresses=(nowhere,)))

    assert index.size.addresses == 0
    assert index.search_name("Nordlys")


def counted(index: SearchIndex, address: str, limit: int = 1) -> tuple[CompanyKey, int]:
    first = index.search_addresses(address, limit)[0]
    return first.key, first.others


def test_the_companies_at_the_same_address_are_counted(index: SearchIndex) -> None:
    filled(
        index,
        at("Storgade 5, 5000 Odense C", number=1, employees=9),
        at("Storgade 5, 5000 Odense C", number=2),
        at("Storgade 5, 2., 5000 Odense C", number=3),
        at("Storgade 7, 5000 Odense C", number=4),
    )

    assert counted(index, "Storgade 5, 5000 Odense C") == ("dk:1", 1)
    assert counted(index, "Storgade 5, 5000 Odense C", 6) == ("dk:1", 1)
    assert counted(index, "Storgade 5, 2., 5000 Odense C") == ("dk:3", 0)
    assert counted(index, "Stogrrade 7, 5000 Odense C") == ("dk:4", 0)


def test_the_companies_of_a_crowded_house_are_counted_by_their_floor(index: SearchIndex) -> None:
    on_floors = [
        at(f"Storgade 5, {1 + n % 2}., 5000 Odense C", number=n, employees=n) for n in range(1, 401)
    ]
    filled(index, *on_floors, at("Storgade 5, 5000 Odense C", number=500))

    assert counted(index, "Storgade 5, 2., 5000 Odense C") == ("dk:399", 199)
    assert counted(index, "Storgade 5, 5000 Odense C") == ("dk:500", 0)
