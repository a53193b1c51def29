"""The type of a bare search term, inferred from its form.

Spec section 4.2 gives the rules for plain digits; they come first. Spec/decisions.md section 6 adds
pasted forms, which the specification would treat as names.
"""

import re

from common.contracts.company import Country
from common.contracts.lookup import Question, SearchType
from common.domain.countries import FORMATS
from gateway.lookups.terms import ADDRESS_LENGTH, NAME_LENGTH, InvalidTerm, normalise

#: The first match wins. A term that matches several rules is looked up by each, in this order.
RULES: tuple[tuple[SearchType, dict[Country, int]], ...] = (
    (SearchType.VAT, {country: row.vat_digits for country, row in FORMATS.items()}),
    (SearchType.PRODU, {country: row.unit_digits for country, row in FORMATS.items()}),
    (SearchType.PHONE, {country: row.phone_digits for country, row in FORMATS.items()}),
)

_ASCII_DIGITS = re.compile(r"[0-9]+")

#: Markers required in a pasted identifier; `normalise` then checks its form.
_PASTED: tuple[tuple[SearchType, re.Pattern[str]], ...] = (
    (SearchType.VAT, re.compile(r"[A-Z]{2}\W*[0-9].*|[0-9].*MVA", re.IGNORECASE | re.DOTALL)),
    (SearchType.PHONE, re.compile(r"\(?(?:\+|00).*", re.DOTALL)),
    # The ISO 6523 codes in use, so that a year before a colon does not match.
    (SearchType.EAN, re.compile(r"(?:iso6523-actorid-upis::)?(?:0[0-2]|99)[0-9]{2}:.*|[0-9][^:]*",
                                re.IGNORECASE | re.DOTALL)),
)  # fmt: skip

_POSTAL_CODE = re.compile(r"(?:^|[\s,;])(?:(?:DK|NO?)[-\s]?)?[0-9]{4}(?=[\s,;]|$)", re.IGNORECASE)
_STREET_AND_HOUSE = re.compile(r"[^\W\d]{2}[^,;]*?\s[0-9]{1,4}\s?[a-zæøå]?(?!\w)", re.IGNORECASE)
#: Associations are often named after their address.
_ASSOCIATION = re.compile(
    r"\s*(?:\w/\w\b|\w*forening\w*\b|andelsbolig\w*\b|sameiet?\b|borettslaget?\b"
    r"|ejendomss\w+\b|eiendomss\w+\b)",
    re.IGNORECASE,
)


def infer(term: str, country: Country) -> tuple[Question, ...]:
    """The searches for a bare term, in the order in which they are tried.

    Raises InvalidTerm if the text is not a valid name either.
    """
    return (
        _by_digits(term, country)
        or _by_form(term, country)
        or _by_address(term, country)
        or (_question(SearchType.NAME, term, country),)
    )


def _by_digits(term: str, country: Country) -> tuple[Question, ...]:
    digits = "".join(term.split())
    if not _ASCII_DIGITS.fullmatch(digits):
        return ()
    return tuple(
        Question(type=kind, term=digits)
        for kind, lengths in RULES
        if lengths[country] == len(digits)
    )


def _by_form(term: str, country: Country) -> tuple[Question, ...]:
    for kind, form in _PASTED:
        if form.fullmatch(term.strip()):
            try:
                return (_question(kind, term, country),)
            except InvalidTerm:
                continue
    return ()


def _by_address(term: str, country: Country) -> tuple[Question, ...]:
    """A search for an address and one for a name: some companies are named after their address.

    The address is first if it has a postal code. With a house number alone it is second, and
    counts if no name matches well: `Bygg 24` may be either.
    """
    text = term.strip()
    # A longer text is not a valid term, and would be slow to match.
    if len(text) > ADDRESS_LENGTH[1] or _ASSOCIATION.match(text):
        return ()
    if is_address(text):
        kinds = [SearchType.ADDRESS, SearchType.NAME]
    elif _STREET_AND_HOUSE.search(text):
        kinds = [SearchType.NAME, SearchType.ADDRESS]
    else:
        return ()
    if len(text) > NAME_LENGTH[1]:
        kinds.remove(SearchType.NAME)
    return tuple(_question(kind, term, country) for kind in kinds)


def is_address(term: str) -> bool:
    """True if a text has a street with a house number, and a postal code behind or before them."""
    for code in _POSTAL_CODE.finditer(term):
        before, after = term[: code.start()], term[code.end() :]
        if not any(map(str.isdigit, after)) and _STREET_AND_HOUSE.search(before):
            return True
        if not before.strip() and _STREET_AND_HOUSE.search(after.partition(",")[2]):
            return True
    return False


def _question(kind: SearchType, term: str, country: Country) -> Question:
    return Question(type=kind, term=normalise(kind, term, country))
