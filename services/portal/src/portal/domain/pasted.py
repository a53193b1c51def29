"""Recognition of a pasted text: its register, how it may be understood, and its faults."""

import re
from collections.abc import Callable
from typing import Final

from common.domain import countries
from common.domain.numbers import (
    InvalidIdentifier,
    parse_phone_number,
    parse_registration_number,
    parse_unit_number,
    registration_number_checks,
)
from common.domain.participants import parse_participant
from company_registry.models import Country

_REGISTERS: Final[tuple[Country, ...]] = ("dk", "no")

_STREET_AND_HOUSE = re.compile(r"[^\W\d]{2}.*\s[0-9]")


def countries_of(text: str) -> tuple[Country, ...]:
    """Returns the registers in which the text may name a company: both for a text of neither."""
    found = tuple(each for each in _REGISTERS if _is_identifier(text, countries.Country(each)))
    return found or _REGISTERS


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
