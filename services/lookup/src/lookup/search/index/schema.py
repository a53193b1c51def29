"""The fields of the index, and the building blocks of its queries.

A document holds one name of a company, one address, or one of each with equal weight, so that
candidates of equal weight compare equally, and a company is replaced by deleting its documents. One
more document has the save point, so that it is committed together with the changes.
"""

from typing import Any

import tantivy

#: Raised with every change of the documents; an index of another format is rebuilt.
FORMAT = 12

KIND, COMPANY, ORDER, RECORD = "kind", "company", "order", "record"
NAME, BEGINNING, WORD = "name", "beginning", "word"
BRIEF, WORD_BRIEF = "brief", "word_brief"
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

#: Separates the parts of a record: the company, the name, and the address.
RECORD_PART = "\x1d"
#: Prefixes of this length are separate terms.
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
    """Returns the schema of the index."""
    builder = tantivy.SchemaBuilder()
    for field, tokenizer in _TOKENIZERS.items():
        builder.add_text_field(field, tokenizer_name=tokenizer, index_option="basic")
    builder.add_text_field(RECORD, stored=True)
    for field in (ORDER, NUMBER):
        builder.add_unsigned_field(field, fast=True)
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
    for field in described["inner"]:
        if field["name"] == RECORD:
            del field["options"]["indexing"]
        indexing = field["options"].get("indexing")
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
