"""The companies with all words of a query in one of their names."""

from collections.abc import Callable, Collection

import numpy as np

from common.contracts.company import CompanyKey
from lookup.search.find.finding import Hits
from lookup.search.find.segment import Array
from lookup.search.folding import collapsed
from lookup.search.index import schema as fields
from lookup.search.index.known import KnownHits
from lookup.search.index.view import View, all_of
from lookup.search.scoring import read_query

#: The bits of an order for the type of a name; no type has the value of an equal name.
_EQUAL = np.uint64(3 << 62)
_ALL = np.uint64((1 << 64) - 1)


def known_with_words(known: KnownHits, view: Callable[[], View], text: str) -> Hits:
    """Returns the result of `with_words`; a kept one is only searched for changed companies."""
    hits, changed, changes = known.of(text)
    if hits is None:
        hits = with_words(view(), text)
    elif changed:
        hits = _joined(_without(hits, changed), with_words(view(), text, changed))
    else:
        return hits
    known.keep(text, hits, changes)
    return hits


def _without(hits: Hits, companies: Collection[CompanyKey]) -> Hits:
    numbers = np.array([int(key.vat) for key in companies], np.uint32)
    places = np.minimum(np.searchsorted(hits.numbers, numbers), len(hits.numbers) - 1)
    gone = places[hits.numbers[places] == numbers]
    return Hits(np.delete(hits.numbers, gone), np.delete(hits.keys, gone))


def _joined(one: Hits, other: Hits) -> Hits:
    """Returns the hits of both, which have no company in common."""
    numbers = np.concatenate([one.numbers, other.numbers])
    # Two sorted runs are merged in one pass.
    order = np.argsort(numbers, kind="stable")
    return Hits(numbers[order], np.concatenate([one.keys, other.keys])[order])


def with_words(view: View, text: str, among: Collection[CompanyKey] = ()) -> Hits:
    """Returns every company with the words in a name, however they are written; no typos.

    If companies are given, only these are searched.

    The most relevant have the smallest keys: equal names first, then current names before trade
    names and former ones, and of these the highest ranked companies.
    """
    query = read_query(text, view.country)
    words = dict.fromkeys(collapsed(word) for word in query.name.tokens)
    if not query.name.words:
        return _hits(np.empty((0, 2), np.uint64))
    terms = [view.term(fields.WORD, word) for word in words]
    if query.form:
        terms.append(view.term(fields.KIND, fields.OF_FORM + query.form))
    if among:
        terms.append(view.any_of(fields.COMPANY, among))
    every = view.every(all_of(terms))
    equal = view.every(all_of([*terms, view.term(fields.NAME, query.name.key)]))
    equal[:, 1] |= _EQUAL
    return _hits(np.concatenate([equal, every]))


def _hits(documents: Array) -> Hits:
    """Returns each company once, with its best order."""
    numbers, keys = documents[:, 0].astype(np.uint32), _ALL - documents[:, 1]
    best = np.lexsort((keys, numbers))
    numbers, keys = numbers[best], keys[best]
    first = np.flatnonzero(np.diff(numbers.astype(np.int64), prepend=-1))
    return Hits(numbers[first], keys[first])
