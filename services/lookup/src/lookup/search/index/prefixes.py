"""Prefixes of names, for suggestions: how a partly typed name is read, and the terms and queries.

A letter with several spellings is searched in each of them, consistently throughout a name: `Ærø`
is found by `aer`, `aero` and `aro`. Unlike in a search the letters are not collapsed: `moe` does
not suggest every name that begins with `mo`.

A whole name is a term, and so is each of its words. Prefixes of up to four letters are terms, too,
because so many names share them that enumerating the names would be slow. A whole name that
is written like the key of the name search is not stored twice.

The letters as they are typed come before their other spellings: `prø` lists `Prøven` before
`Projekt`, and `pro` the other way round. Only names with special letters have terms for that.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import tantivy

from lookup.search.folding import (
    SPELLINGS,
    FoldedText,
    fold_beginning,
    fold_name,
    without_partial_form,
)
from lookup.search.index import schema as fields
from lookup.search.index.schema import View, all_of, but_not, one_of
from lookup.search.similarity import edits_allowed


class TypedText(NamedTuple):
    """The readings of a typed text; often all are the same."""

    #: All of it, including a legal form that may become a word (`Nordisk As`, `Nordisk Asfalt`).
    beginning: FoldedText
    #: Without the legal form at its end.
    whole: FoldedText
    #: Without the legal form at its end, even an incomplete one.
    stem: FoldedText


def read_typed(text: str) -> TypedText:
    """Returns the query of any text that is not blank."""
    return TypedText(
        fold_beginning(text, is_partial=True), fold_name(text), without_partial_form(text)
    )


def begins_with(name: FoldedText, text: str, starts: Sequence[str]) -> bool:
    """Returns True if a name begins with one of the writings of a typed text; spaces do not matter.

    `text` is the name with its legal form, which is folded only if the form decides.
    """
    for own in writings(name.letters):
        if own.startswith(tuple(starts)):
            return True
        if any(start.startswith(own) for start in starts):
            whole = writings(fold_beginning(text).letters)
            return any(writing.startswith(tuple(starts)) for writing in whole)
    return False


def writings(spelled: str) -> list[str]:
    """Returns a folded text in every spelling of its special letters: at most eight."""
    if spelled.isascii():
        return [spelled]
    special = tuple(letter for letter in SPELLINGS if letter in spelled)
    return [spelled.translate(table) for table in _tables(special)]


@cache
def _tables(special: tuple[str, ...]) -> list[dict[int, str]]:
    choices = product(*(SPELLINGS[letter] for letter in special))
    return [str.maketrans(dict(zip(special, choice, strict=True))) for choice in choices]


def add_beginnings(document: dict[str, Any], name: FoldedText) -> None:
    """Adds terms to a document with the name's key; the separation of words does not matter.

    A word has a term for each spelling, and for its form in the name search.
    """
    key = document[fields.NAME]
    if name.spelled == name.words:
        document[fields.BRIEF] = [key]
        document[fields.WORD_BRIEF] = name.words.split(" ")
        document[fields.WORD] = name.words
        return
    wholes = writings(name.letters)
    words = [written for word in name.spelled.split(" ") for written in writings(word)]
    document[fields.BEGINNING] = [whole for whole in wholes if whole != key]
    if key not in wholes:
        document[fields.KIND].append(fields.RESPELLED)
    document[fields.BRIEF] = wholes
    document[fields.WORD_BRIEF] = words
    collapsed = set(name.words.split(" ")).difference(words)
    document[fields.WORD] = " ".join([*words, *sorted(collapsed)])
    if not name.spelled.isascii():
        document[fields.KIND].append(fields.SPECIAL)
        document[fields.LITERAL] = _literals(name)


#: Marks the letters of a whole name, where others are those of a word.
_WHOLE = "^"


def _literals(name: FoldedText) -> list[str]:
    found = dict.fromkeys(_with_briefs(name.letters, _WHOLE))
    for word in name.tokens:
        found |= dict.fromkeys(_with_briefs(word))
    return list(found)


def _with_briefs(text: str, mark: str = "") -> list[str]:
    return [mark + text[:length] for length in (*range(1, fields.BRIEF_LENGTH + 1), len(text))]


def literally_begins(view: View, name: FoldedText) -> tantivy.Query:
    """Returns names with this prefix, letter by letter."""
    text = name.letters
    written = _literally(view, _WHOLE + text, len(text))
    if not text.isascii():
        return written
    return one_of((written, but_not(_begins(view, text), view.term(fields.KIND, fields.SPECIAL))))


def words_literally_begin(view: View, name: FoldedText) -> tantivy.Query:
    """Returns names with words that begin with each of these, letter by letter.

    Only for a text with special letters, which only names with such letters have.
    """
    words = set(name.tokens)
    return all_of(
        _word_begins(view, word) if word.isascii() else _literally(view, word, len(word))
        for word in words
    )


def _literally(view: View, term: str, letters: int) -> tantivy.Query:
    if letters <= fields.BRIEF_LENGTH:
        return view.term(fields.LITERAL, term)
    return view.beginning(fields.LITERAL, term)


def is_whole(view: View, name: FoldedText) -> tantivy.Query:
    """Returns names equal to this one."""
    texts = writings(name.letters)
    return _wholes(view, view.any_of(fields.BEGINNING, texts), view.any_of(fields.NAME, texts))


def begins(view: View, name: FoldedText) -> tantivy.Query:
    """Returns names with this prefix."""
    return one_of(_begins(view, text) for text in writings(name.letters))


def words_begin(view: View, name: FoldedText) -> tantivy.Query:
    """Returns names with words that begin with each of these, in any order."""
    return all_of(word_begins(view, word) for word in set(name.spelled.split(" ")))


def word_begins(view: View, word: str) -> tantivy.Query:
    """Returns names with a word that begins with this folded one."""
    return one_of(_word_begins(view, text) for text in writings(word))


def almost_begins(view: View, name: FoldedText, typos: int) -> tantivy.Query:
    """Returns names with this prefix, with as many typos as a text of this length may have."""
    text, edits = _shortest_spelling(name.letters, typos)
    if not edits:
        return _begins(view, text)
    if len(text) <= fields.BRIEF_LENGTH:
        return view.within(fields.BRIEF, text, edits)
    return _begins(view, text, edits)


def words_almost_begin(view: View, name: FoldedText, typos: int) -> tantivy.Query:
    """Returns names with words that begin with each of these, each word with typos."""
    words = set(name.spelled.split(" "))
    return all_of(_word_almost_begins(view, word, typos) for word in words)


def _begins(view: View, text: str, edits: int = 0) -> tantivy.Query:
    if not edits and len(text) <= fields.BRIEF_LENGTH:
        return view.term(fields.BRIEF, text)
    return _wholes(
        view,
        view.beginning(fields.BEGINNING, text, edits),
        view.beginning(fields.NAME, text, edits),
    )


def _wholes(view: View, written: tantivy.Query, keys: tantivy.Query) -> tantivy.Query:
    return one_of((written, but_not(keys, view.term(fields.KIND, fields.RESPELLED))))


def _word_begins(view: View, text: str) -> tantivy.Query:
    if len(text) <= fields.BRIEF_LENGTH:
        return view.term(fields.WORD_BRIEF, text)
    return view.beginning(fields.WORD, text)


def _word_almost_begins(view: View, word: str, typos: int) -> tantivy.Query:
    text, edits = _shortest_spelling(word, typos)
    if not edits:
        return _word_begins(view, text)
    if len(text) <= fields.BRIEF_LENGTH:
        both = (fields.WORD_BRIEF, fields.WORD)
        return one_of(view.within(field, text, edits) for field in both)
    return view.beginning(fields.WORD, text, edits)


def _shortest_spelling(text: str, typos: int) -> tuple[str, int]:
    # One spelling is near to all others, and each costs a traversal of the dictionary.
    written = min(writings(text), key=len)
    return written, min(typos, edits_allowed(len(written)))
