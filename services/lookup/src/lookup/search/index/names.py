"""Search by name, in steps of increasing cost; a step runs only if it may improve the result.

The steps only collect candidates, which `lookup.search.scoring` accepts and orders. Words are
looked up unchanged, then within the edits that their length allows, by traversing the dictionary
of words with an automaton. Compounds are found by the key of the whole name, and by joining and
splitting the queried words.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

import tantivy

from common.contracts.company import CompanyKey
from lookup.search.folding import FoldedText, collapsed
from lookup.search.index import schema as fields
from lookup.search.index.documents import read_name
from lookup.search.index.prefixes import is_whole
from lookup.search.index.schema import IndexedDocument, View, all_of, one_of
from lookup.search.indexed_company import NameType, SearchHit
from lookup.search.scoring import (
    MAX_WHOLE_EDITS,
    Name,
    NameMatch,
    Query,
    cut_ends,
    forms_like,
    is_as_written,
    is_informative,
    match_name,
    read_query,
    whole_edits,
)
from lookup.search.similarity import EXACT, PREFIX_FROM, edits_allowed

#: Namesakes read to find the one with the queried spelling; more only if the first have none.
_NAMESAKES = (8, 128, 4096)
#: Documents that a step reads by rank, and by BM25.
_RANKED, _BY_SCORE = 48, 64
#: Maximum documents that contain the words of a step, which bounds its time.
_IN_DOCUMENTS = 100_000
#: Maximum words of a query that are looked up, and that are looked up with typos.
_MAX_WORDS, _MAX_MISSPELT = 16, 6
#: The score of a name with the whole query, which later steps exceed only by tie-breaks.
_HAS_ALL, _ENOUGH = 88.0, 80.0
#: Maximum names whose namesakes are read, since a step may have missed the best ranked; documents
#: of each that are read, and of one with more.
_MAX_TIES, _TIED, _MAX_TIED = 16, 2, 128
#: Equal names that are read to find one that is written as queried.
_READ_FOR_WRITING = 128
#: Names with other figures that are proposed where none is found, and the least by which their
#: score is below that of a name which is.
_MAX_PROPOSED, _BELOW = 3, 0.1


_Step = Callable[[], list[IndexedDocument]]


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """A name in the index that may match, with its score."""

    document: IndexedDocument
    name: FoldedText
    text: str
    type: NameType
    match: NameMatch

    @property
    def hit(self) -> SearchHit:
        """The company with its score, and the matched name unless it is the current one."""
        matched = None if self.type is NameType.CURRENT else self.text
        return SearchHit(self.document.company, self.match.score, matched, 0, self.match.is_other)


class Ranking(NamedTuple):
    """Candidates, and the number of companies that match as well as the best of them."""

    candidates: list[NameCandidate]
    companies: int


def search_names(view: View, term: str, limit: int) -> list[SearchHit]:
    """Returns at most `limit` companies with accepted names, best first, each once.

    Names that only a figure makes others follow if there is room, or if nothing else is found.
    """
    query = read_query(term, view.country)
    if not query.name.words:
        return []
    search = NameSearch(view, query)
    found, companies = search.exact()
    if not found and query.as_form:
        search = NameSearch(view, query.as_form)
        found, companies = search.exact()
    if limit > 1 or not found:
        near, near_companies = search.near(limit)
        companies = companies if found else near_companies
        found = found + near
    ranked = each_once(found)
    hits = [one.hit for one in ranked if one.match.accepted][:limit]
    if companies > 1 and hits:
        hits[0] = hits[0]._replace(others=companies - 1)
    proposed = limit - len(hits) if hits else max(limit, _MAX_PROPOSED)
    if not proposed:
        return hits
    # None seems to match as well as the answer.
    below = hits[-1].score - _BELOW if hits else EXACT
    others = [
        one.hit._replace(score=round(min(one.match.score, below), 1))
        for one in sorted(ranked, key=lambda one: one.match.score, reverse=True)
        if one.match.is_other
    ]
    return hits + others[:proposed]


def many_share(view: View, term: str) -> bool:
    """Returns True if the words are too common to find one company, and several have all."""
    query = read_query(term, view.country)
    if not query.name.words or is_informative(query.name.tokens, view.weigh):
        return False
    words = [view.term(fields.WORD, word) for word in NameSearch(view, query).words()]
    return len({one.company for one in view.best_ranked(all_of(words), _RANKED)}) > 1


def each_once(candidates: Iterable[NameCandidate]) -> list[NameCandidate]:
    """Returns the companies by the best of their names, best first."""
    best: dict[CompanyKey, NameCandidate] = {}
    for one in sorted(candidates, key=lambda one: one.match, reverse=True):
        best.setdefault(one.document.company, one)
    return list(best.values())


@dataclass(frozen=True, slots=True)
class NameSearch:
    """The search for one query."""

    view: View
    query: Query
    #: Other readings of the same text, for names that have no score by the first.
    readings: tuple[Query, ...] = ()
    _known: dict[tuple[CompanyKey, str], NameCandidate] = field(default_factory=dict)

    def exact(self) -> Ranking:
        """Returns the names equal after folding, the one that is written as queried first."""
        key = self.view.term(fields.NAME, self.query.name.key)
        namesakes, total = self.view.counted(key, _NAMESAKES[0])
        if total <= len(namesakes):
            found = [one for one in self.scored(namesakes) if one.match.exact]
            companies = len({one.document.company for one in found})
        else:
            found = self._equal(key)
            if self.query.form:
                found += self._equal(all_of([key, self._of_form(self.query.form)]))
            companies = self.view.companies(is_whole(self.view, self.query.name))
        return Ranking(sorted(found, key=lambda one: one.match, reverse=True), companies)

    def _equal(self, query: tantivy.Query) -> list[NameCandidate]:
        equal: list[NameCandidate] = []
        for limit in _NAMESAKES:
            namesakes = self.scored(self.view.best_ranked(query, limit))
            equal = [one for one in namesakes if one.match.exact]
            is_found = any(is_as_written(one.match) for one in equal)
            if is_found or len(namesakes) < limit or (equal and limit >= _READ_FOR_WRITING):
                break
        return equal

    def near(self, limit: int) -> Ranking:
        """Returns the best names that are not equal, and their namesakes."""
        candidates: list[NameCandidate] = []
        for enough, found in self._steps():
            candidates += self.scored(found())
            good = sum(one.match.score >= enough for one in candidates if one.match.accepted)
            if good >= limit:
                break
        best = max((one.match.score for one in candidates), default=0.0)
        tied = {one.name.key for one in candidates if one.match.score == best}
        unread = 0
        for key in sorted(tied)[:_MAX_TIES]:
            same, more = self._namesakes(key)
            candidates += self.scored(same)
            unread += more
        accepted = [one for one in candidates if one.match.accepted]
        most = max((one.match.score for one in accepted), default=0.0)
        companies = len({one.document.company for one in accepted if one.match.score == most})
        return Ranking(candidates, companies + unread * (most == best))

    def _namesakes(self, key: str) -> tuple[list[IndexedDocument], int]:
        query = self.view.term(fields.NAME, key)
        found, total = self.view.counted(query, _TIED)
        if total <= len(found):
            return found, 0
        found = self.view.best_ranked(query, _MAX_TIED)
        if total <= len(found):
            return found, 0
        return found, self.view.companies(query) - len({one.company for one in found})

    def _steps(self) -> Iterator[tuple[float, _Step]]:
        view, words = self.view, self.words()
        known = [word for word in words if view.frequency(word)]
        unknown = [word for word in words if not view.frequency(word)]
        if not is_informative(self.query.name.tokens, view.weigh):
            # Accepted only if a name has all of several words, or is equal except for typos.
            if len(self.query.name.tokens) > 1:
                yield _HAS_ALL, lambda: self._with_all(known, ())
                yield _ENOUGH, self._with_slipped_form
                yield _ENOUGH, lambda: self._similar_whole(1)
                yield 0.0, lambda: self._similar_whole(MAX_WHOLE_EDITS)
            return
        if not unknown or is_informative(known, view.weigh):
            yield _HAS_ALL, lambda: self._with_all(known, ())
            yield _HAS_ALL, lambda: self._with_most(known)
        yield _HAS_ALL, self._compounds
        yield _ENOUGH, self._with_slipped_form
        yield _ENOUGH, lambda: self._similar_whole(1)
        if unknown:
            yield _ENOUGH, lambda: self._with_all(known, unknown)
            yield _ENOUGH, lambda: self._with_misspelt(unknown, known)
        yield _ENOUGH, lambda: self._each_misspelt(words)
        yield 0.0, lambda: self._similar_whole(MAX_WHOLE_EDITS)

    def _with_slipped_form(self) -> list[IndexedDocument]:
        if self.query.has_form:
            return []
        ways: tuple[list[tantivy.Query], ...] = [], []
        for stem, end in cut_ends(self.query.written):
            if self.view.has(fields.NAME, stem.key):
                key = self.view.term(fields.NAME, stem.key)
                for form, edits in forms_like(end).items():
                    ways[edits].append(all_of([key, self._of_form(form)]))
        # Namesakes of the form that is meant are found behind any number of others.
        found = (self.view.best_ranked(one_of(each), _RANKED) for each in ways if each)
        return list(chain.from_iterable(found))

    def _of_form(self, form: str) -> tantivy.Query:
        return self.view.term(fields.KIND, fields.OF_FORM + form)

    def _similar_whole(self, edits: int) -> list[IndexedDocument]:
        key = self.query.name.key
        # One edit is a share of the name with its legal form.
        letters = len(self.query.written.key if edits == 1 else key)
        if edits > whole_edits(letters):
            return []
        return self.view.best_ranked(self.view.within(fields.NAME, key, edits), _RANKED)

    def words(self) -> list[str]:
        """Returns the queried words to look up, as indexed, rarest first."""
        tokens = self.query.name.tokens
        queried = [word for word in tokens if word not in self.query.context] or tokens
        words = dict.fromkeys(collapsed(word) for word in queried)
        return sorted(words, key=self.view.frequency)[:_MAX_WORDS]

    def _with_all(self, exact: Sequence[str], misspelt: Sequence[str]) -> list[IndexedDocument]:
        """Returns names with all of these words.

        If there are many, also those that begin with the query's first word, and the best by BM25.
        """
        terms = [self.view.term(fields.WORD, word) for word in exact]
        terms += [self._almost(word) for word in misspelt[:_MAX_MISSPELT]]
        if not terms:
            return []
        everywhere = all_of(terms)
        found = self.view.best_ranked(everywhere, _RANKED)
        if len(found) == _RANKED:
            begins = self.view.beginning(fields.NAME, collapsed(self.query.name.tokens[0]))
            found += self.view.best_ranked(all_of([everywhere, begins]), _RANKED)
            found += self.view.best_scored(everywhere, _BY_SCORE)
        return found

    def _with_most(self, words: Sequence[str]) -> list[IndexedDocument]:
        rare = self.view.rarest(words, _IN_DOCUMENTS)
        return self.view.best_scored(self.view.any_of(fields.WORD, rare), _BY_SCORE) if rare else []

    def _with_misspelt(self, unknown: Sequence[str], known: Sequence[str]) -> list[IndexedDocument]:
        """Returns names with a word like an unknown one; an uninformative one needs another."""
        found: list[IndexedDocument] = []
        weights = {word: self.view.weigh(word) for word in (*unknown, *known)}
        for word in unknown[:_MAX_MISSPELT]:
            almost = self._almost(word)
            if weights[word] >= sum(weights.values()) / 2:
                found += self._nearest(word, almost)
            elif known:
                others = self.view.any_of(fields.WORD, known)
                found += self.view.best_ranked(all_of([almost, others]), _RANKED)
        return found

    def _nearest(self, word: str, almost: tantivy.Query) -> list[IndexedDocument]:
        """Returns names with a similar word.

        If there are many, also those with at most one edit, and those that begin with the word.
        """
        found = self.view.best_ranked(almost, _RANKED)
        if len(found) == _RANKED:
            edits = edits_allowed(len(word))
            begins = self.view.beginning(fields.NAME, word, edits)
            nearest = self.view.within(fields.WORD, word, min(edits, 1))
            for query in (nearest, all_of([almost, begins])):
                found += self.view.best_ranked(query, _RANKED)
        return found

    def _each_misspelt(self, words: Sequence[str]) -> list[IndexedDocument]:
        almost = [self._almost(word) for word in words[:_MAX_MISSPELT]]
        found = self.view.best_ranked(all_of(almost), _RANKED)
        for n, misspelt in enumerate(almost if len(almost) > 1 else ()):
            exact = [self.view.term(fields.WORD, word) for word in words if word != words[n]]
            found += self.view.best_ranked(all_of([misspelt, *exact]), _RANKED)
        return found

    def _almost(self, word: str) -> tantivy.Query:
        spellings = {word, *(one for one in self.query.name.tokens if collapsed(one) == word)}
        ways = [self.view.within(fields.WORD, one, edits_allowed(len(one))) for one in spellings]
        if len(word) >= PREFIX_FROM:
            ways.append(self.view.beginning(fields.WORD, word))
        return one_of(ways)

    def _compounds(self) -> list[IndexedDocument]:
        tokens = [collapsed(word) for word in self.query.name.tokens[:_MAX_WORDS]]
        known, found = self.view.frequency, []
        for position, (one, two) in enumerate(pairwise(tokens)):
            if known(one + two):
                rest = [w for n, w in enumerate(tokens) if n not in (position, position + 1)]
                found += self._with_most([one + two, *rest])
        for word in tokens:
            for split in range(2, len(word) - 1):
                if known(word[:split]) and known(word[split:]):
                    found += self._with_all([word[:split], word[split:]], ())
        return found

    def scored(self, found: Iterable[IndexedDocument]) -> list[NameCandidate]:
        """Returns the candidates, each scored once."""
        candidates = []
        for one in found:
            key = one.company, one.name
            if key not in self._known:
                name = read_name(one.name)
                match = self._match(name, one.order)
                self._known[key] = NameCandidate(one, name.folded, name.text, name.type, match)
            candidates.append(self._known[key])
        return candidates

    def _match(self, name: Name, order: int) -> NameMatch:
        match = match_name(self.query, name, order, self.view.weigh)
        if match.score > 0 or not self.readings:
            return match
        others = (match_name(each, name, order, self.view.weigh) for each in self.readings)
        return max(match, *others)
