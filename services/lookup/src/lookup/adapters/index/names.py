"""The search for a name: each step is dearer than the one before, and asked only if that failed.

The steps after the exact one find candidates; what orders them is the score alone. Typos are found
by walking the dictionary of names with an automaton that accepts one or two edits, which misses
none; words that are missing or too many, and more than two typos, are found by trigrams. Walking
with two edits is the dearest step, and the rarest trigrams mostly spare it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import tantivy

from common.contracts.company import CompanyKey
from lookup.adapters.index import schema as fields
from lookup.adapters.index.documents import read_name
from lookup.adapters.index.view import Found, View, one_of
from lookup.domain.folding import Folded, fold_name
from lookup.domain.matching import ACCEPTED_NAME, Hit, Standing, name_standing

#: Companies read that share a name; more only when none of them is spelled as asked.
_BEARERS = (8, 128, 4096)
#: Documents read and scored of each step.
_SAME_WORDS, _NEIGHBOURS, _ALIKE = 16, 200, 100
#: A score that the dearer steps hardly ever better.
_ENOUGH = 80.0
#: Documents that the grams of a search may be in together, before the second automaton and after
#: it; with it its time is bounded.
_IN_FEW, _IN_DOCUMENTS = 100_000, 400_000
#: Names that differ, and stand equally well against what was asked.
_MOST_TIES = 16


@dataclass(frozen=True, slots=True)
class Candidate:
    found: Found
    name: Folded
    standing: Standing


def search_names(view: View, term: str, limit: int) -> list[Hit]:
    """At most `limit` companies whose names answer, best first, each once."""
    asked = fold_name(term)
    if not asked.words:
        return []
    exact = _exact(view, asked)
    if exact and limit == 1:
        return [_hit(exact)]
    candidates = _most_alike(view, asked) + ([exact] if exact else [])
    hits: dict[CompanyKey, Hit] = {}
    for one in sorted(candidates, key=lambda one: one.standing, reverse=True):
        if one.standing.score < ACCEPTED_NAME or len(hits) == limit:
            break
        hits.setdefault(one.found.company, _hit(one))
    return list(hits.values())


def _hit(one: Candidate) -> Hit:
    return Hit(one.found.company, score=one.standing.score, exact=one.standing.exact)


def _exact(view: View, asked: Folded) -> Candidate | None:
    query = view.term(fields.NAME, asked.key)
    for limit in _BEARERS:
        bearers = _scored(asked, view.best_ranked(query, limit))
        # They come best ranked first.
        if exact := next((one for one in bearers if one.standing.exact), None):
            return exact
        if len(bearers) < limit:
            break
    return None


def _most_alike(view: View, asked: Folded) -> list[Candidate]:
    candidates: list[Candidate] = []
    for found in _steps(view, asked):
        candidates += _scored(asked, found)
        if candidates and max(one.standing.score for one in candidates) >= _ENOUGH:
            break
    if not candidates:
        return []
    return [*candidates, *_with_their_namesakes(view, asked, candidates)]


def _steps(view: View, asked: Folded) -> Iterator[list[Found]]:
    key = asked.key
    yield view.best_ranked(_with_the_words(view, asked), _SAME_WORDS)
    if _may_be_accepted(len(key), 1):
        yield view.best_ranked(view.within(fields.NAME, key, 1), _NEIGHBOURS)
    rarest = view.rare_grams(fields.NAME_GRAMS, asked.words, _IN_FEW)
    yield view.most_alike(view.any_of(fields.NAME_GRAMS, rarest), _ALIKE)
    if _may_be_accepted(len(key), 2):
        yield view.best_ranked(view.within(fields.NAME, key, 2), _NEIGHBOURS)
    rare = view.rare_grams(fields.NAME_GRAMS, asked.words, _IN_DOCUMENTS)
    if rare != rarest:
        yield view.most_alike(view.any_of(fields.NAME_GRAMS, rare), _ALIKE)


def _with_the_words(view: View, asked: Folded) -> tantivy.Query:
    """Names with the asked words in any order; of one in alphabetical order that is its key."""
    both = (fields.SAME_WORDS, fields.NAME)
    return one_of(view.term(field, asked.sorted_key) for field in both)


def _may_be_accepted(letters: int, edits: int) -> bool:
    """Whether a name of so many letters, and as many more as edits, can still score enough."""
    return 100 * (1 - edits / (letters + edits)) >= ACCEPTED_NAME


def _with_their_namesakes(
    view: View, asked: Folded, candidates: list[Candidate]
) -> Iterator[Candidate]:
    """The candidates that score best, and of those who bear one of their names the best ranked.

    A step reads a limited number of documents, so of many namesakes the best may be missing.
    """
    best = max(one.standing.score for one in candidates)
    tied = [one for one in candidates if one.standing.score == best]
    yield from tied
    for key in sorted({one.name.key for one in tied})[:_MOST_TIES]:
        yield from _scored(asked, view.best_ranked(view.term(fields.NAME, key), 1))


def _scored(asked: Folded, found: Iterable[Found]) -> list[Candidate]:
    return [_candidate(asked, one) for one in found]


def _candidate(asked: Folded, found: Found) -> Candidate:
    kind, name = read_name(found.name)
    standing = name_standing(asked, name, kind=kind, order=found.order)
    return Candidate(found, name, standing)
