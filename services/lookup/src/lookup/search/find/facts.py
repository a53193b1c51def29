"""The fields of a company that filters, counts and orders use."""

import unicodedata
from collections.abc import Mapping
from enum import IntFlag
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from common.domain.known_values import digits, municipality_key
from lookup.store.ranking import known_employees

INDUSTRY, MUNICIPALITY, CITY, POSTAL_CODE = "industry", "municipality", "city", "postal_code"
MUNICIPALITY_CODE = "municipality_code"
FORM, STATUS, EMPLOYEES, FOUNDED, ENDED = "form", "status", "employees", "founded", "ended"
FIELDS = (
    INDUSTRY, MUNICIPALITY, MUNICIPALITY_CODE, CITY, POSTAL_CODE, FORM, STATUS, EMPLOYEES, FOUNDED,
    ENDED,
)  # fmt: skip

#: Bytes of a name that decide its place.
_MAX_NAME = 120
_OWNED_BY_A_COMPANY = b'"type":"company"'
#: The order of the Danish and Norwegian alphabets; Swedish letters are sorted like theirs.
_LETTERS = str.maketrans(
    {"æ": "{", "ä": "{", "ø": "|", "ö": "|", "å": "}", "ü": "y", "ð": "d", "þ": "th", "ß": "ss"}
)


#: Greenland's and Svalbard's postal codes are Danish and Norwegian ones.
_HOMES = {"GL": "dk", "SJ": "no"}


class Flag(IntFlag):
    """Yes-or-no facts of a company, and whether its register states them."""

    PHONE = 1
    EMAIL = 2
    WEBSITE = 4
    EINVOICING = 8
    VAT_REGISTERED = 16
    NOT_VAT_REGISTERED = 32
    PROTECTED = 64
    NOT_PROTECTED = 128


class Facts(NamedTuple):
    """A company in the arrays."""

    number: int
    #: The key of the order by name.
    name: bytes
    #: The values of `FIELDS`; empty where the register does not say.
    values: tuple[str, ...]
    flags: int
    #: The numbers of the companies of its register that own it.
    owners: tuple[int, ...] = ()


#: Plain integers, because adding a flag of an enumeration takes a microsecond.
_YES_OR_NO = {
    "vat_registered": (int(Flag.VAT_REGISTERED), int(Flag.NOT_VAT_REGISTERED)),
    "advertising_protected": (int(Flag.PROTECTED), int(Flag.NOT_PROTECTED)),
}
_PARTS = (
    ("phone", int(Flag.PHONE)),
    ("email", int(Flag.EMAIL)),
    ("website", int(Flag.WEBSITE)),
)
_EINVOICING = int(Flag.EINVOICING)


def facts_of(company: Mapping[str, Any], owners: bytes = b"", *, einvoicing: bool = False) -> Facts:
    """Returns the facts of a company's JSON and of its owners' JSON."""
    address = company.get("address") or {}
    employees = company.get("employees")
    count = known_employees(employees["exact"], employees["min"]) if employees else None
    flags = _EINVOICING if einvoicing else 0
    for part, flag in _PARTS:
        if company.get(part):
            flags |= flag
    for field, (yes, no) in _YES_OR_NO.items():
        if (value := company.get(field)) is not None:
            flags |= yes if value else no
    return Facts(
        int(company["vat"]),
        name_key(company["name"]),
        (
            digits((company.get("industry") or _NO_CODE)["code"]),
            address.get("municipality") or "",
            municipality_key(address.get("municipality_code") or ""),
            address.get("city") or "",
            _home_postal_code(address, company.get("country", "")),
            (company.get("form") or _NO_CODE)["code"],
            company["status"],
            "" if count is None else employees_text(count),
            company.get("founded") or "",
            company.get("ended") or "",
        ),
        flags,
        _owners(owners) if _OWNED_BY_A_COMPANY in owners else (),
    )


_NO_CODE = {"code": ""}


def _home_postal_code(address: Mapping[str, Any], register: str) -> str:
    """Returns the postal code; empty for an address abroad.

    A code such as the Swedish 53592 would sort among those of the register.
    """
    country = address.get("country") or ""
    is_home = not country or register in (country.lower(), _HOMES.get(country))
    return (address.get("postal_code") or "") if is_home else ""


def employees_text(count: int) -> str:
    """Returns a number of employees as a text that sorts like it."""
    return f"{count:08d}"


def name_key(name: str) -> bytes:
    """Returns a text that sorts names as people expect: regardless of case and of accents."""
    folded = name.casefold()
    if not folded.isascii():
        folded = folded.translate(_LETTERS)
        # Most names have no other letters.
        if not folded.isascii():
            decomposed = unicodedata.normalize("NFKD", folded)
            folded = "".join(each for each in decomposed if not unicodedata.combining(each))
    return folded.encode()[:_MAX_NAME].decode(errors="ignore").encode()


@lru_cache(maxsize=16_384)
def folded(value: str) -> str:
    """Returns a value as filters compare it; cached, because a register has few places."""
    return value.casefold()


def _owners(owners: bytes) -> tuple[int, ...]:
    numbers = (owner.get("vat") for owner in orjson.loads(owners) or () if isinstance(owner, dict))
    return tuple(sorted({int(number) for number in numbers if number}))
