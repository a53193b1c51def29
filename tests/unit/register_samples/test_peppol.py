from typing import Any

import pytest

from register_samples import companies_dk, companies_no, participants, units_dk

COUNT = 800


@pytest.fixture(name="cards", scope="module")
def _cards() -> list[dict[str, Any]]:
    return list(participants(COUNT))


def _values(cards: list[dict[str, Any]], scheme: str) -> list[str]:
    prefix = f"iso6523-actorid-upis::{scheme}:"
    return [each["pid"].removeprefix(prefix) for each in cards if each["pid"].startswith(prefix)]


def test_no_participant_has_two_cards(cards: list[dict[str, Any]]) -> None:
    assert len({each["pid"] for each in cards}) == len(cards)


def test_norwegian_identifiers_are_numbers_of_the_register(cards: list[dict[str, Any]]) -> None:
    numbers = {each["organisasjonsnummer"] for each in companies_no(COUNT)}

    assert set(_values(cards, "0192")) <= numbers


def test_danish_identifiers_come_with_and_without_letters(cards: list[dict[str, Any]]) -> None:
    numbers = {f"{each['Vrvirksomhed']['cvrNummer']:08}" for each in companies_dk(COUNT)}
    values = _values(cards, "0184")

    assert {value.removeprefix("DK") for value in values} <= numbers
    assert {value.startswith("DK") for value in values} == {True, False}


def test_unit_identifiers_are_numbers_of_units(cards: list[dict[str, Any]]) -> None:
    numbers = {str(each["VrproduktionsEnhed"]["pNummer"]) for each in units_dk(COUNT)}
    values = _values(cards, "0096")

    assert len(values) > 5
    assert set(values) <= numbers
