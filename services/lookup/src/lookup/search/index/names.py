"""The search for a name: each step is dearer than the one before, and taken only if it may help.

The steps only find candidates; what accepts and orders them is the score (`domain/scoring.py`).
Words are looked up as they are, then in the few edits that their length allows, by walking the
dictionary of words with an automaton. What is written together or apart is found by the key of the
whole name, and by joining and parting the asked words.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import tantivy

from common.contracts.company import CompanyKey
from lookup.search.alignment import PREFIX_FROM, edits_allowed
from lookup.search.folding import Folded, collapsed
from lookup.search.index import schema as fields
from lookup.search.index.documents import read_name
from lookup.search.index.view import Found, View, all_of, one_of
from lookup.search.indexed import NameKind
from lookup.search.matching import Hit
from lookup.search.scoring import MAX_WHOLE_EDITS, NameStanding, Query, name_standing, read_query

#: Namesakes read for the one that is written as asked; more only where none of the first is.
_NAMESAKES = (8, 128, 4096)
#: Documents read of a step in the order of rank, and of those that have most of the words.
_RANKED, _ALIKE = 48, 64
#: Documents that the words of a step may be in together; with it its time is bounded.
_IN_DOCUMENTS = 100_000
#: Words of a query that are looked up, and those of them that may have typos.
_MAX_WORDS, _MAX_MISSPELT = 16, 6
#: A score that has all of the query: no dearer step betters it by more than a tie-break.
_HAS_ALL, _ENOUGH = 88.0, 80.0
#: Names whose namesakes are looked for, since a step may have read the lesser of them.
_MAX_TIES = 16


_Step = Callable[[], list[Found]]


@dataclass(frozen=True, slots=True)
class Candidate:
    found: Found
    name: Folded
    text: str
    kind: NameKind
    standing: NameStanding

    @property
    def hit(self) -> Hit:
        matched = None if self.kind is NameKind.CURRENT else self.text
        return Hit(self.found.company, self.standing.score, self.standing.exact, matched)


def search_names(view: View, term: str, limit: int) -> list[Hit]:
    """At most `limit` companies whose names answer, best first, each once."""
    query = read_query(term, view.country)
    if not query.name.words:
        return []
    search = NameSearch(view, query)
    exact = search.exact()
    candidates = exact if limit == 1 and exact else exact + search.near(limit)
    return [one.hit for one in each_once(candidates) if one.standing.accepted][:limit]


def each_once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The companies by the best of their names, best first."""
    best: dict[CompanyKey, Candidate] = {}
    for one in sorted(candidates, key=lambda one: one.standing, reverse=True):
        best.setdefault(one.found.company, one)
    return list(best.values())


@dataclass(frozen=True, slots=True)
class NameSearch:
    """The search for one query."""

    view: View
    query: Query
    _known: dict[tuple[CompanyKey, str], Candidate] = field(default_factory=dict)

    def exact(self) -> list[Candidate]:
        """Names that are equal after folding, best first; the one written as asked among them."""
        key = self.view.term(fields.NAME, self.query.name.key)
        queries = [key]
        if self.query.form:
            form = self.view.term(fields.KIND, fields.OF_FORM + self.query.form)
            queries.insert(0, all_of([key, form]))
        found: list[Candidate] = []
        for query in queries:
            for limit in _NAMESAKES:
                bearers = self.scored(self.view.best_ranked(query, limit))
                equal = [one for one in bearers if one.standing.exact]
                if equal or len(bearers) < limit:
                    found += equal
                    break
        return sorted(found, key=lambda one: one.standing, reverse=True)

    def near(self, limit: int) -> list[Candidate]:
        """The best of the names that are not equal, and those who bear the same ones."""
        candidates: list[Candidate] = []
        for enough, found in self._steps():
            candidates += self.scored(found())
            good = sum(one.standing.score >= enough for one in candidates if one.standing.accepted)
            if good >= limit:
                break
        best = max((one.standing.score for one in candidates), default=0.0)
        tied = {one.name.key for one in candidates if one.standing.score == best}
        for key in sorted(tied)[:_MAX_TIES]:
            candidates += self.scored(self.view.best_ranked(self.view.term(fields.NAME, key), 2))
        return candidates

    def _steps(self) -> Iterator[tuple[float, _Step]]:
        """Each with the score of its best that makes further ones needless."""
        view, key = self.view, self.query.name.key
        words = self._words()
        known = [word for word in words if view.frequency(word)]
        yield _HAS_ALL, lambda: self._with_all(known, ())
        yield _HAS_ALL, lambda: self._with_most(known)
        yield _HAS_ALL, self._compounds
        yield _ENOUGH, lambda: view.best_ranked(view.within(fields.NAME, key, 1), _RANKED)
        unknown = [word for word in words if not view.frequency(word)]
        if unknown:
            yield _ENOUGH, lambda: self._with_all(known, unknown)
            yield _ENOUGH, lambda: self._with_misspelt(unknown)
        yield _ENOUGH, lambda: self._each_misspelt(words)
        yield 0.0, lambda: view.best_ranked(view.within(fields.NAME, key, MAX_WHOLE_EDITS), _RANKED)

    def _words(self) -> list[str]:
        """The asked words that are looked up, as the index has them, rarest first."""
        tokens = self.query.name.tokens
        asked = [word for word in tokens if word not in self.query.beside] or tokens
        words = dict.fromkeys(collapsed(word) for word in asked)
        return sorted(words, key=self.view.frequency)[:_MAX_WORDS]

    def _with_all(self, exact: Sequence[str], misspelt: Sequence[str]) -> list[Found]:
        """The names that have all of these words, those that begin with the query first."""
        terms = [self.view.term(fields.WORD, word) for word in exact]
        terms += [self._almost(word) for word in misspelt[:_MAX_MISSPELT]]
        if not terms:
            return []
        everywhere = all_of(terms)
        found = self.view.best_ranked(everywhere, _RANKED)
        if len(found) == _RANKED:
            begins = self.view.beginning(fields.NAME, collapsed(self.query.name.tokens[0]))
            found += self.view.best_ranked(all_of([everywhere, begins]), _RANKED)
            found += self.view.most_alike(everywhere, _ALIKE)
        return found

    def _with_most(self, words: Sequence[str]) -> list[Found]:
        """The names that have most of these words, by their rarity."""
        rare = self.view.rarest(words, _IN_DOCUMENTS)
        return self.view.most_alike(self.view.any_of(fields.WORD, rare), _ALIKE) if rare else []

    def _with_misspelt(self, words: Sequence[str]) -> list[Found]:
        """The names that almost have one of these words, those that begin so first."""
        found: list[Found] = []
        for word in words[:_MAX_MISSPELT]:
            edits = edits_allowed(len(word))
            begins = self.view.beginning(fields.NAME, word, edits)
            almost = self._almost(word)
            found += self.view.best_ranked(all_of([almost, begins]), _RANKED)
            if edits:
                nearest = self.view.within(fields.WORD, word, 1)
                found += self.view.best_ranked(nearest, _RANKED)
            found += self.view.best_ranked(almost, _RANKED)
        return found

    def _each_misspelt(self, words: Sequence[str]) -> list[Found]:
        """The names that have all of these words but for typos, and all but one of them."""
        almost = [self._almost(word) for word in words[:_MAX_MISSPELT]]
        found = self.view.best_ranked(all_of(almost), _RANKED)
        for place, misspelt in enumerate(almost if len(almost) > 1 else ()):
            others = [self.view.term(fields.WORD, word) for word in words if word != words[place]]
            found += self.view.best_ranked(all_of([misspelt, *others]), _RANKED)
        return found

    def _almost(self, word: str) -> tantivy.Query:
        """Names with a word that this one may be meant for."""
        ways = [self.view.within(fields.WORD, word, edits_allowed(len(word)))]
        if len(word) >= PREFIX_FROM:
            ways.append(self.view.beginning(fields.WORD, word))
        return one_of(ways)

    def _compounds(self) -> list[Found]:
        """The names that have two of the words as one, or one of them as two."""
        tokens = [collapsed(word) for word in self.query.name.tokens[:_MAX_WORDS]]
        known, found = self.view.frequency, []
        for place, (one, two) in enumerate(pairwise(tokens)):
            if known(one + two):
                rest = [w for n, w in enumerate(tokens) if n not in (place, place + 1)]
                found += self._with_most([one + two, *rest])
        for word in tokens:
            for split in range(2, len(word) - 1):
                if known(word[:split]) and known(word[split:]):
                    found += self._with_all([word[:split], word[split:]], ())
        return found

    def scored(self, found: Iterable[Found]) -> list[Candidate]:
        """Each document once."""
        candidates = []
        for one in found:
            place = one.company, one.name
            if place not in self._known:
                self._known[place] = self._candidate(one)
            candidates.append(self._known[place])
        return candidates

    def _candidate(self, found: Found) -> Candidate:
        name = read_name(found.name)
        standing = name_standing(self.query, name, found.order, self.view.weigh)
        return Candidate(found, name.folded, name.text, name.kind, standing)
