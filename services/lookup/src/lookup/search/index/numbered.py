"""Suggestions for the beginning of a registration number.

Names that begin with the digits (`123 Byg`) come first, page by page, then the companies whose
registration number begins with them, in its order. A whole number is its company, which is first.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from common.domain.countries import FORMATS
from common.domain.written import InvalidIdentifier, NumberType, read_number
from lookup.search.find.finding import find_numbers
from lookup.search.find.segments import Segments
from lookup.search.hits import SearchHit, SuggestionPage
from lookup.search.index.suggestions import ABOVE_ALL, Cursor, suggest
from lookup.search.index.view import View

#: Bits of a cursor's order that no document has: a registration number follows.
_NUMBERED = 3 << 62
_SEPARATORS = re.compile(r"[\s.\-]")


class NumberPrefix(NamedTuple):
    """The beginning of a registration number, and the numbers that begin with it."""

    digits: str
    country: Country
    #: As it is typed.
    text: str

    @property
    def numbers(self) -> range:
        """All numbers with this beginning."""
        rest = 10 ** (FORMATS[self.country].vat_digits - len(self.digits))
        return range(int(self.digits) * rest, (int(self.digits) + 1) * rest)

    @property
    def score(self) -> float:
        """The share of the number that is given; 100 if it is whole."""
        return round(100 * len(self.digits) / FORMATS[self.country].vat_digits, 1)


def read_prefix(text: str, country: Country) -> NumberPrefix | None:
    """Returns the beginning of a registration number: `25 05`, `DK2505`; None for other texts."""
    digits = _SEPARATORS.sub("", text.upper().removeprefix(country.upper()))
    if not (digits.isascii() and digits.isdigit()):
        digits = _labelled(text, country)
    is_prefix = 0 < len(digits) <= FORMATS[country].vat_digits
    return NumberPrefix(digits, country, text) if is_prefix else None


def _labelled(text: str, country: Country) -> str:
    """Returns the digits behind words that say what they are: `CVR 2505`; else nothing."""
    try:
        number = read_number(text)
    except InvalidIdentifier:
        return ""
    is_registration = number.type in (None, NumberType.REGISTRATION)
    return number.digits if is_registration and number.country in (None, country) else ""


def suggest_numbers(
    view: View, segments: Segments, prefix: NumberPrefix, limit: int, after: str | None
) -> SuggestionPage:
    """Returns the page at a cursor, or the first, of the companies of a prefix; each once."""
    cursor = Cursor.parse(after) if after else None
    if cursor is not None and _is_numbered(cursor):
        return _numbered(segments, prefix, limit, (), cursor)
    named = suggest(view, prefix.text, limit, after, has_typos=False)
    if cursor is None and prefix.score == 100:
        whole = _hits(segments, prefix, -1, 1)
        named = named._replace(hits=[*whole, *named.hits][:limit])
    listed = (*(cursor.first_page if cursor else ()), *(hit.key.vat for hit in named.hits))
    if named.cursor is not None:
        return named
    return _numbered(segments, prefix, limit, named.hits, Cursor(_NUMBERED, listed))


def _is_numbered(cursor: Cursor) -> bool:
    return cursor.order >= _NUMBERED and cursor.order != ABOVE_ALL


def _numbered(
    segments: Segments,
    prefix: NumberPrefix,
    limit: int,
    named: Sequence[SearchHit],
    cursor: Cursor,
) -> SuggestionPage:
    """Returns names and the next numbers, which follow that of the cursor."""
    room = limit - len(named)
    # Those on earlier pages are not repeated.
    found = _hits(segments, prefix, cursor.order - _NUMBERED, room + 1 + len(cursor.first_page))
    new = [hit for hit in found if hit.key.vat not in cursor.first_page]
    page = [*named, *new[:room]]
    if len(new) <= room:
        return SuggestionPage(page)
    last = int(new[room - 1].key.vat) if room else cursor.order - _NUMBERED
    return SuggestionPage(page, str(cursor._replace(order=_NUMBERED | last)))


def _hits(segments: Segments, prefix: NumberPrefix, after: int, limit: int) -> list[SearchHit]:
    request = FindRequest(country=prefix.country, limit=0)
    after = max(after, prefix.numbers.start - 1)
    numbers = find_numbers(segments, request, None, after=after, limit=limit)
    digits = FORMATS[prefix.country].vat_digits
    return [
        SearchHit(CompanyKey(prefix.country, f"{number:0{digits}d}"), prefix.score)
        for number in numbers
        if number in prefix.numbers
    ]
