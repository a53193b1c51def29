"""The companies with all words of a query in one of their names, kept across commits."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import tantivy

from common.contracts.company import CompanyKey
from lookup.search.find.columns import Array
from lookup.search.find.pages import Hits
from lookup.search.folding import collapsed, fold_beginning
from lookup.search.index import schema as fields
from lookup.search.index.prefixes import word_begins
from lookup.search.index.schema import View, all_of
from lookup.search.indexed_company import RANK_BITS
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


#: The classes of relevance, in the two highest bits of a key before it is inverted; that of current
#: names is their type.
_EQUAL, _OTHER, _BEGUN = (np.uint64(each << RANK_BITS) for each in (3, 1, 0))
#: Types of names in an order.
_CURRENT_TYPE, _TRADE = np.uint64(2), np.uint64(1)
_IS_BETTER = np.uint64(1 << RANK_BITS - 1)
_ONE = np.uint64(1)
_ALL = np.uint64((1 << 64) - 1)
#: Letters from which on the last word is also the beginning of another one.
_FEWEST_LETTERS: Final = 3


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

    The last word may be the beginning of one. If companies are given, only these are searched.

    The most relevant have the smallest keys: equal names first, then current names before trade
    names and former ones, then names with a word that only begins so; and of these the highest
    ranked companies.
    """
    query = read_query(text, view.country)
    if not query.name.words:
        return _hits(np.empty(0, np.uint32), np.empty(0, np.uint64))
    only = [view.any_of(fields.COMPANY, among)] if among else []
    words = dict.fromkeys(collapsed(word) for word in query.name.tokens)
    terms = [*only, *(view.term(fields.WORD, word) for word in words)]
    if query.form:
        terms.append(view.term(fields.KIND, fields.OF_FORM + query.form))
    exact = view.every(all_of(terms))
    equal = view.every(all_of([*terms, view.term(fields.NAME, query.name.key)]))
    begun = (
        view.every(all_of([*only, *beginning])) if (beginning := _begun(view, text)) else exact[:0]
    )
    found = ((equal, _equal_keys), (exact, _exact_keys), (begun, _begun_keys))
    numbers = np.concatenate([documents[:, 0] for documents, _ in found]).astype(np.uint32)
    return _hits(numbers, np.concatenate([keys(documents[:, 1]) for documents, keys in found]))


def _begun(view: View, text: str) -> list[tantivy.Query]:
    """Returns the queries of a text whose last word is incomplete; none if it is too short."""
    *whole, last = fold_beginning(text, is_partial=True).tokens
    if len(last) < _FEWEST_LETTERS or not last.isalpha():
        return []
    return [*(view.term(fields.WORD, collapsed(word)) for word in whole), word_begins(view, last)]


def _equal_keys(orders: Array) -> Array:
    return _EQUAL | orders


def _exact_keys(orders: Array) -> Array:
    # A rank without its lowest bit is still unique, but for two numbers of which one is invalid.
    others = _OTHER | np.where(_types(orders) == _TRADE, _IS_BETTER, np.uint64(0)) | _ranks(orders)
    return np.where(_types(orders) == _CURRENT_TYPE, orders, others)


def _begun_keys(orders: Array) -> Array:
    is_current = _types(orders) == _CURRENT_TYPE
    return _BEGUN | np.where(is_current, _IS_BETTER, np.uint64(0)) | _ranks(orders)


def _types(orders: Array) -> Array:
    return orders >> np.uint64(RANK_BITS)


def _ranks(orders: Array) -> Array:
    return (orders & np.uint64((1 << RANK_BITS) - 1)) >> _ONE


def _hits(numbers: Array, keys: Array) -> Hits:
    keys = _ALL - keys
    best = np.lexsort((keys, numbers))
    numbers, keys = numbers[best], keys[best]
    first = np.flatnonzero(np.diff(numbers.astype(np.int64), prepend=-1))
    return Hits(numbers[first], keys[first])
