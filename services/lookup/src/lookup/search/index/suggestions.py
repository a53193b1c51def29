"""Suggestions: the result of a search for the name, then names that continue the typed text.

The latter are scored as in a search, except for the last word, which may be incomplete, and never
above the search's result. Each step is a query with the best ranked results first; steps end when
the list is full.
"""

from collections.abc import Iterator

import tantivy

from lookup.search.hits import SearchHit
from lookup.search.index.beginnings import (
    almost_begins,
    begins,
    is_whole,
    words_almost_begin,
    words_begin,
)
from lookup.search.index.names import Candidate, NameSearch, each_once, search_names
from lookup.search.index.view import View, one_of
from lookup.search.matching import EXACT
from lookup.search.scoring import read_query
from lookup.search.suggesting import Typed, read_typed

#: Documents that a step reads for each wanted company; more if companies have several matching
#: names, or were found by an earlier step.
_READ = (2, 32, 512)


def suggest(view: View, text: str, limit: int) -> list[SearchHit]:
    """At most `limit` companies, best first, each once."""
    answer = search_names(view, text, 1)
    search = NameSearch(view, read_query(text, view.country, last_is_prefix=True))
    found: list[Candidate] = []
    for is_guess, step in _steps(view, read_typed(text)):
        # Two typos are a guess, made only if nothing better is found.
        if len(each_once(found)) >= limit or (is_guess and (found or answer)):
            break
        found += _read(search, step, found, limit)
    max_score = answer[0].score if answer else EXACT
    suggested = {hit.key: hit for hit in answer}
    for one in each_once(found):
        key = one.document.company
        suggested.setdefault(key, SearchHit(key, min(one.match.score, max_score)))
    return list(suggested.values())[:limit]


def _read(
    search: NameSearch, query: tantivy.Query, found: list[Candidate], limit: int
) -> list[Candidate]:
    """The best ranked results of a query, enough to fill the list."""
    fitting: list[Candidate] = []
    for share in _READ:
        documents = search.view.best_ranked(query, share * limit)
        fitting = search.scored(documents)
        if len(each_once(found + fitting)) >= limit or len(documents) < share * limit:
            break
    return fitting


def _steps(view: View, typed: Typed) -> Iterator[tuple[bool, tantivy.Query]]:
    """Each query, and whether it is a guess."""
    readings = dict.fromkeys((typed.beginning, typed.whole, typed.stem))
    yield False, is_whole(view, typed.whole)
    yield False, one_of(begins(view, reading) for reading in readings)
    yield False, one_of(words_begin(view, reading) for reading in readings)
    name = typed.whole
    yield False, one_of((almost_begins(view, name, 1), words_almost_begin(view, name, 1)))
    yield True, almost_begins(view, name, 2)
    yield True, words_almost_begin(view, name, 2)
