"""Suggestions: companies whose names or numbers continue a typed text, page by page.

The first page has, best first, the result of a search for the name and names that continue the
text, scored as in a search except for the last word, which may be incomplete. Each step is a query
with the best ranked results first; steps end when the page is full. A company whose current name
begins with the text comes before all others, and one that does so letter by letter before those of
other spellings: `prø` lists `Prøven` before `Projekt`. What has no score is not listed.

Later pages have the other companies with a matching name, by rank and without typos. Each page
reads on below the last document of the one before, so it costs as much wherever it is in the list.

For the beginning of a registration number, names that begin with the digits (`123 Byg`) come first,
then the companies whose number begins with them, in its order. A whole number is its company, which
is first.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import NamedTuple

import tantivy

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from common.domain.countries import FORMATS
from common.domain.written import InvalidIdentifier, NumberType, read_number
from lookup.search.find.columns import Segments
from lookup.search.find.pages import find_numbers
from lookup.search.folding import FORM_WORDS, TRAILING_FORMS, FoldedText
from lookup.search.index import schema as fields
from lookup.search.index.names import NameCandidate, NameSearch, each_once, search_names
from lookup.search.index.prefixes import (
    TypedText,
    almost_begins,
    begins,
    begins_with,
    is_whole,
    literally_begins,
    read_typed,
    words_almost_begin,
    words_begin,
    words_literally_begin,
    writings,
)
from lookup.search.index.schema import IndexedDocument, View, all_of, one_of
from lookup.search.indexed_company import (
    NameType,
    SearchHit,
    SuggestionPage,
    company_key,
    rank_of,
    type_of,
)
from lookup.search.scoring import read_query

#: Documents that a step reads for each wanted company; more if companies have several matching
#: names, or were found by an earlier step.
_READ = (2, 32, 512)
#: Documents that a later page reads; the second number if the first do not fill it.
_READ_ON = (64, 1024)
#: Maximum names of a page's companies that are compared to find each company's first.
_MAX_NAMES = 10_000
#: Maximum documents of a page's companies with trade or former names that match; current ones rank
#: first.
_MAX_OF_A_PAGE = 64
#: The order of a cursor before all documents.
ABOVE_ALL = (1 << 64) - 1


class Cursor(NamedTuple):
    """The place of a page in a list."""

    #: Only documents of a lower order follow.
    order: int
    #: The companies of the first page, which is not sorted by rank.
    first_page: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((f"{self.order:016x}", *self.first_page))

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Reads a text of the form `SUGGEST_CURSOR`."""
        order, *first_page = text.split(".")
        return cls(int(order, 16), tuple(first_page))


def suggest(
    view: View, text: str, limit: int, after: str | None = None, *, has_typos: bool = True
) -> SuggestionPage:
    """Returns the page of at most `limit` companies at a cursor, or the first; each once."""
    typed = read_typed(text)
    query = read_query(text, view.country, last_is_prefix=True)
    readings = [replace(query, name=name) for name in typed if name.words and name != query.name]
    search = NameSearch(view, query, tuple(readings))
    if after is None:
        return _first_page(search, typed, limit, has_typos=has_typos)
    return _later_page(search, typed, limit, Cursor.parse(after))


def _first_page(
    search: NameSearch, typed: TypedText, limit: int, *, has_typos: bool
) -> SuggestionPage:
    is_form = typed.beginning.letters in FORM_WORDS
    hits = [] if is_form else search_names(search.view, search.query.text, 1)
    answer = [hit for hit in hits if not hit.is_other]
    found: list[NameCandidate] = []
    listed: set[CompanyKey] = set()
    for typos, queries in chain(_literal_steps(search.view, typed), _steps(search.view, typed)):
        if typos and not has_typos:
            break
        # Two typos are a guess, made only if nothing better is found.
        if len(each_once(found)) > limit or (typos > 1 and (found or answer)):
            break
        for query in queries:
            found += _read(search, query, found, limit + 1)
        if not typos:
            listed = {one.document.company for one in found}
    text = search.query.text
    if is_form:
        found = _without_forms(found, typed.beginning, text)
    hits = _best_first(answer, found, typed.beginning, text)[:limit]
    hits = _without_needless_names(search.view, typed, hits, found)
    keys = [hit.key for hit in hits]
    follow = not listed.issubset(keys)
    cursor = str(Cursor(ABOVE_ALL, tuple(key.vat for key in keys))) if follow else None
    return SuggestionPage(hits, cursor)


def _without_needless_names(
    view: View, typed: TypedText, hits: list[SearchHit], found: Sequence[NameCandidate]
) -> list[SearchHit]:
    current = {one.document.company for one in found if one.type is NameType.CURRENT}
    named = {hit.key for hit in hits if hit.matched_name is not None}.difference(current)
    if named:
        listed = one_of(chain.from_iterable(_without_typos(view, typed)))
        same_companies = all_of([listed, view.any_of(fields.COMPANY, named)])
        fitting = view.best_ranked(same_companies, _MAX_OF_A_PAGE)
        current |= {one.company for one in fitting if type_of(one.order) == NameType.CURRENT}
    return [hit._replace(matched_name=None) if hit.key in current else hit for hit in hits]


def _best_first(
    answer: Sequence[SearchHit], found: Sequence[NameCandidate], beginning: FoldedText, text: str
) -> list[SearchHit]:
    """Returns each company once; no score is above the one before it, and none is 0."""
    hits = {hit.key: hit for hit in answer}
    for one in sorted(each_once(found), key=lambda one: -one.match.score):
        hits.setdefault(one.document.company, one.hit)
    starts, typed = writings(beginning.letters), _letters(text)
    places: dict[CompanyKey, int] = {}
    for one in found:
        key, place = one.document.company, _place(one, beginning, starts, typed)
        places[key] = min(place, places.get(key, place))
        if place in _BEGUN and hits[key].score <= 0:
            share = 100 * len(beginning.letters) / (len(one.name.letters) or 1)
            hits[key] = hits[key]._replace(score=round(min(share, 100.0), 1))
    ranked = [hit for hit in hits.values() if hit.score > 0]
    ranked.sort(key=lambda hit: places.get(hit.key, _ELSEWHERE))
    scores = accumulate((hit.score for hit in ranked), min)
    return [hit._replace(score=score) for hit, score in zip(ranked, scores, strict=True)]


#: Where a name has the typed text: at its beginning or in its words letter by letter, at its
#: beginning in another spelling, or elsewhere.
_TYPED, _TYPED_WORDS, _RESPELLED, _ELSEWHERE = range(4)
_BEGUN = (_TYPED, _RESPELLED)


def _place(one: NameCandidate, beginning: FoldedText, starts: Sequence[str], typed: str) -> int:
    if one.type is NameType.CURRENT:
        if _letters(one.text).startswith(typed):
            return _TYPED
        if begins_with(one.name, one.text, starts):
            # Behind a legal form at the beginning of the text, which names have at their ends.
            is_behind = typed.endswith(beginning.letters) and typed != beginning.letters
            is_typed = is_behind and one.name.letters.startswith(beginning.letters)
            return _TYPED if is_typed else _RESPELLED
    if beginning.letters.isascii():
        return _ELSEWHERE
    words = one.name.tokens
    has_all = all(any(word.startswith(each) for word in words) for each in beginning.tokens)
    return _TYPED_WORDS if has_all else _ELSEWHERE


def _letters(text: str) -> str:
    """Returns the letters and digits of a text as they are written, in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFC", text).casefold()))


def _without_forms(
    found: list[NameCandidate], beginning: FoldedText, text: str
) -> list[NameCandidate]:
    """Returns the names without those that only a legal form resembles, which is all of the text.

    `a/s` and `as` list names that begin so, and `as` those with a word that does; no `Roche A/S`.
    """
    form = beginning.letters
    longer = r"(?=\w)" if form in TRAILING_FORMS else ""
    word = re.compile(rf"(?<![\w/.]){form}(?![/.]){longer}", re.IGNORECASE)
    is_letters = text.isalnum()
    return [
        one
        for one in found
        if one.name.letters.startswith(form) or (is_letters and word.search(one.text))
    ]


def _read(
    search: NameSearch, query: tantivy.Query, found: list[NameCandidate], limit: int
) -> list[NameCandidate]:
    fitting: list[NameCandidate] = []
    for share in _READ:
        documents = search.view.best_ranked(query, share * limit)
        fitting = search.scored(documents)
        if len(each_once(found + fitting)) >= limit or len(documents) < share * limit:
            break
    return fitting


def _literal_steps(view: View, typed: TypedText) -> Iterator[tuple[int, Sequence[tantivy.Query]]]:
    yield 0, [literally_begins(view, typed.beginning)]
    if not typed.beginning.letters.isascii():
        yield 0, [words_literally_begin(view, typed.beginning)]


def _steps(view: View, typed: TypedText) -> Iterator[tuple[int, Sequence[tantivy.Query]]]:
    for queries in _without_typos(view, typed):
        yield 0, queries
    name = typed.whole
    yield 1, [one_of((almost_begins(view, name, 1), words_almost_begin(view, name, 1)))]
    yield 2, [almost_begins(view, name, 2)]
    yield 2, [words_almost_begin(view, name, 2)]


def _without_typos(view: View, typed: TypedText) -> Iterator[Sequence[tantivy.Query]]:
    wholes, readings = dict.fromkeys(typed[1:]), dict.fromkeys(typed)
    yield one_of(is_whole(view, name) for name in wholes), begins(view, typed.beginning)
    if len(readings) > 1:
        yield [one_of(begins(view, name) for name in readings)]
    yield [one_of(words_begin(view, name) for name in readings)]


def _later_page(search: NameSearch, typed: TypedText, limit: int, after: Cursor) -> SuggestionPage:
    listed = one_of(chain.from_iterable(_without_typos(search.view, typed)))
    page: list[IndexedDocument] = []
    documents: list[IndexedDocument] = []
    has_more = False
    for count in _READ_ON:
        documents = search.view.best_ranked(listed, count, below=after.order)
        has_more = len(documents) == count
        firsts = _firsts(search.view, listed, documents)
        page = [one for one in firsts if one.company.vat not in after.first_page]
        if len(page) > limit or not has_more:
            break
    if len(page) > limit:
        page, has_more, documents = page[:limit], True, page[:limit]
    cursor = str(after._replace(order=documents[-1].order)) if has_more else None
    return SuggestionPage([one.hit for one in search.scored(page)], cursor)


def _firsts(
    view: View, listed: tantivy.Query, documents: Sequence[IndexedDocument]
) -> list[IndexedDocument]:
    secondary = {one.company for one in documents if type_of(one.order) != NameType.CURRENT}
    best: dict[int, int] = {}
    if secondary:
        same_companies = all_of([listed, view.any_of(fields.COMPANY, secondary)])
        for order in view.best_orders(same_companies, _MAX_NAMES):
            best.setdefault(rank_of(order), order)
    first: dict[CompanyKey, IndexedDocument] = {}
    for one in documents:
        if best.get(rank_of(one.order), one.order) == one.order:
            first.setdefault(one.company, one)
    return list(first.values())


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
    if cursor is not None and _NUMBERED <= cursor.order != ABOVE_ALL:
        return _numbered(segments, prefix, limit, (), cursor)
    named = suggest(view, prefix.text, limit, after, has_typos=False)
    if cursor is None and prefix.score == 100:
        whole = _hits(segments, prefix, -1, 1)
        named = named._replace(hits=[*whole, *named.hits][:limit])
    listed = (*(cursor.first_page if cursor else ()), *(hit.key.vat for hit in named.hits))
    if named.cursor is not None:
        return named
    return _numbered(segments, prefix, limit, named.hits, Cursor(_NUMBERED, listed))


def _numbered(
    segments: Segments,
    prefix: NumberPrefix,
    limit: int,
    named: Sequence[SearchHit],
    cursor: Cursor,
) -> SuggestionPage:
    wanted = limit - len(named)
    # Companies on earlier pages are not repeated.
    found = _hits(segments, prefix, cursor.order - _NUMBERED, wanted + 1 + len(cursor.first_page))
    new = [hit for hit in found if hit.key.vat not in cursor.first_page]
    page = [*named, *new[:wanted]]
    if len(new) <= wanted:
        return SuggestionPage(page)
    last = int(new[wanted - 1].key.vat) if wanted else cursor.order - _NUMBERED
    return SuggestionPage(page, str(cursor._replace(order=_NUMBERED | last)))


def _hits(segments: Segments, prefix: NumberPrefix, after: int, limit: int) -> list[SearchHit]:
    request = FindRequest(country=prefix.country, limit=0)
    after = max(after, prefix.numbers.start - 1)
    numbers = find_numbers(segments, request, None, after=after, limit=limit)
    return [
        SearchHit(company_key(prefix.country, number), prefix.score)
        for number in numbers
        if number in prefix.numbers
    ]
