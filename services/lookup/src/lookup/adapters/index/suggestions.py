"""Suggestions: from names that begin as typed outwards, no further than it takes to fill the list.

Each step is a query whose results come best ranked first, so that what is listed is never a chance
selection, however many names begin with two letters.
"""

from collections.abc import Iterator

import tantivy

from common.contracts.company import CompanyKey
from lookup.adapters.index.beginnings import (
    almost_begins,
    begins,
    is_whole,
    words_almost_begin,
    words_begin,
)
from lookup.adapters.index.documents import read_name
from lookup.adapters.index.view import View, one_of
from lookup.domain.suggesting import Fit, Suggested, Typed, read_typed, score_of

#: Documents read of a step for each wanted company; more only when companies bear several names
#: that fit, or were found by an earlier step.
_READ = (2, 32, 512)


def suggest(view: View, text: str, limit: int) -> list[Suggested]:
    """At most `limit` companies, best first, each once."""
    found: dict[CompanyKey, Suggested] = {}
    for fit, query in _steps(view, read_typed(text)):
        # Two typos are a guess, made only where there is nothing better.
        if len(found) >= limit or (found and fit is Fit.TWO_TYPOS):
            break
        for share in _READ:
            documents = view.best_ranked(query, share * limit)
            for document in documents:
                score = score_of(fit, read_name(document.name).kind)
                found.setdefault(document.company, Suggested(document.company, score))
            if len(found) >= limit or len(documents) < share * limit:
                break
    return list(found.values())[:limit]


def _steps(view: View, typed: Typed) -> Iterator[tuple[Fit, tantivy.Query]]:
    """In the order of `Fit`."""
    readings = dict.fromkeys((typed.beginning, typed.whole))
    yield Fit.WHOLE, is_whole(view, typed.whole)
    yield Fit.BEGINS, one_of((begins(view, typed.beginning), is_whole(view, typed.stem)))
    yield Fit.WORDS_BEGIN, one_of(words_begin(view, reading) for reading in readings)
    name = typed.whole
    yield Fit.ONE_TYPO, one_of((almost_begins(view, name, 1), words_almost_begin(view, name, 1)))
    yield Fit.TWO_TYPOS, almost_begins(view, name, 2)
    yield Fit.TWO_TYPOS, words_almost_begin(view, name, 2)
