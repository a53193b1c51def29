"""The search for an address: from the asked street and house outwards, and no further than needed.

Every candidate is at the asked house number and shares postcode or town with the question; its
street may be misspelt, and so may the town. The score decides; the steps only find what may score.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import tantivy

from common.contracts.company import CompanyKey
from lookup.search.addresses import Place, read_address
from lookup.search.index import schema as fields
from lookup.search.index.documents import (
    ABROAD,
    NO_HOUSE,
    area_terms,
    dwelling_term,
    house_terms,
    read_address_record,
)
from lookup.search.index.view import Found, View, all_of, one_of
from lookup.search.matching import Hit, Standing
from lookup.search.matching_addresses import ACCEPTED_ADDRESS, address_standing
from lookup.search.streets import own_words

#: Documents read and scored of each step.
_AT_THE_HOUSE, _ALIKE = 64, 100
#: A score that a wider step hardly ever betters.
_ENOUGH = 80.0
_MOST_EDITS = 2
#: Documents that the grams of a search may be in together; with it its time is bounded.
_IN_DOCUMENTS = 400_000
#: Streets that differ, and stand equally well against what was asked.
_MOST_TIES = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    found: Found
    place: Place
    standing: Standing


def search_addresses(view: View, term: str, limit: int) -> list[Hit]:
    """At most `limit` companies at the address, best first, each once."""
    candidates = [one for asked in read_address(term) for one in _Search(view, asked).best()]
    hits: dict[CompanyKey, Hit] = {}
    for one in sorted(candidates, key=lambda one: one.standing, reverse=True):
        if one.standing.score < ACCEPTED_ADDRESS or len(hits) == limit:
            break
        key, standing = one.found.company, one.standing
        hits.setdefault(key, Hit(key, score=standing.score, exact=standing.exact))
    return list(hits.values())


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one reading of a question."""

    view: View
    asked: Place

    def best(self) -> list[Candidate]:
        """The candidates that score best, and every company at one of their houses."""
        candidates: list[Candidate] = []
        for found in self._steps():
            candidates += self._scored(found)
            if candidates and max(one.standing.score for one in candidates) >= _ENOUGH:
                break
        best = max((one.standing.score for one in candidates), default=0.0)
        tied = [one for one in candidates if one.standing.score == best]
        # A step reads a limited number of documents, so the best of one house may be missing.
        for street in sorted({one.place.street.key for one in tied})[:_MOST_TIES]:
            tied += self._scored(self._in(street))
        return tied

    def _steps(self) -> Iterator[list[Found]]:
        street = self.asked.street
        area = self._area()
        yield self._in(street.key)
        near = self.view.within(fields.STREET, street.key, _MOST_EDITS)
        yield self.view.best_ranked(self._here(near, area), _AT_THE_HOUSE)
        alike = self._with_grams_of(own_words(street.words))
        yield self.view.most_alike(self._here(alike, area), _ALIKE)
        if self.asked.towns:
            towns = self.asked.towns
            misspelt = one_of(self.view.within(fields.AREA, town, _MOST_EDITS) for town in towns)
            yield self.view.best_ranked(self._here(near, misspelt), _AT_THE_HOUSE)
        if self.asked.whole:
            text = self._with_grams_of(self.asked.whole.words)
            abroad = self.view.term(fields.HOUSE, ABROAD)
            yield self.view.most_alike(all_of([text, abroad]), _ALIKE)

    def _in(self, street: str) -> list[Found]:
        """The best ranked at the asked house of a street; of a crowded one the dwelling too."""
        query = self._here(self.view.term(fields.STREET, street), self._area())
        found = self.view.best_ranked(query, _AT_THE_HOUSE)
        if len(found) == _AT_THE_HOUSE:
            for narrower in self._narrower():
                found += self.view.best_ranked(all_of([query, *narrower]), _AT_THE_HOUSE)
        return found

    def _here(self, *queries: tantivy.Query | None) -> tantivy.Query:
        """What matches all the queries at the asked house number."""
        house = self.asked.house
        numbers = one_of(self._terms(fields.HOUSE, house_terms(house))) if house else None
        return all_of(query for query in (*queries, numbers) if query is not None)

    def _with_grams_of(self, words: str) -> tantivy.Query:
        grams = self.view.rare_grams(fields.STREET_GRAMS, words, _IN_DOCUMENTS)
        return self.view.any_of(fields.STREET_GRAMS, grams)

    def _area(self) -> tantivy.Query | None:
        terms = area_terms(self.asked)
        return one_of(self._terms(fields.AREA, terms)) if terms else None

    def _narrower(self) -> Iterator[list[tantivy.Query]]:
        """What to ask for beside street and house when more companies are there than are read."""
        house = self.view.term(fields.HOUSE, NO_HOUSE)
        dwelling = self.view.term(fields.DWELLING, dwelling_term(self.asked))
        same = [dwelling] if self.asked.house else [house]
        yield same
        if self.asked.postal_code:
            postcode = self.view.term(fields.AREA, self.asked.postal_code)
            yield [postcode]
            yield [postcode, *same]

    def _terms(self, field: str, values: list[str]) -> Iterator[tantivy.Query]:
        return (self.view.term(field, value) for value in values)

    def _scored(self, found: list[Found]) -> list[Candidate]:
        return [self._candidate(one) for one in found]

    def _candidate(self, found: Found) -> Candidate:
        kind, place = read_address_record(found.address)
        standing = address_standing(self.asked, place, kind=kind, order=found.order)
        return Candidate(found, place, standing)
