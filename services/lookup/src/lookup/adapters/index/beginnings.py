"""The terms by which a name is found while it is typed, and the queries for them.

A name has a term for the whole of it and one for each of its words. Beginnings of up to four
letters are terms, too: a great many names share them, and walking through all of these takes long.
"""

from collections.abc import Iterable

import tantivy

from lookup.adapters.index.schema import BEGINNING, WORD_BEGINNING
from lookup.adapters.index.view import View, all_of, one_of
from lookup.domain.folding import Folded
from lookup.domain.suggesting import typos_allowed, writings

#: Lengths of the beginnings that are terms, in letters, and the longest of them.
_BRIEFS = (1, 2, 3, 4)
_BRIEF = _BRIEFS[-1]
#: Stands behind a whole name.
_END = "$"


def beginnings(name: Folded) -> list[str]:
    """The terms of a name as one text: how its words are parted does not count."""
    wholes = writings(_joined(name))
    return [*_briefs(wholes), *_ended(wholes)]


def word_beginnings(name: Folded) -> list[str]:
    """The terms of a name's words."""
    words = [written for word in name.spelled.split(" ") for written in writings(word)]
    return list(dict.fromkeys([*_briefs(words), *words]))


def is_whole(view: View, name: Folded) -> tantivy.Query:
    """Names that are this one."""
    return view.any_of(BEGINNING, _ended(writings(_joined(name))))


def begins(view: View, name: Folded) -> tantivy.Query:
    """Names that begin so."""
    return one_of(_begin(view, BEGINNING, text) for text in writings(_joined(name)))


def words_begin(view: View, name: Folded) -> tantivy.Query:
    """Names in which words begin with each of these, whatever their order."""
    return all_of(
        one_of(_begin(view, WORD_BEGINNING, text) for text in writings(word))
        for word in set(name.spelled.split(" "))
    )


def almost_begins(view: View, name: Folded, typos: int) -> tantivy.Query:
    """Names that begin so but for as many typos as a text of this length may have."""
    return _almost(view, BEGINNING, _joined(name), typos)


def words_almost_begin(view: View, name: Folded, typos: int) -> tantivy.Query:
    """The same of words, each of which may have typos."""
    words = set(name.spelled.split(" "))
    return all_of(_almost(view, WORD_BEGINNING, word, typos) for word in words)


def _begin(view: View, field: str, text: str) -> tantivy.Query:
    return view.term(field, text) if len(text) <= _BRIEF else view.beginning(field, text)


def _almost(view: View, field: str, text: str, typos: int) -> tantivy.Query:
    # One writing is near to all the others, and each costs a walk through the dictionary.
    written = min(writings(text), key=len)
    edits = min(typos, typos_allowed(len(written)))
    if len(written) <= _BRIEF:
        return view.within(field, written, edits) if edits else view.term(field, written)
    return view.beginning(field, written, edits)


def _ended(texts: Iterable[str]) -> list[str]:
    return [text + _END for text in texts]


def _joined(name: Folded) -> str:
    return name.spelled.replace(" ", "")


def _briefs(texts: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(text[:length] for text in texts for length in _BRIEFS)
