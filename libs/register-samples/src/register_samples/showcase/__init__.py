"""The first ten companies of each register: always the same, whatever the seed and the size.

They are for examples and documentation. The README of the package lists them.
"""

from register_samples.showcase.danish import DANISH_EXHIBITS
from register_samples.showcase.exhibit import Exhibit
from register_samples.showcase.norwegian import NORWEGIAN_EXHIBITS

#: Companies in the showcase of a register.
SIZE = 10

SHOWCASE: dict[str, tuple[Exhibit, ...]] = {"dk": DANISH_EXHIBITS, "no": NORWEGIAN_EXHIBITS}


def exhibit(country: str, index: int) -> Exhibit | None:
    """The exhibit at a position of a country's register; None where it is drawn instead."""
    return SHOWCASE[country][index] if index < SIZE else None
