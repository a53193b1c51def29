"""Search for an address: first at the street and house of the query, then in wider steps.

Every candidate is at the house number of the query and shares its postcode or town; the street and
the town may be misspelt. The steps only find candidates; the score decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import tantivy

from common.contracts.company import CompanyKey
from lookup.search.address_scoring import ACCEPTED_ADDRESS, match_address
from lookup.search.addresses import ParsedAddress, read_address
from lookup.search.index import schema as fields
from lookup.search.index.documents import (
    ABROAD,
    NO_HOUSE,
    area_terms,
    dwelling_term,
    house_terms,
    read_address_record,
)
from lookup.search.index.schema import IndexedDocument, View, all_of, one_of
from lookup.search.indexed_company import RANK_BITS, SearchHit
from lookup.search.similarity import AddressMatch
from lookup.search.streets import proper_words

#: Documents that each step reads and scores.
_AT_THE_HOUSE, _BY_SCORE = 64, 100
#: A score that a wider step hardly ever exceeds.
_ENOUGH = 80.0
_MAX_EDITS = 2
#: Maximum documents that contain the grams of a search, which bounds its time.
_IN_DOCUMENTS = 400_000
#: Maximum streets with the best score of which every company is read.
_MAX_TIES = 8


@dataclass(frozen=True, slots=True)
class AddressCandidate:
    """An address in the index that may match, with its score."""

    document: IndexedDocument
    address: ParsedAddress
    match: AddressMatch


def search_addresses(view: View, term: str, limit: int) -> list[SearchHit]:
    """Returns at most `limit` companies at the address, best first, each once."""
    searches = [_Search(view, query) for query in read_address(term)]
    found = [(one, search) for search in searches for one in search.best()]
    hits: dict[CompanyKey, SearchHit] = {}
    best: tuple[AddressCandidate, _Search] | None = None
    same: set[CompanyKey] = set()
    for one, search in sorted(found, key=lambda pair: pair[0].match, reverse=True):
        if one.match.score < ACCEPTED_ADDRESS:
            break
        best = best or (one, search)
        key = one.document.company
        if one.match.score == best[0].match.score:
            same.add(key)
        elif len(hits) >= limit:
            break
        if len(hits) < limit:
            hits.setdefault(key, SearchHit(key, one.match.score))
    if best is None:
        return []
    first, *rest = hits.values()
    candidate, search = best
    # A crowded house has more companies than are read.
    more = search.companies_like(candidate) if len(found) >= _AT_THE_HOUSE else 0
    return [first._replace(others=max(len(same), more) - 1), *rest]


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one reading of a query."""

    view: View
    query: ParsedAddress

    def best(self) -> list[AddressCandidate]:
        """Returns the candidates with the best score, and every company at one of their houses."""
        candidates: list[AddressCandidate] = []
        for found in self._steps():
            candidates += self._scored(found)
            if candidates and max(one.match.score for one in candidates) >= _ENOUGH:
                break
        best = max((one.match.score for one in candidates), default=0.0)
        tied = [one for one in candidates if one.match.score == best]
        # A step reads a limited number of documents, so the best of a house may be missing.
        for street in sorted({one.address.street.key for one in tied})[:_MAX_TIES]:
            tied += self._scored(self._in(street))
        return tied

    def _steps(self) -> Iterator[list[IndexedDocument]]:
        street = self.query.street
        area = self._area()
        yield self._in(street.key)
        near = self.view.within(fields.STREET, street.key, _MAX_EDITS)
        yield self.view.best_ranked(self._here(near, area), _AT_THE_HOUSE)
        similar = self._with_grams_of(proper_words(street.words))
        yield self.view.best_scored(self._here(similar, area), _BY_SCORE)
        if self.query.towns:
            towns = self.query.towns
            misspelt = one_of(self.view.within(fields.AREA, town, _MAX_EDITS) for town in towns)
            yield self.view.best_ranked(self._here(near, misspelt), _AT_THE_HOUSE)
        if self.query.whole:
            text = self._with_grams_of(self.query.whole.words)
            abroad = self.view.term(fields.HOUSE, ABROAD)
            yield self.view.best_scored(all_of([text, abroad]), _BY_SCORE)

    def _in(self, street: str) -> list[IndexedDocument]:
        """Returns the best ranked at the house of a street; in a crowded house also by dwelling."""
        query = self._here(self.view.term(fields.STREET, street), self._area())
        found = self.view.best_ranked(query, _AT_THE_HOUSE)
        if len(found) == _AT_THE_HOUSE:
            for narrower in self._narrower():
                found += self.view.best_ranked(all_of([query, *narrower]), _AT_THE_HOUSE)
        return found

    def companies_like(self, best: AddressCandidate) -> int:
        """Returns the number of companies at the house and dwelling of a candidate."""
        here = self._here(self.view.term(fields.STREET, best.address.street.key), self._area())
        dwelling = self.view.term(fields.DWELLING, dwelling_term(best.address))
        numbers, orders = self.view.every(all_of([here, dwelling])).T
        is_same_type = orders >> np.uint64(RANK_BITS) == best.document.order >> RANK_BITS
        return len(np.unique(numbers[is_same_type]))

    def _here(self, *queries: tantivy.Query | None) -> tantivy.Query:
        house = self.query.house
        numbers = one_of(self._terms(fields.HOUSE, house_terms(house))) if house else None
        return all_of(query for query in (*queries, numbers) if query is not None)

    def _with_grams_of(self, words: str) -> tantivy.Query:
        grams = self.view.rare_grams(fields.STREET_GRAMS, words, _IN_DOCUMENTS)
        return self.view.any_of(fields.STREET_GRAMS, grams)

    def _area(self) -> tantivy.Query | None:
        terms = area_terms(self.query)
        return one_of(self._terms(fields.AREA, terms)) if terms else None

    def _narrower(self) -> Iterator[list[tantivy.Query]]:
        house = self.view.term(fields.HOUSE, NO_HOUSE)
        dwelling = self.view.term(fields.DWELLING, dwelling_term(self.query))
        same = [dwelling] if self.query.house else [house]
        yield same
        if self.query.postal_code:
            postcode = self.view.term(fields.AREA, self.query.postal_code)
            yield [postcode]
            yield [postcode, *same]

    def _terms(self, field: str, values: list[str]) -> Iterator[tantivy.Query]:
        return (self.view.term(field, value) for value in values)

    def _scored(self, found: list[IndexedDocument]) -> list[AddressCandidate]:
        scored = []
        for one in found:
            type_, address = read_address_record(one.address)
            match = match_address(self.query, address, address_type=type_, order=one.order)
            scored.append(AddressCandidate(one, address, match))
        return scored
