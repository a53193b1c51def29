"""The form of each search term, checked and normalised.

Spec section 2.2, spec/decisions.md section 3. The lookup service receives normalised terms only.
"""

from collections.abc import Callable

from common.contracts.company import Country, Include
from common.contracts.lookup import LookupRequest, SearchType
from common.domain.numbers import (
    InvalidIdentifier,
    parse_phone_number,
    parse_registration_number,
    parse_unit_number,
)
from common.domain.participants import parse_gln, parse_participant

#: Answered by a search; every other type is one indexed read.
_SEARCHED = frozenset({SearchType.NAME, SearchType.ADDRESS})
#: Read from many documents, of a large company.
_LONG = frozenset({Include.PRODUCTION_UNITS, Include.EINVOICING})

#: Minimum and maximum length, in characters after trimming.
NAME_LENGTH = (2, 200)
ADDRESS_LENGTH = (3, 300)


def takes_long(request: LookupRequest) -> bool:
    """True for a lookup that others by number must not wait for."""
    return request.questions[0].type in _SEARCHED or not _LONG.isdisjoint(request.include)


class InvalidTerm(ValueError):
    """A term that cannot be searched for; the message states the right form."""


def normalise(kind: SearchType, term: str, country: Country) -> str:
    """The term in the register's form; raises InvalidTerm if it is not valid there."""
    try:
        return _NORMALISE[kind](term, country)
    except InvalidIdentifier as invalid:
        raise InvalidTerm(str(invalid)) from None


def _phone(term: str, country: Country) -> str:
    try:
        return parse_phone_number(term, country)
    except InvalidIdentifier as invalid:
        raise InvalidTerm(f"{invalid} (in a URL, + is written %2B)") from None


def _ean(term: str, country: Country) -> str:
    identifier = parse_participant(term) if ":" in term else parse_gln(term)
    if identifier.country not in (None, country):
        raise InvalidTerm(f"scheme {identifier.scheme} is not used in {country}")
    return str(identifier)


def _name(term: str, _country: Country) -> str:
    return _text(term, "a name", NAME_LENGTH)


def _address(term: str, _country: Country) -> str:
    return _text(term, "an address", ADDRESS_LENGTH)


def _text(term: str, what: str, length: tuple[int, int]) -> str:
    trimmed = term.strip()
    shortest, longest = length
    if not shortest <= len(trimmed) <= longest:
        raise InvalidTerm(f"{what} is {shortest} to {longest} characters")
    return trimmed


_NORMALISE: dict[SearchType, Callable[[str, Country], str]] = {
    SearchType.VAT: parse_registration_number,
    SearchType.NAME: _name,
    SearchType.PRODU: parse_unit_number,
    SearchType.PHONE: _phone,
    SearchType.EAN: _ean,
    SearchType.ADDRESS: _address,
}
