"""One committed state of the index, with the few questions that the searches ask it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import tantivy

from common.contracts.company import CompanyKey, Country
from lookup.search.folding import collapsed
from lookup.search.index import schema as fields
from lookup.search.index.budget import Budget
from lookup.search.scoring import weight

#: Fewer grams than this would find everything that has them.
_FEWEST_GRAMS = 3
#: Longer values are looked for as they are: what an automaton takes grows with the square of its
#: length, and with letters of three bytes it reaches gigabytes (docs/adr/0021).
_MAX_FUZZY_BYTES = 96


class Found(NamedTuple):
    """A document that may answer: whose it is, how it ranks, and what it says, each if it does."""

    company: CompanyKey
    order: int
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class View:
    searcher: tantivy.Searcher
    schema: tantivy.Schema
    budget: Budget
    country: Country
    frequencies: dict[str, int] = field(default_factory=dict)

    def frequency(self, word: str) -> int:
        """How many names have a word; those that were just removed count for a while."""
        if (known := self.frequencies.get(word)) is None:
            known = self.frequencies[word] = self.searcher.doc_freq(fields.WORD, word)
        return known

    def weigh(self, word: str) -> float:
        """What a name's or a query's word tells."""
        folded = collapsed(word)
        return weight(folded, self.frequency(folded), self.searcher.num_docs)

    def rarest(self, words: Iterable[str], documents: int) -> list[str]:
        """The rarest of these words: as many as are in so many documents together, or one."""
        known = sorted((self.frequency(word), word) for word in words)
        sums = accumulate(frequency for frequency, _ in known)
        return [
            word
            for place, ((_, word), together) in enumerate(zip(known, sums, strict=True))
            if together <= documents or not place
        ]

    def term(self, field: str, value: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, field, value, index_option="basic")

    def any_of(self, field: str, values: Iterable[str]) -> tantivy.Query:
        """Scored by BM25: the rarer a value, and the shorter the document, the better."""
        return one_of(self.term(field, value) for value in values)

    def within(self, field: str, value: str, edits: int) -> tantivy.Query:
        """Values that are at most so many edits away (2 at most); a swap of neighbours is one."""
        edits = _affordable(value, edits)
        return tantivy.Query.fuzzy_term_query(self.schema, field, value, distance=edits)

    def beginning(self, field: str, value: str, edits: int = 0) -> tantivy.Query:
        """Values that begin with this one, or with what at most two edits part from it."""
        edits = _affordable(value, edits)
        return tantivy.Query.fuzzy_term_query(
            self.schema, field, value, distance=edits, prefix=True
        )

    def rare_grams(self, field: str, words: str, documents: int) -> list[str]:
        """The rarest grams of a text: as many as are in so many documents together, or three.

        What a search costs is how many documents its grams are in, and the rare ones tell the most.
        """
        grams = fields.grams_of(words)
        known = ((self.searcher.doc_freq(field, gram), gram) for gram in grams)
        rarest = [(frequency, gram) for frequency, gram in sorted(known) if frequency]
        sums = accumulate(frequency for frequency, _ in rarest)
        return [
            gram
            for place, ((_, gram), together) in enumerate(zip(rarest, sums, strict=True))
            if together <= documents or place < _FEWEST_GRAMS
        ]

    def count(self, kind: str) -> int:
        query = self.term(fields.KIND, kind)
        result = self.searcher.search(query, limit=1, count=True)
        return int(result.count)  # type: ignore[attr-defined]  # tantivy's stubs lack it

    def best_ranked(self, query: tantivy.Query, limit: int) -> list[Found]:
        """The documents of the companies that rank highest, best first."""
        self.budget.check()
        result = self.searcher.search(query, limit=limit, count=False, order_by_field=fields.ORDER)
        return [self._found(address, order) for order, address in result.hits]

    def most_alike(self, query: tantivy.Query, limit: int) -> list[Found]:
        """The documents that a scored query puts first."""
        self.budget.check()
        hits = self.searcher.search(query, limit=limit, count=False).hits
        addresses = [address for _, address in hits]
        orders = self.searcher.fast_field_values(fields.ORDER, addresses)
        return [self._found(a, order) for a, order in zip(addresses, orders, strict=True)]

    def _found(self, address: tantivy.DocAddress, order: Any) -> Found:
        [record] = self.searcher.doc(address)[fields.RECORD]
        company, name, place = bytes(record).decode().split(fields.RECORD_PART)
        return Found(CompanyKey(company), order, name=name, address=place)


def _affordable(value: str, edits: int) -> int:
    return edits if len(value.encode()) <= _MAX_FUZZY_BYTES else 0


def one_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def but_not(query: tantivy.Query, without: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, without)]
    )


def all_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
