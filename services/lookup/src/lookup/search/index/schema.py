"""The fields of the index, and one committed state of it with the queries of the searches.

A document holds one name of a company, one address, or one of each with equal weight, so that
candidates of equal weight compare equally, and a company is replaced by deleting its documents. One
more document has the save point, so that it is committed together with the changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tantivy

from common.contracts.company import CompanyKey, Country
from lookup.search.folding import collapsed
from lookup.search.scheduling import Budget
from lookup.search.scoring import weight

#: Raised with every change of the documents; an index of another format is rebuilt.
FORMAT = 18

KIND, COMPANY, ORDER, RECORD = "kind", "company", "order", "record"
NAME, BEGINNING, WORD = "name", "beginning", "word"
BRIEF, WORD_BRIEF = "brief", "word_brief"
LITERAL = "literal"
NUMBER = "number"
STREET, STREET_GRAMS, HOUSE, AREA, DWELLING = "street", "street_grams", "house", "area", "dwelling"
SAVE_POINT = "save_point"

#: Values of the field `kind`; a company's first document also has `company`, for counting.
A_COMPANY, A_NAME, AN_ADDRESS, THE_STATE = "company", "name", "address", "state"
#: Also a value of `kind`, followed by the legal form in the name's text.
OF_FORM = "form "
#: Also a value of `kind`, of a company's first document: a mailbox or a domain of its own.
CONTACT = "contact "
#: Also a value of `kind`: `name` holds no spelling of the name.
RESPELLED = "respelled"
#: Also a value of `kind`: the name has special letters, and its letters as written are `literal`.
SPECIAL = "special"

#: Separates the parts of a record: the company, the name, and the address.
RECORD_PART = "\x1d"
#: Prefixes of this length are separate terms.
BRIEF_LENGTH = 4
_GRAM = 3
_RAW, _WORDS, _GRAMS, _BRIEFS = "raw", "words", "grams", "briefs"
_TOKENIZERS = {
    **dict.fromkeys((KIND, COMPANY, NAME, BEGINNING, LITERAL), _RAW),
    **dict.fromkeys((STREET, HOUSE, AREA, DWELLING), _RAW),
    WORD: _WORDS,
    **dict.fromkeys((BRIEF, WORD_BRIEF), _BRIEFS),
    STREET_GRAMS: _GRAMS,
}


def make_schema() -> tantivy.Schema:
    """Returns the schema of the index."""
    builder = tantivy.SchemaBuilder()
    for name, tokenizer in _TOKENIZERS.items():
        builder.add_text_field(name, tokenizer_name=tokenizer, index_option="basic")
    builder.add_text_field(RECORD, stored=True)
    for name in (ORDER, NUMBER):
        builder.add_unsigned_field(name, fast=True)
    builder.add_bytes_field(SAVE_POINT, stored=True)
    return _lean(builder.build())


def _lean(schema: tantivy.Schema) -> tantivy.Schema:
    """Returns the schema without data that no search uses.

    That is the number of terms per document of unscored fields, a tenth of the files, and an index
    of the records, a quarter of the work. The builder has no option for either, so the schema's
    pickle is edited.
    """
    taken_apart: Any = schema.__reduce__()
    make, (described,) = taken_apart
    for described_field in described["inner"]:
        if described_field["name"] == RECORD:
            del described_field["options"]["indexing"]
        indexing = described_field["options"].get("indexing")
        if indexing and indexing["tokenizer"] not in (_GRAMS, _WORDS):
            indexing["fieldnorms"] = False
    made: tantivy.Schema = make(described)
    return made


def open_index(path: str) -> tantivy.Index:
    """Returns the index in a folder, empty if the folder is; commits are visible after `reload`."""
    index = tantivy.Index(make_schema(), path)
    for name, tokenizer in (
        (_WORDS, tantivy.Tokenizer.whitespace()),
        (_GRAMS, tantivy.Tokenizer.ngram(_GRAM, _GRAM)),
        (_BRIEFS, tantivy.Tokenizer.ngram(1, BRIEF_LENGTH, prefix_only=True)),
    ):
        index.register_tokenizer(name, tantivy.TextAnalyzerBuilder(tokenizer).build())
    index.config_reader("manual")
    return index


def padded(words: str) -> list[str]:
    """Returns the text of grams: each word with its ends marked, so that order does not matter."""
    return [f" {word} " for word in words.split(" ")]


def grams_of(words: str) -> set[str]:
    """Returns the grams of a document with these words."""
    return {
        text[place : place + _GRAM]
        for text in padded(words)
        for place in range(len(text) - _GRAM + 1)
    }


#: Fewer grams would find every document that contains them.
_FEWEST_GRAMS = 3
#: Longer values are looked up without typos: an automaton's memory grows with the square of its
#: length, and with letters of three bytes it reaches gigabytes (docs/adr/0021).
_MAX_FUZZY_BYTES = 96


class IndexedDocument(NamedTuple):
    """A candidate document: its company and rank, and its name and address, if any."""

    company: CompanyKey
    order: int
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class View:
    """The committed state of an index for one search, with what it has read so far."""

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    budget: Budget
    country: Country
    frequencies: dict[str, int] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    documents: dict[tuple[int, int], IndexedDocument] = field(default_factory=dict)

    def frequency(self, word: str) -> int:
        """Returns the number of names with a word; recently removed names may still count."""
        if (known := self.frequencies.get(word)) is None:
            known = self.frequencies[word] = self.searcher.doc_freq(WORD, word)
        return known

    def has(self, field: str, value: str) -> bool:
        """Returns True if a document has this value; it may have been removed recently."""
        return self.searcher.doc_freq(field, value) > 0

    def weigh(self, word: str) -> float:
        """Returns the weight of a word of a name or a query."""
        if (known := self.weights.get(word)) is None:
            folded = collapsed(word)
            known = weight(folded, self.frequency(folded), self.searcher.num_docs)
            self.weights[word] = known
        return known

    def rarest(self, words: Iterable[str], documents: int) -> list[str]:
        """Returns the rarest of these words, up to a total number of documents; at least one."""
        return _rarest(((self.frequency(word), word) for word in words), documents, least=1)

    def term(self, field: str, value: str) -> tantivy.Query:
        """Returns the query for documents with this value."""
        return tantivy.Query.term_query(self.schema, field, value, index_option="basic")

    def any_of(self, field: str, values: Iterable[str]) -> tantivy.Query:
        """Returns a query scored by BM25: rarer values and shorter documents are better."""
        return one_of(self.term(field, value) for value in values)

    def within(self, field: str, value: str, edits: int) -> tantivy.Query:
        """Returns values within `edits` (at most 2); a swap of neighbours is one edit."""
        edits = _affordable(value, edits)
        return tantivy.Query.fuzzy_term_query(self.schema, field, value, distance=edits)

    def beginning(self, field: str, value: str, edits: int = 0) -> tantivy.Query:
        """Returns values with this prefix, or with one within `edits` (at most 2)."""
        edits = _affordable(value, edits)
        return tantivy.Query.fuzzy_term_query(
            self.schema, field, value, distance=edits, prefix=True
        )

    def rare_grams(self, field: str, words: str, documents: int) -> list[str]:
        """Returns the rarest grams of a text, up to a total number of documents; at least three.

        The cost of a search is the number of documents of its grams, and rare ones distinguish
        best.
        """
        grams = grams_of(words)
        known = ((self.searcher.doc_freq(field, gram), gram) for gram in grams)
        return _rarest((one for one in known if one[0]), documents, least=_FEWEST_GRAMS)

    def count(self, document_type: str) -> int:
        """Returns the number of documents of one type."""
        return self.number_of(self.term(KIND, document_type))

    def best_ranked(
        self, query: tantivy.Query, limit: int, *, below: int | None = None
    ) -> list[IndexedDocument]:
        """Returns the documents of the highest ranks, or of those `below` an order, best first."""
        if below is not None:
            query = all_of([query, self._below(below)])
        return [self._document(address, order) for order, address in self._ranked(query, limit)]

    def counted(self, query: tantivy.Query, limit: int) -> tuple[list[IndexedDocument], int]:
        """Returns the documents of the highest ranks, best first, and the number of all."""
        self.budget.check()
        found = self.searcher.search(query, limit=limit, order_by_field=ORDER)
        documents = [self._document(address, order) for order, address in found.hits]
        return documents, int(found.count)  # type: ignore[attr-defined]  # tantivy's stubs lack it

    def number_of(self, query: tantivy.Query) -> int:
        """Returns the number of documents of a query."""
        self.budget.check()
        return int(self.searcher.search(query, limit=1, count=True).count)  # type: ignore[attr-defined]  # tantivy's stubs lack it

    def companies(self, query: tantivy.Query) -> int:
        """Returns the number of different companies with documents of a query."""
        return len(np.unique(self.every(query)[:, 0]))

    def best_orders(self, query: tantivy.Query, limit: int) -> list[int]:
        """Returns the orders of `best_ranked`, without their documents."""
        return [order for order, _ in self._ranked(query, limit)]

    def every(self, query: tantivy.Query) -> npt.NDArray[np.uint64]:
        """Returns a row for every document of a query: its company's number, and its order."""
        self.budget.check()
        hits = self.searcher.search(query, limit=max(self.searcher.num_docs, 1), count=False).hits
        self.budget.check()
        addresses = [address for _, address in hits]
        values = [self.searcher.fast_field_values(field, addresses) for field in (NUMBER, ORDER)]
        return np.array(values, np.uint64).T

    def _ranked(self, query: tantivy.Query, limit: int) -> list[tuple[int, tantivy.DocAddress]]:
        self.budget.check()
        return self.searcher.search(query, limit=limit, count=False, order_by_field=ORDER).hits

    def _below(self, order: int) -> tantivy.Query:
        return tantivy.Query.range_query(
            self.schema,
            ORDER,
            tantivy.FieldType.Unsigned,
            None,
            order,
            include_upper=False,
        )

    def best_scored(self, query: tantivy.Query, limit: int) -> list[IndexedDocument]:
        """Returns the documents with the best scores of a query."""
        self.budget.check()
        hits = self.searcher.search(query, limit=limit, count=False).hits
        addresses = [address for _, address in hits]
        orders = self.searcher.fast_field_values(ORDER, addresses)
        return [self._document(a, order) for a, order in zip(addresses, orders, strict=True)]

    def _document(self, address: tantivy.DocAddress, order: Any) -> IndexedDocument:
        """Returns a document; cached, since several steps of a search find the same ones."""
        key = address.segment_ord, address.doc
        if (known := self.documents.get(key)) is None:
            [record] = self.searcher.doc(address)[RECORD]
            company, name, packed_address = record.split(RECORD_PART)
            known = self.documents[key] = IndexedDocument(
                CompanyKey.parse(company), order, name, packed_address
            )
        return known


def _rarest(terms: Iterable[tuple[int, str]], documents: int, *, least: int) -> list[str]:
    known = sorted(terms)
    sums = accumulate(frequency for frequency, _ in known)
    return [
        term
        for n, ((_, term), together) in enumerate(zip(known, sums, strict=True))
        if together <= documents or n < least
    ]


def _affordable(value: str, edits: int) -> int:
    return edits if len(value.encode()) <= _MAX_FUZZY_BYTES else 0


def one_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    """Returns the query for documents that match at least one of the queries."""
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def but_not(query: tantivy.Query, without: tantivy.Query) -> tantivy.Query:
    """Returns the query for documents that match `query` and not `without`."""
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, without)]
    )


def all_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    """Returns the query for documents that match all of the queries."""
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])
