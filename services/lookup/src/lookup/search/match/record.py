"""A customer's record, read as the register of one country would have it.

Spreadsheets mix up their columns: a postal code is read next to its town or in its place, and an
invalid number as a phone number.
"""

import re
from typing import NamedTuple

from common.contracts.company import Country
from common.contracts.match import MatchRecord
from common.domain.contacts import Contacts, read_contacts
from common.domain.numbers import (
    InvalidIdentifier,
    LostZero,
    parse_phone_numbers,
    parse_registration_number,
    parse_unit_number,
    registration_number_checks,
)
from common.domain.written import read_postal_code
from lookup.search.addresses import ParsedAddress, fold_town, read_address
from lookup.search.folding import cut, fold_text
from lookup.search.scoring import Query, read_query

_POSTAL_CODE = re.compile(r"(?<!\d)(?:(?:dk|no|n)[-\s]?)?(\d{4})(?!\d)", re.IGNORECASE)
#: Minimum letters and digits of a foreign postal code.
_MIN_CODE = 4
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")


class ReadRecord(NamedTuple):
    """A record in the form that is compared; absent parts are empty."""

    name: Query | None
    #: A registration number, and a production unit's.
    number: str
    unit: str
    phones: tuple[str, ...]
    contacts: Contacts
    #: The readings of the address, the likeliest first.
    addresses: tuple[ParsedAddress, ...]
    postal_code: str
    #: A postal code of another form, folded, as it is in foreign addresses.
    foreign_code: str
    town: str
    #: True if the number has the zero that a spreadsheet dropped from the record's.
    is_assumed: bool = False
    #: The fields with a value that cannot be read.
    unread: tuple[str, ...] = ()


class _Numbers(NamedTuple):
    """The numbers of a record; its number and its phone number may have changed places."""

    number: str
    unit: str
    phones: tuple[str, ...]
    is_assumed: bool
    unread: tuple[str, ...]


def read_record(record: MatchRecord, country: Country) -> ReadRecord:
    """Returns what the record says to the register of a country."""
    numbers, contacts = _numbers(record, country), read_contacts(record.email, record.website)
    unread = numbers.unread + (("email",) if record.email and not contacts.mailbox else ())
    address, city = _in_place(record.address or "", record.city or "")
    postal_code, town = _place(record.postal_code or "", city, country)
    addresses = read_address(_address(address, postal_code, town)) if address else ()
    if addresses and not postal_code and not town:
        first = addresses[0]
        postal_code, town = first.postal_code, next(iter(first.towns), "")
    name = read_query(cut(record.name), country) if record.name else None
    return ReadRecord(
        name if name is not None and name.name.words else None,
        numbers.number,
        numbers.unit,
        numbers.phones,
        contacts,
        addresses,
        postal_code,
        "" if postal_code else _foreign_code(record.postal_code or ""),
        fold_town(town) if town else "",
        numbers.is_assumed,
        unread,
    )


def _numbers(record: MatchRecord, country: Country) -> _Numbers:
    one, other = record.number or "", record.phone or ""
    (number, is_assumed), (swapped, is_guess) = _number(one, country), _number(other, country)
    unit, of_number, of_phone = _unit(one, country), _phones(one, country), _phones(other, country)
    checks = registration_number_checks(number, country)
    is_swapped = not checks and not is_guess and registration_number_checks(swapped, country)
    if is_swapped:
        number, phones = swapped, of_number or of_phone
    else:
        phones = of_phone or (() if checks else of_number)
    if record.country is None and not checks and not is_swapped:
        # Eight digits are a Danish number or a phone number of either country.
        number = ""
    is_phone = bool(of_number) and phones == of_number
    unread = []
    if one and not (unit or is_phone or (number and not is_swapped)):
        unread.append("number")
    if other and not (of_phone or is_swapped):
        unread.append("phone")
    return _Numbers(number, unit, phones, is_assumed and checks, tuple(unread))


def _number(text: str, country: Country) -> tuple[str, bool]:
    try:
        return parse_registration_number(text, country), False
    except LostZero as lost:
        return lost.number, True
    except InvalidIdentifier:
        return "", False


def _unit(text: str, country: Country) -> str:
    try:
        return parse_unit_number(text, country)
    except InvalidIdentifier:
        return ""


def _phones(text: str, country: Country) -> tuple[str, ...]:
    try:
        return parse_phone_numbers(text, country)
    except InvalidIdentifier:
        return ()


def _in_place(address: str, city: str) -> tuple[str, str]:
    """Returns the address and town, also if they changed places: a town has no house number."""
    is_town = bool(address) and not _DIGIT.search(address)
    is_address = _DIGIT.search(_POSTAL_CODE.sub("", city))
    return (city, address) if is_town and is_address else (address, city)


def _place(postal_code: str, city: str, country: Country) -> tuple[str, str]:
    if whole := read_postal_code(postal_code, country):
        postal_code = whole
    texts = [text for text in (postal_code, city) if text]
    code = next((found[1] for text in texts if (found := _POSTAL_CODE.search(text))), "")
    towns = (_POSTAL_CODE.sub(" ", text).strip(" ,;-") for text in reversed(texts))
    return code, next((" ".join(town.split()) for town in towns if _LETTER.search(town)), "")


def _foreign_code(text: str) -> str:
    key = fold_text(cut(text)).key
    return key if len(key) >= _MIN_CODE and _DIGIT.search(key) else ""


def _address(address: str, postal_code: str, town: str) -> str:
    place = " ".join(filter(None, (postal_code, town)))
    if not place or (postal_code and postal_code in address):
        return cut(address)
    return cut(f"{address}, {place}")
