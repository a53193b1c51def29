"""The countries whose registers are served: how each writes its numbers, when days begin."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo


class Country(StrEnum):
    DK = "dk"
    NO = "no"


@dataclass(frozen=True, slots=True)
class NumberFormats:
    """The formats of a country's registration, unit and phone numbers."""

    nation: str
    vat_digits: int
    #: True if some registration numbers begin with 0, which spreadsheets drop.
    begins_with_zero: bool
    #: The weighted sum of a registration number's digits is a multiple of 11.
    vat_weights: tuple[int, ...]
    unit_digits: int
    phone_digits: int
    calling_code: str


FORMATS: Final = {
    Country.DK: NumberFormats(
        nation="Danish",
        vat_digits=8,
        begins_with_zero=True,
        vat_weights=(2, 7, 6, 5, 4, 3, 2, 1),
        unit_digits=10,
        phone_digits=8,
        calling_code="45",
    ),
    Country.NO: NumberFormats(
        nation="Norwegian",
        vat_digits=9,
        begins_with_zero=False,
        vat_weights=(3, 2, 7, 6, 5, 4, 3, 2, 1),
        unit_digits=9,
        phone_digits=8,
        calling_code="47",
    ),
}


#: Oslo's clocks are the same.
_COPENHAGEN: Final = ZoneInfo("Europe/Copenhagen")


def begin_of_day(day: date) -> datetime:
    """Returns the time at which a day begins in Denmark and Norway."""
    return datetime.combine(day, time(), _COPENHAGEN).astimezone(UTC)


def day_of(moment: datetime) -> date:
    """Returns the day in Denmark and Norway at a time."""
    return moment.astimezone(_COPENHAGEN).date()
