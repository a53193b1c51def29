"""Customers as people type them."""

import csv
from io import StringIO

from register_samples.companies import company
from register_samples.customers import write_customers
from register_samples.registers import REGISTERS

CUSTOMERS = 200
#: Positions of a register among which they are, as its documentation says.
AMONG = 150


def written() -> list[dict[str, str]]:
    text = StringIO()
    write_customers(text, CUSTOMERS)
    text.seek(0)
    return list(csv.DictReader(text))


def test_customers_are_of_both_registers_and_the_same_each_time() -> None:
    customers = written()

    assert len(customers) == CUSTOMERS
    assert {each["Country"] for each in customers} == set(REGISTERS)
    assert customers == written()


def test_most_customers_are_in_the_registers_and_many_are_misspelled() -> None:
    known = [
        {**company(register, position), "code": code}
        for code, register in REGISTERS.items()
        for position in range(AMONG)
    ]
    names = {(each["code"], each["name"]) for each in known}
    addresses = ({"code": each["code"], **(each["address"] or {})} for each in known)
    places = {(each["code"], each.get("postcode"), each.get("city")) for each in addresses}
    customers = written()
    as_registered = sum((each["Country"], each["Name"]) in names for each in customers)
    in_places = sum(
        (each["Country"], each["Postal code"], each["Town"]) in places for each in customers
    )

    assert 0.3 * CUSTOMERS < as_registered < 0.7 * CUSTOMERS
    assert 0.9 * CUSTOMERS < in_places < CUSTOMERS
