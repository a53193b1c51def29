"""Parsing of addresses, and the score of one for another.

The graded examples are DAWA's ("datavask"): A is exact except for case and punctuation, B certain
with a small variation, C uncertain. Abolished and moved addresses are not among them, since the
registers of companies have no such data.
"""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country
from lookup.search.address_scoring import ACCEPTED_ADDRESS, address_score, match_address
from lookup.search.addresses import ParsedAddress, parsed_addresses, read_address
from lookup.search.indexed_company import AddressType, IndexedAddress
from lookup.search.streets import fold_street
from tests.builders.indexed import an_indexed_address
from tests.tables import check

EXACT = 100.0
BUSINESS = AddressType.BUSINESS


def parsed_address(address: IndexedAddress, home: Country) -> ParsedAddress:
    """The parts of an address that is not both a road and a post box."""
    [parsed] = parsed_addresses(address, home)
    return parsed


def best_score(given: Sequence[str], query: str) -> str:
    line, _, register = given[0].partition(" [")
    home, _, country = register.rstrip("]").partition(" ")
    address = an_indexed_address(line)._replace(country=country)
    scores = (
        address_score(reading, parsed)
        for reading in read_address(query)
        for parsed in parsed_addresses(address, Country(home or "dk"))
    )
    return f"{max(scores, default=0.0):.1f}"


def parts(given: Sequence[str], line: str) -> str:
    if given == ["street"]:
        return fold_street(line).words
    parsed = parsed_address(IndexedAddress(BUSINESS, street=line), Country(given[0]))
    house = parsed.house
    number = f"{house.number}{house.letter}-{house.last}" if house else ""
    return f"{parsed.street.words}|{number}|{parsed.floor}|{parsed.door}"


def test_an_address_has_the_score_of_the_table() -> None:
    check(Path(__file__).with_name("address_scores.txt"), best_score)


def test_an_address_has_the_parts_of_the_table() -> None:
    check(Path(__file__).with_name("address_parts.txt"), parts)


def test_the_care_of_name_orders_the_companies_of_a_house() -> None:
    here = IndexedAddress(BUSINESS, "Storgata 5", "Nordlys AS", "0155", "OSLO")
    other = IndexedAddress(BUSINESS, "Storgata 5", None, "0155", "OSLO")
    [query] = read_address("c/o Nordlys, Storgata 5, 0155 Oslo")

    scores = [address_score(query, parsed_address(one, Country.NO)) for one in (here, other)]

    assert scores == [EXACT, EXACT - 2]


def test_addresses_abroad_are_compared_as_text() -> None:
    abroad = IndexedAddress(BUSINESS, "Stormyrgatan 15", None, None, "SE-794 34 ORSA", None, "SE")
    parsed = parsed_address(abroad, Country.NO)

    same, other = "Stormyrgatan 15, 794 34 Orsa, Sverige", "Storgata 15"

    assert address_score(read_address(same)[0], parsed) > ACCEPTED_ADDRESS
    assert address_score(read_address(other)[0], parsed) < 50


def test_a_business_address_ranks_before_a_postal_one() -> None:
    [query] = read_address("Storgaden 5, 5000 Odensse C")
    parsed = parsed_address(an_indexed_address("Storgade 5, 5000 Odense C"), Country.DK)

    business, postal = (
        match_address(query, parsed, address_type=each, order=1) for each in AddressType
    )

    assert business > postal


def test_a_blank_query_has_no_reading() -> None:
    assert not any(map(read_address, ("", " , ")))


@given(st.text(max_size=60))
def test_any_text_can_be_queried_and_registered(text: str) -> None:
    address = parsed_address(IndexedAddress(BUSINESS, street=text, co=text, city=text), Country.DK)

    assert all(0 <= address_score(query, address) <= EXACT for query in read_address(text))
