"""The fields of the index, and the queries that the searches are made of.

A document holds one name of a company, one address, or one of each that weigh the same, so that all
of them are compared alike and a company is replaced by deleting its documents. One more document
keeps the save point, so that it is committed together with what it stands for.
"""

from typing import Any

import tantivy

#: Raised with every change of what is written for a company; an index of another format is rebuilt.
FORMAT = 6

KIND, COMPANY, ORDER, RECORD = "kind", "company", "order", "record"
NAME, BEGINNING, WORD = "name", "beginning", "word"
BRIEF, WORD_BRIEF = "brief", "word_brief"
STREET, STREET_GRAMS, HOUSE, AREA, DWELLING = "street", "street_grams", "house", "area", "dwelling"
SAVE_POINT = "save_point"

#: Values of the field `kind`; a company's first document has `company` too, to be counted by.
A_COMPANY, A_NAME, AN_ADDRESS, THE_STATE = "company", "name", "address", "state"
#: Also of `kind`, followed by the legal form that the name's text has.
OF_FORM = "form "
#: Also of `kind`: no writing of the name is what `name` holds.
RESPELLED = "respelled"

#: Parts what a record says: whose it is, the name, and the address.
RECORD_PART = "\x1d"
#: Beginnings of so many letters are terms of their own.
BRIEF_LENGTH = 4
_GRAM = 3
_RAW, _WORDS, _GRAMS, _BRIEFS = "raw", "words", "grams", "briefs"
_TOKENIZERS = {
    **dict.fromkeys((KIND, COMPANY, NAME, BEGINNING), _RAW),
    **dict.fromkeys((STREET, HOUSE, AREA, DWELLING), _RAW),
    WORD: _WORDS,
    **dict.fromkeys((BRIEF, WORD_BRIEF), _BRIEFS),
    STREET_GRAMS: _GRAMS,
}


def make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field, tokenizer in _TOKENIZERS.items():
        builder.add_text_field(field, tokenizer_name=tokenizer, index_option="basic")
    builder.add_bytes_field(RECORD, stored=True)
    builder.add_unsigned_field(ORDER, fast=True)
    builder.add_bytes_field(SAVE_POINT, stored=True)
    return _without_lengths(builder.build())


def _without_lengths(schema: tantivy.Schema) -> tantivy.Schema:
    """The schema without each document's number of terms where nothing is scored by it.

    They would be a tenth of the files. The builder has no word for it, so the schema's own way into
    a pickle and out of it is taken.
    """
    taken_apart: Any = schema.__reduce__()
    make, (described,) = taken_apart
    for field in described["inner"]:
        indexing = field["options"].get("indexing")
        if indexing and indexing["tokenizer"] not in (_GRAMS, _WORDS):
            indexing["fieldnorms"] = False
    made: tantivy.Schema = make(described)
    return made


def open_index(path: str) -> tantivy.Index:
    """The index in a folder, empty if the folder is; what others commit is seen after `reload`."""
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
    """What grams are taken of: each word by itself, its ends marked, so that order is no matter."""
    return [f" {word} " for word in words.split(" ")]


def grams_of(words: str) -> set[str]:
    """The grams that a document with these words has."""
    return {
        text[place : place + _GRAM]
        for text in padded(words)
        for place in range(len(text) - _GRAM + 1)
    }
