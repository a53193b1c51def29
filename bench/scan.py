"""An exhaustive scan, the upper bound for an index: compares a query with every acceptable name.

Folding, score and tie-break are those of the index. Only names that cannot be accepted are skipped:
an accepted name shares at least one of certain words of the query.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise

from rapidfuzz import process
from rapidfuzz.distance import OSA

from common.contracts.company import CompanyKey, Country
from lookup.search.folding import collapsed, fold_name, one_line, refolded
from lookup.search.index.documents import place_words
from lookup.search.indexed_company import IndexedCompany, NameType, SearchHit, order_of, rank_order
from lookup.search.scoring import (
    ACCEPTED_SCORE,
    MAX_WHOLE_EDITS,
    Name,
    NameMatch,
    Query,
    Weigh,
    cut_ends,
    match_name,
    read_query,
    weight,
)
from lookup.search.similarity import word_similarity

_SHORTEST_PART = 2
#: Minimum query share of an accepted name, since its other points are at most 11.
_MIN_SHARE = (ACCEPTED_SCORE - 11) / 88


class Scan:
    """All names of a register, by their words."""

    def __init__(
        self,
        companies: Iterable[IndexedCompany],
        country: Country,
        *,
        weigh: Weigh | None = None,
    ) -> None:
        """Words weigh by their rarity among the names, or as `weigh` says."""
        self._country = country
        self._weigh = weigh or self._by_rarity
        #: One line of text for each name, which takes a fraction of the memory of objects.
        self._lines: list[str] = []
        self._keys: list[str] = []
        self._places: set[str] = set()
        self._postings: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        for company in companies:
            places = place_words(company.addresses)
            self._places.update(places.split(" "))
            for text, kind in company.names:
                self._add(company, text, kind, places)
        self._similar_to = lru_cache(maxsize=10_000)(self._all_similar_to)
        self.names = len(self._lines)

    def _add(self, company: IndexedCompany, text: str, kind: NameType, places: str) -> None:
        name, order = fold_name(text), order_of(kind, rank_order(company.rank))
        spelled = name.spelled.split(" ")
        for word in {*spelled, *map(collapsed, spelled)}:
            self._postings[word].append(len(self._lines))
        self._keys.append(name.key)
        cells = (f"{kind:d}", str(order), company.key, name.spelled, places, one_line(text))
        self._lines.append("\t".join(cells))

    def search_name(self, term: str) -> SearchHit | None:
        """Returns the best of all names."""
        query = read_query(term, self._country)
        near = self._similar_whole(query) | self._with_words(query)
        ranked = (self._match(query, number) for number in near)
        best = max(ranked, key=lambda one: one[0], default=None)
        if best is None or not best[0].accepted:
            return None
        match, key, matched = best
        return SearchHit(key, match.score, matched)

    def _similar_whole(self, query: Query) -> set[int]:
        found = process.extract_iter(
            query.name.key, self._keys, scorer=OSA.distance, score_cutoff=MAX_WHOLE_EDITS
        )
        stems = {stem.key for stem, _ in cut_ends(query.written)}
        slipped = {number for number, other in enumerate(self._keys) if other in stems}
        return slipped | {number for _, _, number in found}

    def _with_words(self, query: Query) -> set[int]:
        """Returns every name with one of the words of which an accepted name must have one."""
        words = list(dict.fromkeys(map(collapsed, query.name.tokens)))
        own = [collapsed(word) for word in query.name.tokens if word not in query.context]
        here = [word for word in own if word not in self._places]
        needed = {*self._needed(list(dict.fromkeys(own)) or words), *self._needed(here)}
        spellings = {word for word in query.name.tokens if collapsed(word) in needed}
        found = {number for word in needed | spellings for number in self._similar(word)}
        for one, two in pairwise(words):
            found.update(self._postings.get(one + two, ()))
        for word in words:
            for split in range(_SHORTEST_PART, len(word) - 1):
                first, second = self._postings.get(word[:split]), self._postings.get(word[split:])
                if first and second:
                    found |= set(first).intersection(second)
        return found

    def _needed(self, words: list[str]) -> list[str]:
        """Returns the rarest words, until the rest weighs too little for an accepted name."""
        by_weight = sorted(words, key=self._weigh, reverse=True)
        weights = [self._weigh(word) for word in by_weight]
        left = (sum(weights) - taken for taken in accumulate(weights))
        enough = (n for n, rest in enumerate(left, 1) if rest < _MIN_SHARE * sum(weights))
        return by_weight[: next(enough, len(words))]

    def _similar(self, word: str) -> Iterator[int]:
        for other in self._similar_to(word):
            yield from self._postings[other]

    def _all_similar_to(self, word: str) -> list[str]:
        return [other for other in self._postings if word_similarity.__wrapped__(word, other)]

    def _by_rarity(self, word: str) -> float:
        folded = collapsed(word)
        return weight(folded, len(self._postings.get(folded, ())), self.names)

    def _match(self, query: Query, number: int) -> tuple[NameMatch, CompanyKey, str | None]:
        kind, order, company, spelled, places, text = self._lines[number].split("\t")
        of_kind = NameType(int(kind))
        name = Name(of_kind, refolded(spelled), text, frozenset(places.split(" ")))
        match = match_name(query, name, int(order), self._weigh)
        return match, CompanyKey.parse(company), None if of_kind is NameType.CURRENT else text
