"""Registration, unit and phone numbers, and e-invoicing participants: keys, parsing, check digits.

A number may be written in any form that `written` reads, and is stored as digits. A number of the
right form is never rejected for its check digit: both registers contain some that break the rule.

A key is its text, `<country>:<number>`, with fields. MongoDB, JSON and logs take it as it is, and
it hashes as fast as a string; a named tuple would be stored by MongoDB as an array.

A participant is `<scheme>:<value>`, the scheme an ISO 6523 code of Peppol's list.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

from common.domain.countries import FORMATS, Country
from common.domain.written import InvalidIdentifier as InvalidIdentifier
from common.domain.written import (
    NumberType,
    WrittenNumber,
    is_personal_number,
    plain,
    read_country,
    read_number,
)

GLN_DIGITS = 13
_GLN_WEIGHTS = (1, 3) * 6 + (1,)

#: Marks of phone numbers that divide digits as spaces do, and a trunk prefix of other countries.
_PHONE_SEPARATORS = re.compile(r"\(0\)|[()/]+")
_EXTENSION = re.compile(r"\b(?:ext|lok|lokal|x)(?![^\W\d_]).*", re.IGNORECASE)
_PHONE = re.compile(r"([^0-9+]*)(\+?)\s*([0-9].*)")
_NOT_A_DIGIT = re.compile(r"[^0-9]+")
_PLUS_FIRST = re.compile(r"[^0-9+]*\+")
#: An extension behind a dash, of a whole number before it: `22 33 44 55 - 56`.
_DASHED_EXTENSION = re.compile(r"(.*[0-9])\s*[-\u2010-\u2015]\s*[0-9]{1,4}\s*")
#: Marks and words between two numbers in one text, or the label or plus sign of the next.
_BETWEEN_PHONES = re.compile(
    r"[/,;&|\n\r]|\b(?:og|eller|and|or)\b"
    r"|(?<=\d)\s*\(?(?=(?:[^\W\d_]{1,20}[.:]?\s*)?\+)"
    r"|(?<=[0-9\s])(?=\b(?:fax|mob|tel|tlf))"
    r"|(?<=[0-9]{8})\s?[-‐-―]\s?(?=[0-9]{8}(?![0-9]))",
    re.IGNORECASE,
)
_BETWEEN_GROUPS = re.compile("[ ‐-―-]+")
#: Digits of a number on its own; those after a mark may be an extension.
_PHONE_LENGTHS = range(6, 16)
_COMPANY = re.compile(
    "|".join(f"{country}:[0-9]{{{row.vat_digits}}}" for country, row in FORMATS.items())
)


_COUNTRIES: Final = {country.value: country for country in Country}


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
        # Enum's own look-up of a value costs several times as much.
        return _COUNTRIES[self.partition(":")[0]]

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


class OtherNumber(InvalidIdentifier):
    """The text is certainly another number than the requested one; the message says which."""


class LostZero(OtherNumber):
    """A registration number without the zero at its beginning, which spreadsheets drop."""

    def __init__(self, message: str, number: str) -> None:
        """`number` is the number with the zero, whose check digit is right."""
        super().__init__(message)
        self.number = number


def is_digits(text: str, count: int) -> bool:
    """Returns True if the text consists of that many ASCII digits."""
    return len(text) == count and text.isascii() and text.isdecimal()


def parse_registration_number(text: str, country: Country) -> str:
    """Returns the number of `CVR-nr. 12 34 56 74`, `NO 310 345 679 MVA` and the like.

    Raises InvalidIdentifier: OtherNumber for one of another country, or without its first zero.
    """
    formats = FORMATS[country]
    if is_digits(text, formats.vat_digits):
        return text
    form = f"a {formats.nation} registration number is {formats.vat_digits} digits"
    digits, theirs = _read(text, NumberType.REGISTRATION, form)
    if len(digits) == formats.vat_digits and theirs in (None, country):
        return digits
    for other, row in FORMATS.items():
        is_theirs = theirs is other or (
            theirs is None and registration_number_checks(digits, other)
        )
        if other is not country and is_theirs and len(digits) == row.vat_digits:
            raise OtherNumber(f"{form}; this is a {row.nation} one: give country={other}")
    is_ours = theirs in (None, country) and formats.begins_with_zero
    if is_ours and registration_number_checks(f"0{digits}", country):
        message = f"{form}; a spreadsheet may have dropped the first zero of 0{digits}"
        raise LostZero(message, f"0{digits}")
    raise InvalidIdentifier(form)


def parse_unit_number(text: str, country: Country) -> str:
    """Returns the number of `P-nr. 1012345670` and the like; raises InvalidIdentifier."""
    formats = FORMATS[country]
    form = f"a {formats.nation} production-unit number is {formats.unit_digits} digits"
    digits, theirs = _read(text, NumberType.UNIT, form)
    if len(digits) != formats.unit_digits or theirs not in (None, country):
        raise InvalidIdentifier(form)
    return digits


def parse_gln_number(text: str) -> str:
    """Returns the digits of `EAN 5790000000005` and the like; raises InvalidIdentifier.

    The check digit must be valid, which distinguishes it from other numbers of 13 digits.
    """
    form = f"a GLN is {GLN_DIGITS} digits, the last its check digit"
    digits, _ = _read(text, NumberType.GLN, form)
    if not gln_checks(digits):
        raise InvalidIdentifier(form)
    return digits


def _read(text: str, type_: NumberType, form: str) -> tuple[str, Country | None]:
    written = _number(text, form)
    if written.type not in (None, type_) and not _is_registered_unit(written, type_):
        raise InvalidIdentifier(form)
    return written.digits, written.country


def _number(text: str, form: str) -> WrittenNumber:
    try:
        written = read_number(text)
    except InvalidIdentifier as invalid:
        raise InvalidIdentifier(f"{form} ({invalid})") from None
    if is_personal_number(text):
        raise InvalidIdentifier(f"{form} (this may be a personal number, which is not looked up)")
    return written


def _is_registered_unit(written: WrittenNumber, type_: NumberType) -> bool:
    is_registered = written.type is NumberType.REGISTRATION and written.country is not Country.DK
    return type_ is NumberType.UNIT and is_registered


def parse_phone_number(text: str, country: Country) -> str:
    """Returns the first number of `tlf. +45 33369696 / 40112233`; raises InvalidIdentifier."""
    return parse_phone_numbers(text, country)[0]


def parse_phone_numbers(text: str, country: Country) -> tuple[str, ...]:
    """Returns the national numbers in a text, at least one; raises InvalidIdentifier."""
    try:
        return (_phone(text, country),)
    except InvalidIdentifier as invalid:
        parts = [*filter(None, _BETWEEN_PHONES.split(text)), *_divided(text, country)]
        found = list[str]()
        for part in parts:
            try:
                found.append(_phone(part, country))
            except InvalidIdentifier:
                continue
        if not found:
            raise invalid from None
    return tuple(dict.fromkeys(found))


def _phone(text: str, country: Country) -> str:
    formats = FORMATS[country]
    form = (
        f"a {formats.nation} phone number is {formats.phone_digits} digits, "
        f"with or without +{formats.calling_code}"
    )
    bare = _EXTENSION.sub("", _PHONE_SEPARATORS.sub(" ", plain(text)))
    match = _PHONE.fullmatch(bare)
    if match is None:
        raise InvalidIdentifier(form)
    label, plus, rest = match.groups()
    digits, theirs = _read(f"{label} {rest}", NumberType.PHONE, form)
    # `DK 12345674` is a registration number, whose digits may be those of a phone elsewhere.
    if theirs is not None and (theirs is not country or not plus):
        raise InvalidIdentifier(form)
    if plus:
        digits = f"00{digits}"
    if is_digits(digits, formats.phone_digits) and not plus:
        return digits
    for other, row in FORMATS.items():
        for prefix in (f"00{row.calling_code}", row.calling_code):
            if digits.startswith(prefix) and len(digits) == len(prefix) + row.phone_digits:
                if other is country:
                    return digits.removeprefix(prefix)
                if prefix.startswith("00"):
                    raise OtherNumber(f"{form}; this is a {row.nation} one: give country={other}")
    raise InvalidIdentifier(form)


def _divided(text: str, country: Country) -> list[str]:
    found, digits = [""], FORMATS[country].phone_digits
    for group in _BETWEEN_GROUPS.split(plain(text)):
        if len(found[-1]) == digits:
            found.append("")
        found[-1] += group
    return found if all(is_digits(each, digits) for each in found) else []


def read_company(text: str, default: Country | None = None) -> CompanyKey:
    """Returns the company of `dk:12345674`, `DK 12345674`, `NO 310 345 679 MVA` and the like.

    A number that names no country is of the default one; without a default its length decides, and
    its check digit must be right. Raises InvalidIdentifier.
    """
    named, colon, number = plain(text).partition(":")
    if colon and (country := read_country(named)):
        return CompanyKey(country, parse_registration_number(number, country))
    other = InvalidIdentifier(f"{named[:40]} is neither Denmark nor Norway")
    # `SE:` is the code of a country here, not the label of a Danish number.
    if colon and len(named) == 2 and named.isalpha():
        raise other
    try:
        written = read_number(text)
    except InvalidIdentifier:
        if colon and named and not any(map(str.isdigit, named)) and not _is_label(named):
            raise other from None
        raise
    if country := written.country or default:
        return CompanyKey(country, parse_registration_number(text, country))
    of_length = (each for each, row in FORMATS.items() if row.vat_digits == len(written.digits))
    country = next(of_length, Country.DK)
    number = parse_registration_number(text, country)
    if not registration_number_checks(number, country):
        raise InvalidIdentifier("name its country: the check digit fits neither")
    return CompanyKey(country, number)


def _is_label(text: str) -> bool:
    try:
        read_number(f"{text} 1")
    except InvalidIdentifier:
        return False
    return True


def registered_phone(text: str, country: Country) -> str | None:
    """Returns the phone number in a free text: national digits, or foreign ones after `+`.

    None where the text has no digit, or none but zeros.
    """
    digits = _NOT_A_DIGIT.sub("", text)
    foreign = _PLUS_FIRST.match(text) is not None
    if digits.startswith("00"):
        digits, foreign = digits[2:], True
    formats = FORMATS[country]
    code = formats.calling_code
    if len(digits) == len(code) + formats.phone_digits and digits.startswith(code):
        digits, foreign = digits[len(code) :], False
    if not digits.strip("0"):
        return None
    return f"+{digits}" if foreign else digits


def registered_phones(text: str, country: Country) -> tuple[str, ...]:
    """Returns the phone numbers in a free text, each once: `22334455/22334456` has two."""
    bare, digits = text.replace(" ", ""), FORMATS[country].phone_digits
    if is_digits(bare, digits) and not bare.startswith("00"):
        return (bare,)
    dashed = _DASHED_EXTENSION.fullmatch(text)
    if dashed and len(registered_phone(dashed[1], country) or "") == digits:
        text = dashed[1]
    parts = [_EXTENSION.sub("", part) for part in _BETWEEN_PHONES.split(text)]
    whole = registered_phone("".join(parts), country)
    if whole is None or len(whole) <= digits:
        return () if whole is None else (whole,)
    if len(parts) > 1 and _may_be_phone(parts[0]):
        found = [registered_phone(part, country) for part in parts if _may_be_phone(part)]
        return tuple(dict.fromkeys(number for number in found if number is not None))
    if len(whole) == 2 * digits and whole.isdecimal():
        return tuple(dict.fromkeys((whole[:digits], whole[digits:])))
    return (whole,)


def _may_be_phone(text: str) -> bool:
    return len(_NOT_A_DIGIT.sub("", text)) in _PHONE_LENGTHS


def searchable_phones(phones: Sequence[str], country: Country) -> tuple[str, ...]:
    """Returns the numbers that a lookup can find; foreign and short numbers have another form."""
    return tuple(phone for phone in phones if is_digits(phone, FORMATS[country].phone_digits))


def registration_number_checks(number: str, country: Country) -> bool:
    """Returns True if the check digit is valid."""
    formats = FORMATS[country]
    return is_digits(number, formats.vat_digits) and _weighs(number, formats.vat_weights, 11)


def may_be_registered(number: str, country: Country) -> bool:
    """Returns True for a number that a company may get: its check digit is valid, not all zeros."""
    return number.strip("0") != "" and registration_number_checks(number, country)


def gln_checks(number: str) -> bool:
    """Returns True if the check digit of a global location number is valid (GS1)."""
    return is_digits(number, GLN_DIGITS) and _weighs(number, _GLN_WEIGHTS, 10)


def _weighs(number: str, weights: Sequence[int], modulus: int) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(number, weights, strict=True))
    return total % modulus == 0


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
    written = _number(value, form)
    if len(written.digits) != scheme.digits or written.country not in (None, scheme.country):
        raise InvalidIdentifier(form)
    return written.digits


def _free_value(value: str) -> str:
    if not _VISIBLE_ASCII.fullmatch(value):
        raise InvalidIdentifier(
            f"an identifier's value is at most {MAX_VALUE_LENGTH} ASCII characters without spaces"
        )
    return value.lower()  # Peppol compares values without regard to case.
