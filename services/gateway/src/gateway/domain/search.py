"""What each kind of search term may look like, and what a bare term is taken for.

Spec sections 2.2 and 4.2, spec/decisions.md section 3. A normalised term is all the lookup service
ever sees.
"""

import re
from collections.abc import Callable

from common.contracts.company import Country
from common.contracts.lookup import Question, SearchType
from gateway.domain.einvoicing import normalise_identifier
from gateway.domain.numbers import Unfit, bare_number

#: First match wins; where one term matches several rules, the later ones are asked when the
#: earlier find nothing.
RULES: tuple[tuple[SearchType, dict[Country, int]], ...] = (
    (SearchType.VAT, {Country.DK: 8, Country.NO: 9}),
    (SearchType.PRODU, {Country.DK: 10, Country.NO: 9}),
    (SearchType.PHONE, {Country.DK: 8, Country.NO: 8}),
)

DIGITS = dict(RULES)

#: What is searched for; every other kind is one indexed read.
SEARCHED = frozenset({SearchType.NAME, SearchType.ADDRESS})

#: Shortest and longest, in characters after trimming.
NAME_LENGTH = (2, 200)
ADDRESS_LENGTH = (3, 300)

VAT_PREFIX = {Country.DK: "DK", Country.NO: "NO"}
PHONE_PREFIX = {Country.DK: "45", Country.NO: "47"}
NATION = {Country.DK: "Danish", Country.NO: "Norwegian"}

_ASCII_DIGITS = re.compile(r"[0-9]+")


def infer(term: str, country: Country) -> tuple[Question, ...]:
    """The questions that a term of unknown kind stands for, in the order they are to be asked."""
    digits = "".join(term.split())
    if _ASCII_DIGITS.fullmatch(digits):
        questions = tuple(
            Question(type=kind, term=digits)
            for kind, lengths in RULES
            if lengths[country] == len(digits)
        )
        if questions:
            return questions
    return (Question(type=SearchType.NAME, term=_name(term, country)),)


def normalise(kind: SearchType, term: str, country: Country) -> str:
    """The term as the register writes it; raises Unfit when no register could hold it."""
    return _NORMALISE[kind](term, country)


def _vat(term: str, country: Country) -> str:
    digits = bare_number(term, prefix=VAT_PREFIX[country])
    return _exactly(digits, SearchType.VAT, country, "registration number")


def _produ(term: str, country: Country) -> str:
    return _exactly(bare_number(term), SearchType.PRODU, country, "production-unit number")


def _phone(term: str, country: Country) -> str:
    number = bare_number(term, also="+")
    code, length = PHONE_PREFIX[country], DIGITS[SearchType.PHONE][country]
    for prefix in (f"+{code}", f"00{code}"):
        if number.startswith(prefix) and len(number) == len(prefix) + length:
            number = number.removeprefix(prefix)
    if len(number) == length and number.isdecimal():
        return number
    raise Unfit(
        f"a {NATION[country]} phone number is {length} digits, with or without +{code} "
        "(in a URL, + is written %2B)"
    )


def _ean(term: str, country: Country) -> str:
    return normalise_identifier(term, country)


def _name(term: str, _country: Country) -> str:
    return _text(term, "name", NAME_LENGTH)


def _address(term: str, _country: Country) -> str:
    return _text(term, "address", ADDRESS_LENGTH)


def _text(term: str, what: str, length: tuple[int, int]) -> str:
    trimmed = term.strip()
    shortest, longest = length
    if not shortest <= len(trimmed) <= longest:
        raise Unfit(f"a {what} is {shortest} to {longest} characters")
    return trimmed


def _exactly(digits: str, kind: SearchType, country: Country, what: str) -> str:
    length = DIGITS[kind][country]
    if len(digits) == length and digits.isdecimal():
        return digits
    raise Unfit(f"a {NATION[country]} {what} is {length} digits")


_NORMALISE: dict[SearchType, Callable[[str, Country], str]] = {
    SearchType.VAT: _vat,
    SearchType.NAME: _name,
    SearchType.PRODU: _produ,
    SearchType.PHONE: _phone,
    SearchType.EAN: _ean,
    SearchType.ADDRESS: _address,
}
