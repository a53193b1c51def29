"""The words of a name as compared: initials joined, synonyms unified, connectors removed.

Also how much of a text is read.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

from lookup.search.synonyms import CONNECTORS, OWNER_MARK, SAME_WORD, SLASHED

_SLASHED = re.compile(r"(?<!\w)(?:[aegh]/[bf](?!\w)|v/)", re.IGNORECASE)

#: Words that are dropped or replaced.
_REWRITTEN = CONNECTORS.union(SAME_WORD)


#: Letters that one character may unfold to.
_MOST_UNFOLDED = 18

#: Maximum letters of a folded text: no name of either register is as long.
MAX_FOLDED = 256


def cut(text: str) -> str:
    """Returns the beginning of a text that unfolds to about `MAX_FOLDED` letters.

    A query is cut before it is read: of three hundred ligatures each reading would fold thousands
    of letters.
    """
    if len(text) <= MAX_FOLDED // _MOST_UNFOLDED or text.isascii():
        return text
    if len(unicodedata.normalize("NFKD", text)) <= 2 * MAX_FOLDED:
        return text
    lengths = accumulate(len(unicodedata.normalize("NFKD", char)) for char in text)
    return text[: sum(length <= MAX_FOLDED for length in lengths)]


def expanded(text: str) -> str:
    """Returns a text with slashed abbreviations written out, before folding would split them."""
    if "/" not in text:
        return text
    return _SLASHED.sub(lambda found: SLASHED.get(found[0].lower(), found[0]), text)


def canonical(words: list[str], *, is_partial: bool = False) -> list[str]:
    """Returns words as compared, often the same list; connectors only if there is nothing else.

    With `is_partial` the last word stays as it is: `St` may become `Storm`, and not only `Sankt`.
    """
    if _REWRITTEN.isdisjoint(words) and min(map(len, words), default=0) > 1:
        return words
    found: list[str] = []
    initials: list[str] = []
    for word in (*words, ""):
        if len(word) == 1 and word.isalpha():
            initials.append(word)
            continue
        if initials:
            found += _full("".join(initials))
            initials.clear()
        if word and word not in CONNECTORS:
            found += _full(word)
    if is_partial and found and words[-1] in _REWRITTEN:
        found = [*canonical(words[:-1]), words[-1]]
    return found or words


def _full(word: str) -> list[str]:
    """Returns the words that an abbreviation or a number stands for."""
    return SAME_WORD.get(word, word).split(" ")


def words_before_owner(words: Sequence[str]) -> int:
    """Returns the number of words before the mark of an owner's name; all if there is none."""
    return words.index(OWNER_MARK) if OWNER_MARK in words[1:] else len(words)
