"""The fields of the index, and the queries that the searches are made of.

One document is one name or one address of a company, so that all of them are compared alike and a
company is replaced by deleting its documents. One more document keeps the save point, so that it is
committed together with what it stands for.
"""

import tantivy

#: Raised with every change of what is written for a company; an index of another format is rebuilt.
FORMAT = 3

KIND, COMPANY, ORDER, RECORD = "kind", "company", "order", "record"
NAME, SAME_WORDS, NAME_GRAMS = "name", "same_words", "name_grams"
BEGINNING, WORD_BEGINNING = "beginning", "word_beginning"
STREET, STREET_GRAMS, HOUSE, AREA, DWELLING = "street", "street_grams", "house", "area", "dwelling"
SAVE_POINT = "save_point"

#: Values of the field `kind`; a company's first document has `company` too, to be counted by.
A_COMPANY, A_NAME, AN_ADDRESS, THE_STATE = "company", "name", "address", "state"

_TERMS = (KIND, NAME, SAME_WORDS, BEGINNING, WORD_BEGINNING, STREET, HOUSE, AREA, DWELLING)
_GRAM = 3
_GRAMS = "grams"


def make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in _TERMS:
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    for field in (NAME_GRAMS, STREET_GRAMS):
        builder.add_text_field(field, tokenizer_name=_GRAMS, index_option="basic")
    builder.add_text_field(COMPANY, tokenizer_name="raw", index_option="basic", stored=True)
    builder.add_bytes_field(RECORD, stored=True)
    builder.add_unsigned_field(ORDER, fast=True)
    builder.add_bytes_field(SAVE_POINT, stored=True)
    return builder.build()


def open_index(path: str) -> tantivy.Index:
    """The index in a folder, empty if the folder is; what others commit is seen after `reload`."""
    index = tantivy.Index(make_schema(), path)
    grams = tantivy.Tokenizer.ngram(_GRAM, _GRAM)
    index.register_tokenizer(_GRAMS, tantivy.TextAnalyzerBuilder(grams).build())
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
