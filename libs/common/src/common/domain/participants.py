"""E-invoicing participants: `<scheme>:<value>`, the scheme an ISO 6523 code of Peppol's list."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from common.domain.countries import Country
from common.domain.numbers import (
    GLN_DIGITS,
    CompanyKey,
    InvalidIdentifier,
    UnitKey,
    parse_gln_number,
)
from common.domain.written import plain, read_number

GLN_SCHEME: Final = "0088"


@dataclass(frozen=True, slots=True)
class Scheme:
    """A scheme whose values have a known form."""

    #: None for a scheme that is used in every country.
    country: Country | None
    digits: int
    #: The holder of the number; `none` where the number identifies neither.
    holder: Literal["company", "unit", "none"]


#: The schemes from 9900 on are retired, but still listed by some.
SCHEMES: Final = {
    GLN_SCHEME: Scheme(None, GLN_DIGITS, "none"),
    "0096": Scheme(Country.DK, 10, "unit"),  # P-number
    "0184": Scheme(Country.DK, 8, "company"),  # CVR number
    "0192": Scheme(Country.NO, 9, "company"),  # organisation number
    "0198": Scheme(Country.DK, 8, "none"),  # SE number
    "9902": Scheme(Country.DK, 8, "company"),  # CVR number
    "9904": Scheme(Country.DK, 8, "none"),  # SE number
    "9908": Scheme(Country.NO, 9, "company"),  # organisation number
}

#: Danish personal numbers, present and retired: neither stored nor looked up.
PERSONAL_SCHEMES: Final = frozenset({"0237", "9901"})

#: Characters of a value without its scheme (Peppol's Policy for use of Identifiers 4.4).
MAX_VALUE_LENGTH: Final = 130

_PARTICIPANT = re.compile(r"(?:iso6523-actorid-upis::)?([0-9]{4}):\s*(\S.*)", re.IGNORECASE)
_VISIBLE_ASCII = re.compile(rf"[!-~]{{1,{MAX_VALUE_LENGTH}}}")


class PersonalIdentifier(InvalidIdentifier):
    """The identifier is a personal number; the message does not repeat it."""


@dataclass(frozen=True, slots=True)
class Participant:
    """An e-invoicing identifier in one spelling: `0184` and `25052943`, not `DK25052943`."""

    scheme: str
    value: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.value}"

    @property
    def country(self) -> Country | None:
        """The country whose register the scheme belongs to."""
        scheme = SCHEMES.get(self.scheme)
        return None if scheme is None else scheme.country

    @property
    def holder(self) -> CompanyKey | UnitKey | None:
        """The company or unit whose number the identifier contains."""
        scheme = SCHEMES.get(self.scheme)
        if scheme is None or scheme.country is None or scheme.holder == "none":
            return None
        if scheme.holder == "unit":
            return UnitKey(scheme.country, self.value)
        return CompanyKey(scheme.country, self.value)


def parse_participant(text: str) -> Participant:
    """Returns the participant of `0184:DK25052943`, `0192: NO 310 345 679 MVA` and the like.

    Raises InvalidIdentifier; the message never repeats the value.
    """
    match = _PARTICIPANT.fullmatch(plain(text))
    if match is None:
        raise InvalidIdentifier("an identifier is <scheme>:<value>, such as 0184:12345674")
    code, value = match[1], match[2]
    if code in PERSONAL_SCHEMES:
        raise PersonalIdentifier(f"scheme {code} holds personal numbers, which are never stored")
    scheme = SCHEMES.get(code)
    return Participant(code, _free_value(value) if scheme is None else _digits(code, scheme, value))


def read_participant(text: str) -> Participant:
    """Returns the participant of a text with its scheme, or of a bare GLN.

    Raises InvalidIdentifier.
    """
    return parse_participant(text) if _PARTICIPANT.fullmatch(plain(text)) else parse_gln(text)


def parse_gln(text: str) -> Participant:
    """Returns the participant of a bare global location number; raises InvalidIdentifier.

    Its check digit must be valid, which distinguishes it from other numbers of 13 digits. With its
    scheme it is compared as listed, and some are listed with an invalid check digit.
    """
    try:
        return Participant(GLN_SCHEME, parse_gln_number(text))
    except InvalidIdentifier as invalid:
        other = "any other identifier is <scheme>:<value>, such as 0184:12345674"
        raise InvalidIdentifier(f"{invalid}; {other}") from None


def _digits(code: str, scheme: Scheme, value: str) -> str:
    form = f"an identifier of scheme {code} has {scheme.digits} digits"
    try:
        written = read_number(value)
    except InvalidIdentifier as invalid:
        raise InvalidIdentifier(f"{form} ({invalid})") from None
    if len(written.digits) != scheme.digits or written.country not in (None, scheme.country):
        raise InvalidIdentifier(form)
    return written.digits


def _free_value(value: str) -> str:
    if not _VISIBLE_ASCII.fullmatch(value):
        raise InvalidIdentifier(
            f"an identifier's value is at most {MAX_VALUE_LENGTH} ASCII characters without spaces"
        )
    return value.lower()  # Peppol compares values without regard to case.
