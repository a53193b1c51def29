from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import register_samples
from register_samples import SHOWCASE, companies_dk, companies_no, participants, roles_no, units_dk
from register_samples.showcase import SIZE
from register_samples.templates import Variables
from tests.unit.register_samples.checks import is_cvr, is_gln, is_orgnr, is_p_number

README = Path(register_samples.__file__).parents[2] / "README.md"
EXHIBITS = [each for exhibits in SHOWCASE.values() for each in exhibits]


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda each: each["number"])
def test_the_readme_lists_numbers_and_names(exhibit: Variables) -> None:
    told = f"| {exhibit['number']} | {exhibit['name']} |"

    assert told in README.read_text()


def test_exhibits_stand_at_their_position() -> None:
    for exhibits in SHOWCASE.values():
        assert [each["index"] for each in exhibits] == list(range(SIZE))


def test_danish_numbers_are_valid() -> None:
    for each in SHOWCASE["dk"]:
        assert is_cvr(each["number"])
        assert all(is_p_number(unit["number"]) for unit in each["units"])


def test_norwegian_numbers_are_valid_and_unassigned() -> None:
    for each in SHOWCASE["no"]:
        numbers = [each["number"], *(unit["number"] for unit in each["units"])]
        assert all(is_orgnr(number) and number.startswith("3") for number in numbers)


def test_location_numbers_are_valid_and_not_those_of_drawn_companies() -> None:
    shown = {each["value"] for exhibit in EXHIBITS for each in exhibit["identifiers"]}
    drawn = {card["pid"].split(":")[-1] for card in participants(500, start=SIZE)}

    assert all(is_gln(value) for value in shown if len(value) == 13)
    assert not shown & drawn


@pytest.mark.parametrize("stream", [companies_dk, companies_no, roles_no, units_dk])
def test_the_showcase_comes_first_in_a_register_of_any_size(
    stream: Callable[[int], Iterator[dict[str, Any]]],
) -> None:
    first = list(stream(SIZE))

    assert list(stream(50))[: len(first)] == first


def test_the_first_danish_company_is_that_of_the_documentation() -> None:
    company = next(companies_dk(1))["Vrvirksomhed"]

    assert company["cvrNummer"] == 12345674
    assert company["navne"][-1]["navn"] == "Prøvefabrikken ApS"
    assert company["telefonNummer"][-1]["kontaktoplysning"] == "12345678"
    assert company["beliggenhedsadresse"][-1]["vejnavn"] == "Prøvevej"
    assert [unit["pNummer"] for unit in company["penheder"]] == [1012345670, 1012345689, 1012345697]


def test_cards_of_the_showcase_are_always_there() -> None:
    found = {card["pid"] for card in participants(SIZE)}

    assert "iso6523-actorid-upis::0088:5790000000005" in found
    assert "iso6523-actorid-upis::0192:310345679" in found
