"""Terms of a name for suggestions, and their queries.

A whole name is a term, and so is each of its words. Prefixes of up to four letters are terms, too,
because so many names share them that enumerating the names would be slow. A whole name that
is written like the key of the name search is not stored twice.
"""

from typing import Any

import tantivy

from lookup.search.alignment import edits_allowed
from lookup.search.folding import Folded
from lookup.search.index import schema as fields
from lookup.search.index.view import View, all_of, but_not, one_of
from lookup.search.suggesting import writings


def add_beginnings(document: dict[str, Any], name: Folded) -> None:
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


def is_whole(view: View, name: Folded) -> tantivy.Query:
    """Returns names equal to this one."""
    texts = writings(name.letters)
    return _wholes(view, view.any_of(fields.BEGINNING, texts), view.any_of(fields.NAME, texts))


def begins(view: View, name: Folded) -> tantivy.Query:
    """Returns names with this prefix."""
    return one_of(_begins(view, text) for text in writings(name.letters))


def words_begin(view: View, name: Folded) -> tantivy.Query:
    """Returns names with words that begin with each of these, in any order."""
    return all_of(
        one_of(_word_begins(view, text) for text in writings(word))
        for word in set(name.spelled.split(" "))
    )


def almost_begins(view: View, name: Folded, typos: int) -> tantivy.Query:
    """Returns names with this prefix, with as many typos as a text of this length may have."""
    text, edits = _shortest_spelling(name.letters, typos)
    if not edits:
        return _begins(view, text)
    if len(text) <= fields.BRIEF_LENGTH:
        return view.within(fields.BRIEF, text, edits)
    return _begins(view, text, edits)


def words_almost_begin(view: View, name: Folded, typos: int) -> tantivy.Query:
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
    """Returns names by their other spellings, or by their key."""
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
    """Returns the spelling to look up, with its maximum edits."""
    # One spelling is near to all others, and each costs a traversal of the dictionary.
    written = min(writings(text), key=len)
    return written, min(typos, edits_allowed(len(written)))
