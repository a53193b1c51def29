"""Registration, unit and phone numbers: keys, parsing, normalisation and check digits.

A number may be grouped by spaces, dots or dashes, and is stored as digits. A number of the right
form is never rejected for its check digit: both registers contain some that break the rule.

A key is its text, `<country>:<number>`, with fields. MongoDB, JSON and logs take it as it is, and
it hashes as fast as a string; a named tuple would be stored by MongoDB as an array.
"""

import re
from collections.abc import Callable, Sequence
from typing import Self

from common.domain.countries import FORMATS, Country, NumberFormats

GLN_DIGITS = 13
_GLN_WEIGHTS = (1, 3) * 6 + (1,)

#: Any blank (a copied number often holds a no-break space), full stop, hyphen and dashes.
_SEPARATORS = re.compile(r"[\s.\-‐-―]+")
_PHONE_SEPARATORS = re.compile(r"[\s.\-‐-―()/]+")
_NOT_A_DIGIT = re.compile(r"[^0-9]+")
_COMPANY = re.compile(
    "|".join(f"{country}:[0-9]{{{row.vat_digits}}}" for country, row in FORMATS.items())
)


class RegisterKey(str):
    """The key of a company or a unit."""

    __slots__ = ()

    def __new__(cls, country: Country, number: str) -> Self:
        return str.__new__(cls, f"{country}:{number}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the key with this text, which is trusted: it was stored or validated before."""
        return str.__new__(cls, text)

    @property
    def country(self) -> Country:
        """The country of the register."""
        return Country(self.partition(":")[0])

    @property
    def number(self) -> str:
        """The number without its country."""
        return self.partition(":")[2]

    def __reduce__(self) -> tuple[Callable[..., "RegisterKey"], tuple[type["RegisterKey"], str]]:
        return str.__new__, (type(self), str(self))


class CompanyKey(RegisterKey):
    """A company by its registration number, e.g. `dk:25052943`."""

    __slots__ = ()

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Returns the key that a client wrote, its country in either case; None for no key.

        Check digits are not compared: a filter may name a company that ended.
        """
        folded = text.lower()
        return cls.parse(folded) if _COMPANY.fullmatch(folded) else None

    @property
    def vat(self) -> str:
        """The registration number (CVR or organisation number), digits only."""
        return self.number


class UnitKey(RegisterKey):
    """A production unit by its number: ten digits in Denmark, nine in Norway."""

    __slots__ = ()


class InvalidIdentifier(ValueError):
    """The text does not have the identifier's form; the message states the right form."""


def is_digits(text: str, count: int) -> bool:
    """Returns True if the text consists of that many ASCII digits."""
    return len(text) == count and text.isascii() and text.isdecimal()


def bare_number(text: str, formats: NumberFormats | None = None) -> str:
    """Returns the digits without separators and country letters; empty if other text remains."""
    bare = _SEPARATORS.sub("", text)
    if formats is not None:
        if bare[: len(formats.letters)].upper() == formats.letters:
            bare = bare[len(formats.letters) :]
        if formats.suffix and bare[-len(formats.suffix) :].upper() == formats.suffix:
            bare = bare[: -len(formats.suffix)]
    return bare if bare.isascii() and bare.isdecimal() else ""


def parse_registration_number(text: str, country: Country) -> str:
    """Returns the number of `DK 12 34 56 74` and the like; raises InvalidIdentifier."""
    formats = FORMATS[country]
    digits = bare_number(text, formats)
    if len(digits) != formats.vat_digits:
        raise InvalidIdentifier(
            f"a {formats.nation} registration number is {formats.vat_digits} digits"
        )
    return digits


def parse_unit_number(text: str, country: Country) -> str:
    """Returns the number of a production unit; raises InvalidIdentifier."""
    formats = FORMATS[country]
    digits = bare_number(text)
    if len(digits) != formats.unit_digits:
        raise InvalidIdentifier(
            f"a {formats.nation} production-unit number is {formats.unit_digits} digits"
        )
    return digits


def parse_phone_number(text: str, country: Country) -> str:
    """Returns the national number of `+45 33369696` and the like; raises InvalidIdentifier."""
    formats = FORMATS[country]
    number = _PHONE_SEPARATORS.sub("", text)
    for prefix in (f"+{formats.calling_code}", f"00{formats.calling_code}"):
        if number.startswith(prefix) and len(number) == len(prefix) + formats.phone_digits:
            number = number.removeprefix(prefix)
    if not is_digits(number, formats.phone_digits):
        raise InvalidIdentifier(
            f"a {formats.nation} phone number is {formats.phone_digits} digits, "
            f"with or without +{formats.calling_code}"
        )
    return number


def registered_phone(text: str, country: Country) -> str | None:
    """Returns the phone number in a free text: national digits, or foreign ones after `+`.

    None where the text has no digit.
    """
    digits = _NOT_A_DIGIT.sub("", text)
    foreign = text.lstrip(" (").startswith("+")
    if digits.startswith("00"):
        digits, foreign = digits[2:], True
    formats = FORMATS[country]
    code = formats.calling_code
    if len(digits) == len(code) + formats.phone_digits and digits.startswith(code):
        digits, foreign = digits[len(code) :], False
    if foreign and digits:
        return f"+{digits}"
    return digits or None


def searchable_phones(phones: Sequence[str], country: Country) -> tuple[str, ...]:
    """Returns the numbers that a lookup can find; foreign and short numbers have another form."""
    return tuple(phone for phone in phones if is_digits(phone, FORMATS[country].phone_digits))


def registration_number_checks(number: str, country: Country) -> bool:
    """Returns True if the check digit is valid."""
    formats = FORMATS[country]
    return is_digits(number, formats.vat_digits) and _weighs(number, formats.vat_weights, 11)


def gln_checks(number: str) -> bool:
    """Returns True if the check digit of a global location number is valid (GS1)."""
    return is_digits(number, GLN_DIGITS) and _weighs(number, _GLN_WEIGHTS, 10)


def _weighs(number: str, weights: Sequence[int], modulus: int) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(number, weights, strict=True))
    return total % modulus == 0
