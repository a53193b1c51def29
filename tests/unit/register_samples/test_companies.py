from collections import Counter

import pytest

from register_samples.companies import company
from register_samples.facts import AS_OF, Abroad, Address, Company, Corporate, Naming, Standing
from register_samples.owners import owners
from register_samples.registers import DENMARK, NORWAY, Register
from register_samples.showcase import SIZE
from register_samples.units import units

COUNT = 2000


@pytest.fixture(name="register", scope="module", params=[NORWAY, DENMARK], ids=["no", "dk"])
def _register(request: pytest.FixtureRequest) -> Register:
    register: Register = request.param
    return register


@pytest.fixture(name="companies", scope="module")
def _companies(register: Register) -> list[Company]:
    return [company(register, index) for index in range(COUNT)]


def test_no_two_companies_have_the_same_number(companies: list[Company]) -> None:
    assert len({each.number for each in companies}) == COUNT


def test_every_standing_is_met(companies: list[Company]) -> None:
    assert {each.state.standing for each in companies} == set(Standing)


def test_nothing_is_later_than_the_day_of_the_register(companies: list[Company]) -> None:
    for each in companies:
        assert each.founded <= each.state.since <= AS_OF


def test_some_buildings_hold_several_companies(companies: list[Company]) -> None:
    buildings = Counter(
        (at.street, at.house, at.letter, at.place)
        for each in companies
        if isinstance(at := each.address, Address)
    )

    sharing = sum(count for count in buildings.values() if count > 1)

    assert 0.1 < sharing / COUNT < 0.25


def test_there_are_care_of_names_and_addresses_abroad(companies: list[Company]) -> None:
    addresses = [each.address for each in companies]

    assert any(isinstance(at, Address) and at.co for at in addresses)
    assert any(isinstance(at, Abroad) for at in addresses)
    assert None in addresses


def test_most_sole_traders_are_named_like_their_owner(companies: list[Company]) -> None:
    traders = [each for each in companies if each.form.naming is Naming.SOLE_TRADER]

    named_alike = [
        each for each in traders if each.trader and each.trader.name.upper() in each.name.upper()
    ]

    assert 0.7 < len(named_alike) / len(traders) < 1


def test_unit_numbers_are_all_different(register: Register, companies: list[Company]) -> None:
    numbers = [unit.number for each in companies for unit in units(register, each)]

    assert len(set(numbers)) == len(numbers)


def test_units_are_closed_as_well_as_open(register: Register, companies: list[Company]) -> None:
    found = [unit for each in companies[:500] for unit in units(register, each)]

    assert {unit.ended is None for unit in found} == {True, False}


def test_owners_hold_floors_of_the_intervals_of_cvr() -> None:
    shares = {
        owner.share
        for index in range(COUNT)
        for owner in owners(DENMARK, company(DENMARK, index))
        if owner.share
    }

    assert shares <= {"0.05", "0.1", "0.15", "0.2", "0.25", "0.3333", "0.5", "0.6667", "0.9", "1.0"}


def test_a_company_that_owns_comes_before_the_one_it_owns(
    register: Register, companies: list[Company]
) -> None:
    position = {each.number: each.index for each in companies}

    for each in companies[SIZE:]:
        for owner in owners(register, each):
            if isinstance(owner.holder, Corporate):
                assert position[owner.holder.number] < each.index
