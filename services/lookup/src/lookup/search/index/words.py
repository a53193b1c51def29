"""The companies with all words of a query in one of their names, kept across commits."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import Final, NamedTuple

import numpy as np

from common.contracts.company import CompanyKey
from lookup.search.find.columns import Array
from lookup.search.find.pages import Hits
from lookup.search.folding import collapsed
from lookup.search.index import schema as fields
from lookup.search.index.schema import View, all_of
from lookup.search.scoring import read_query

#: Smaller results are found again in less than a millisecond.
FEWEST_KEPT: Final = 1_000
#: Companies of all results that are kept, of twelve bytes each: 6 MB.
MAX_KEPT: Final = 500_000
#: The last changed companies; a result older than these is searched again.
MAX_CHANGED: Final = 1_000


class CachedHits(NamedTuple):
    """A result, if one is kept, and the companies that changed since it was found."""

    hits: Hits | None
    changed: Sequence[CompanyKey]
    #: The number of changes so far: a search that begins now sees at least these.
    changes: int


class HitsCache:
    """The large results, so that only the first page of a list searches all its words.

    Thread-safe. The least recently used results are dropped first.
    """

    def __init__(self) -> None:
        self._hits: OrderedDict[str, tuple[int, Hits]] = OrderedDict()
        self._companies = 0
        self._changed: list[CompanyKey] = []
        self._changes = 0
        self._using = Lock()

    def of(self, words: str) -> CachedHits:
        """Returns the kept result of these words; to be called before the view that searches."""
        with self._using:
            if words in self._hits:
                changes, hits = self._hits[words]
                since = self._changes - changes
                if since <= len(self._changed):
                    self._hits.move_to_end(words)
                    changed = self._changed[len(self._changed) - since :]
                    return CachedHits(hits, list(dict.fromkeys(changed)), self._changes)
            return CachedHits(None, (), self._changes)

    def keep(self, words: str, hits: Hits, changes: int) -> None:
        """Keeps the companies with these words, found after so many changes."""
        with self._using:
            self._drop(words)
            if not FEWEST_KEPT <= len(hits.numbers) <= MAX_KEPT:
                return
            self._hits[words] = changes, hits
            self._companies += len(hits.numbers)
            while self._companies > MAX_KEPT:
                self._drop(next(iter(self._hits)))

    def change(self, companies: Collection[CompanyKey]) -> None:
        """Notes companies whose changes every search sees from now on."""
        with self._using:
            self._changed = [*self._changed, *companies][-MAX_CHANGED:]
            self._changes += len(companies)

    def _drop(self, words: str) -> None:
        _, hits = self._hits.pop(words, (0, None))
        self._companies -= len(hits.numbers) if hits else 0


#: The bits of an order for the type of a name; no type has the value of an equal name.
_EQUAL = np.uint64(3 << 62)
_ALL = np.uint64((1 << 64) - 1)


def cached_with_words(known: HitsCache, view: Callable[[], View], text: str) -> Hits:
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
    numbers, keys = documents[:, 0].astype(np.uint32), _ALL - documents[:, 1]
    best = np.lexsort((keys, numbers))
    numbers, keys = numbers[best], keys[best]
    first = np.flatnonzero(np.diff(numbers.astype(np.int64), prepend=-1))
    return Hits(numbers[first], keys[first])
