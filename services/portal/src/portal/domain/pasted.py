"""Recognition of pasted texts: the register, the meaning and the faults of one, and companies."""

import re
from collections.abc import Callable
from typing import Final

from common.domain import countries
from common.domain.numbers import (
    InvalidIdentifier,
    parse_participant,
    parse_phone_number,
    parse_registration_number,
    parse_unit_number,
    read_company,
    registration_number_checks,
)
from company_registry.models import Country

REGISTERS: Final[tuple[Country, ...]] = ("dk", "no")

_STREET_AND_HOUSE = re.compile(r"[^\W\d]{2}.*\s[0-9]")


def countries_of(text: str) -> tuple[Country, ...]:
    """Returns the registers in which the text may name a company: both for a text of neither."""
    found = tuple(each for each in REGISTERS if _is_identifier(text, countries.Country(each)))
    return found or REGISTERS


def _is_identifier(text: str, country: countries.Country) -> bool:
    parsers: tuple[Callable[[str, countries.Country], object], ...] = (
        parse_registration_number, parse_unit_number, parse_phone_number, _participant_of,
    )  # fmt: skip
    for parse in parsers:
        try:
            parse(text, country)
        except InvalidIdentifier:
            continue
        return True
    return False


def _participant_of(text: str, country: countries.Country) -> None:
    if parse_participant(text).country not in (None, country):
        raise InvalidIdentifier


def fault_of(text: str, country: Country) -> str:
    """Returns why no company can have the number that a text is; empty for another text."""
    register = countries.Country(country)
    try:
        number = parse_registration_number(text, register)
    except InvalidIdentifier:
        return ""
    if registration_number_checks(number, register):
        return ""
    return f"{text} is no valid registration number: its check digit is wrong."


def in_words(fault: str) -> str:
    """Returns a fault of the API for people, who choose a register."""
    for code, name in (("dk", "Denmark"), ("no", "Norway")):
        fault = fault.replace(f"give country={code}", f"choose {name}")
    return fault


def has_letters(text: str) -> bool:
    """True if the text may begin a name: it has two letters or digits, and one is a letter."""
    return len(re.findall(r"\w", text)) > 1 and any(map(str.isalpha, text))


def readings_of(text: str) -> tuple[str, ...]:
    """How a text is understood, as far as the text says so."""
    if _STREET_AND_HOUSE.search(text):
        return ("a name", "an address")
    is_number = any(map(str.isdecimal, text)) and not any(map(str.isalpha, text))
    return ("a number",) if is_number else ("a name",)


_BETWEEN: Final = re.compile(r"[,;\t\n\r]+")

#: Maximum words of a company: `Org.nr. NO 310 345 679 MVA`, each digit apart.
_MAX_WORDS: Final = 14


def companies_in(text: str) -> list[str]:
    """Returns the companies of a text; words that are none are left for the API to name."""
    found: list[str] = []
    for part in _BETWEEN.split(text):
        words = part.split()
        while words:
            sizes = range(min(len(words), _MAX_WORDS), 0, -1)
            count = next((size for size in sizes if _is_company(words[:size])), 1)
            found.append(" ".join(words[:count]))
            words = words[count:]
    return list(dict.fromkeys(found))


def _is_company(words: list[str]) -> bool:
    try:
        read_company(" ".join(words))
    except InvalidIdentifier:
        return False
    return True
