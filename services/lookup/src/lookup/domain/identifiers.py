"""Numbers that identify companies, units, phones and e-invoicing participants.

The check digits are hints: a number of the right form is never refused for them, since both
registers have some that break the rule.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from common.contracts.company import CompanyKey, Country, UnitKey, company_key, unit_key

VAT_DIGITS: Final = {Country.DK: 8, Country.NO: 9}
UNIT_DIGITS: Final = {Country.DK: 10, Country.NO: 9}
GLN_DIGITS: Final = 13

_CVR_WEIGHTS = (2, 7, 6, 5, 4, 3, 2, 1)
_ORGANISATION_WEIGHTS = (3, 2, 7, 6, 5, 4, 3, 2, 1)
_P_NUMBER_WEIGHTS = (4, 3, 2, 7, 6, 5, 4, 3, 2, 1)
#: P-numbers up to this one were given under an older rule.
_LAST_OLD_P_NUMBER = "1006959421"
_OLD_P_NUMBER_WEIGHTS = (1, 5, 6, 7, 3, 6, 4, 8, 9, 1)
_GLN_WEIGHTS = (1, 3) * 6 + (1,)

_CALLING_CODE = {Country.DK: "45", Country.NO: "47"}
_PHONE_DIGITS = 8
_NOT_A_DIGIT = re.compile(r"[^0-9]+")


def is_digits(text: str, count: int) -> bool:
    """Whether the text is that many ASCII digits and nothing else."""
    return len(text) == count and text.isascii() and text.isdigit()


def cvr_number_checks(number: str) -> bool:
    return is_digits(number, 8) and _weighted(number, _CVR_WEIGHTS) % 11 == 0


def organisation_number_checks(number: str) -> bool:
    return is_digits(number, 9) and _weighted(number, _ORGANISATION_WEIGHTS) % 11 == 0


def p_number_checks(number: str) -> bool:
    if not is_digits(number, 10):
        return False
    is_old = number <= _LAST_OLD_P_NUMBER
    return _weighted(number, _OLD_P_NUMBER_WEIGHTS if is_old else _P_NUMBER_WEIGHTS) % 11 == 0


def gln_checks(number: str) -> bool:
    return is_digits(number, GLN_DIGITS) and _weighted(number, _GLN_WEIGHTS) % 10 == 0


def _weighted(number: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=True))


def phone_number(text: str, country: Country) -> str | None:
    """A register's phone number as digits: a national one bare, a foreign one after `+`.

    None where no digit is left.
    """
    digits = _NOT_A_DIGIT.sub("", text)
    foreign = text.lstrip(" (").startswith("+")
    if digits.startswith("00"):
        digits, foreign = digits[2:], True
    code = _CALLING_CODE[country]
    if len(digits) == len(code) + _PHONE_DIGITS and digits.startswith(code):
        digits, foreign = digits[len(code) :], False
    if foreign and digits:
        return f"+{digits}"
    return digits or None


def national_phones(phones: Sequence[str]) -> tuple[str, ...]:
    """Those a client can ask for, who may only give a national number."""
    return tuple(phone for phone in phones if not phone.startswith("+"))


@dataclass(frozen=True, slots=True)
class Scheme:
    """An ISO 6523 scheme whose values have a known form."""

    #: None: used everywhere.
    country: Country | None
    digits: int
    #: Whose number a value is; `none` where it names neither company nor unit by itself.
    holder: Literal["company", "unit", "none"]


#: Those from 9900 on are retired, but still found.
SCHEMES: Final = {
    "0088": Scheme(None, GLN_DIGITS, "none"),
    "0096": Scheme(Country.DK, 10, "unit"),
    "0184": Scheme(Country.DK, 8, "company"),
    "0192": Scheme(Country.NO, 9, "company"),
    "0198": Scheme(Country.DK, 8, "none"),
    "9902": Scheme(Country.DK, 8, "company"),
    "9904": Scheme(Country.DK, 8, "none"),
    "9908": Scheme(Country.NO, 9, "company"),
}

#: Danish personal numbers.
PERSONAL_SCHEMES: Final = frozenset({"0237", "9901"})

#: What business cards call the schemes, without punctuation.
_SCHEMES_BY_NAME: Final = {
    "DKCVR": "0184",
    "CVR": "0184",
    "DKDIGST": "0184",
    "DKVAT": "0184",
    "DKP": "0096",
    "DKPNR": "0096",
    "PNR": "0096",
    "NOORG": "0192",
    "NOORGNR": "0192",
    "ORGNR": "0192",
    "NOVAT": "0192",
}

_PARTICIPANT = re.compile(r"(?:iso6523-actorid-upis::)?(\d{4}):(\S.*)", re.IGNORECASE)
_AFFIXES = re.compile(r"^(?:DK|NO)|MVA$|[\s.-]", re.IGNORECASE)
_PUNCTUATION = re.compile(r"[\W_]+")


class InvalidParticipant(ValueError):
    """Not a participant identifier; the message says why and never holds a personal number."""


class PersonalIdentifier(InvalidParticipant):
    """The identifier is a person's number."""


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
        """The company or unit whose number the identifier itself is."""
        scheme = SCHEMES.get(self.scheme)
        if scheme is None or scheme.country is None or scheme.holder == "none":
            return None
        if scheme.holder == "unit":
            return unit_key(scheme.country, self.value)
        return company_key(scheme.country, self.value)


def participant(text: str) -> Participant:
    """Reads `0184:DK25052943` or `iso6523-actorid-upis::0184:dk25052943`.

    Raises PersonalIdentifier or InvalidParticipant.
    """
    match = _PARTICIPANT.fullmatch(text.strip())
    if match is None:
        raise InvalidParticipant("it is not of the form <scheme>:<value>")
    code, value = match[1], match[2]
    if code in PERSONAL_SCHEMES:
        raise PersonalIdentifier(f"scheme {code} holds personal numbers, which are never stored")
    scheme = SCHEMES.get(code)
    if scheme is None:
        return Participant(code, value.lower())
    digits = _AFFIXES.sub("", value)
    if not is_digits(digits, scheme.digits):
        raise InvalidParticipant(f"a value of scheme {code} is {scheme.digits} digits")
    return Participant(code, digits)


def holder_on_card(scheme: str, value: str) -> CompanyKey | UnitKey | None:
    """The company or unit that an identifier on a business card names.

    Cards are written by many hands: the scheme may be a code or a name such as `DK:CVR`, the value
    may repeat the scheme or carry the country's letters. What is not understood names nobody.
    """
    name = _PUNCTUATION.sub("", scheme).upper()
    if name == "VAT":
        name = value.strip()[:2].upper() + name
    code = _SCHEMES_BY_NAME.get(name, name)
    for text in (value, f"{code}:{value}"):
        try:
            return participant(text).holder
        except InvalidParticipant:
            continue
    return None
