"""The terms by which a name is found while it is typed, and the queries for them.

A name has a term for the whole of it and one for each of its words. Beginnings of up to four
letters are terms, too: a great many names share them, and walking through all of these takes long.
A whole name is mostly written as the search for names has it already, and then is not there twice.
"""

from typing import Any

import tantivy

from lookup.search.folding import Folded
from lookup.search.index import schema as fields
from lookup.search.index.view import View, all_of, but_not, one_of
from lookup.search.suggesting import typos_allowed, writings


def add_beginnings(document: dict[str, Any], name: Folded) -> None:
    """Add to a document that has the name's key: how words are parted does not count for that.

    A word is there in each writing, and as the search for names compares it.
    """
    key = document[fields.NAME]
    if name.spelled == name.words:
        document[fields.BRIEF] = [key]
        document[fields.WORD_BRIEF] = name.words.split(" ")
        document[fields.WORD] = name.words
        return
    wholes = writings(_joined(name))
    words = [written for word in name.spelled.split(" ") for written in writings(word)]
    document[fields.BEGINNING] = [whole for whole in wholes if whole != key]
    if key not in wholes:
        document[fields.KIND].append(fields.RESPELLED)
    document[fields.BRIEF] = wholes
    document[fields.WORD_BRIEF] = words
    collapsed = set(name.words.split(" ")).difference(words)
    document[fields.WORD] = " ".join([*words, *sorted(collapsed)])


def is_whole(view: View, name: Folded) -> tantivy.Query:
    """Names that are this one."""
    texts = writings(_joined(name))
    return _wholes(view, view.any_of(fields.BEGINNING, texts), view.any_of(fields.NAME, texts))


def begins(view: View, name: Folded) -> tantivy.Query:
    """Names that begin so."""
    return one_of(_begins(view, text) for text in writings(_joined(name)))


def words_begin(view: View, name: Folded) -> tantivy.Query:
    """Names in which words begin with each of these, whatever their order."""
    return all_of(
        one_of(_word_begins(view, text) for text in writings(word))
        for word in set(name.spelled.split(" "))
    )


def almost_begins(view: View, name: Folded, typos: int) -> tantivy.Query:
    """Names that begin so but for as many typos as a text of this length may have."""
    text, edits = _likened(_joined(name), typos)
    if not edits:
        return _begins(view, text)
    if len(text) <= fields.BRIEF_LENGTH:
        return view.within(fields.BRIEF, text, edits)
    return _begins(view, text, edits)


def words_almost_begin(view: View, name: Folded, typos: int) -> tantivy.Query:
    """The same of words, each of which may have typos."""
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
    """Names by their other writings, or by their key if that is one."""
    return one_of((written, but_not(keys, view.term(fields.KIND, fields.RESPELLED))))


def _word_begins(view: View, text: str) -> tantivy.Query:
    if len(text) <= fields.BRIEF_LENGTH:
        return view.term(fields.WORD_BRIEF, text)
    return view.beginning(fields.WORD, text)


def _word_almost_begins(view: View, word: str, typos: int) -> tantivy.Query:
    text, edits = _likened(word, typos)
    if not edits:
        return _word_begins(view, text)
    if len(text) <= fields.BRIEF_LENGTH:
        both = (fields.WORD_BRIEF, fields.WORD)
        return one_of(view.within(field, text, edits) for field in both)
    return view.beginning(fields.WORD, text, edits)


def _likened(text: str, typos: int) -> tuple[str, int]:
    """What is looked for, and in how many edits."""
    # One writing is near to all the others, and each costs a walk through the dictionary.
    written = min(writings(text), key=len)
    return written, min(typos, typos_allowed(len(written)))


def _joined(name: Folded) -> str:
    return name.spelled.replace(" ", "")
