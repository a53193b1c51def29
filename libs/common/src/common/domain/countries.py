"""The countries whose registers are served, and how each writes its numbers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Country(StrEnum):
    DK = "dk"
    NO = "no"


@dataclass(frozen=True, slots=True)
class NumberFormats:
    """The formats of a country's registration, unit and phone numbers."""

    nation: str
    #: Letters that may precede a registration or unit number.
    letters: str
    #: Letters that may follow a registration number; empty where there are none.
    suffix: str
    vat_digits: int
    #: The weighted sum of a registration number's digits is a multiple of 11.
    vat_weights: tuple[int, ...]
    unit_digits: int
    phone_digits: int
    calling_code: str


FORMATS: Final = {
    Country.DK: NumberFormats(
        nation="Danish",
        letters="DK",
        suffix="",
        vat_digits=8,
        vat_weights=(2, 7, 6, 5, 4, 3, 2, 1),
        unit_digits=10,
        phone_digits=8,
        calling_code="45",
    ),
    Country.NO: NumberFormats(
        nation="Norwegian",
        letters="NO",
        suffix="MVA",
        vat_digits=9,
        vat_weights=(3, 2, 7, 6, 5, 4, 3, 2, 1),
        unit_digits=9,
        phone_digits=8,
        calling_code="47",
    ),
}
