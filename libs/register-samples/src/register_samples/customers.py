"""A list of customers as people type it: companies of the sample registers, with errors."""

import csv
from collections.abc import Iterator
from itertools import count, islice
from typing import TextIO

from register_samples.chance import Draw, Topic, urn
from register_samples.companies import company
from register_samples.registers import REGISTERS, Register, Variables
from register_samples.showcase import SIZE

_HEADER = ("Name", "Address", "Postal code", "Town", "Country")
_LETTERS = "abdefghiklmnoprstuvy"
#: Errors in names, and how often each occurs.
_SLIPS = urn([("none", 8), ("typo", 6), ("lower", 3), ("form", 3)])
#: The share of customers that are in no register: companies beyond the last one of the samples.
_UNKNOWN = 0.05
_BEYOND = 800_000


def write_customers(out: TextIO, customers: int) -> None:
    """Writes a CSV file of this many different customers, of both countries in turn."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_HEADER)
    rows.writerows(islice(_customers(), customers))


def _customers() -> Iterator[tuple[str, ...]]:
    for position in count(SIZE):
        for register in REGISTERS.values():
            draw = Draw(register.ordinal, Topic.CUSTOMER, position)
            known = company(register, position + (_BEYOND if draw.happens(_UNKNOWN) else 0))
            if not known["ended"] and "postcode" in (known["address"] or {}):
                yield _typed(draw, known, register)


def _typed(draw: Draw, known: Variables, register: Register) -> tuple[str, ...]:
    """Returns a company as a customer list has it."""
    address, name, suffix = known["address"], known["name"], known["form"]["suffix"]
    match draw.pick(_SLIPS):
        case "typo":
            letters = [place for place, each in enumerate(name) if place and each.isalpha()]
            place, letter = draw.pick(letters), draw.pick(_LETTERS)
            name = name[:place] + (letter.upper() if name.isupper() else letter) + name[place + 1 :]
        case "lower":
            name = name.lower()
        case "form":
            name = name.removesuffix(suffix).rstrip()
        case _:
            pass
    street = f"{address['street']} {address['house']}" if draw.happens(0.5) else ""
    return name, street, address["postcode"], address["city"], register.code
