"""The words of a name as compared: initials joined, synonyms unified, connectors removed."""

import re
from collections.abc import Sequence

from lookup.search.synonyms import CONNECTORS, OWNER_MARK, SAME_WORD, SLASHED

_SLASHED = re.compile(r"(?<!\w)(?:[aegh]/[bf](?!\w)|v/)", re.IGNORECASE)

#: Words that are dropped or replaced.
_REWRITTEN = CONNECTORS.union(SAME_WORD)


def expanded(text: str) -> str:
    """A text with slashed abbreviations written out, before folding would split them."""
    if "/" not in text:
        return text
    return _SLASHED.sub(lambda found: SLASHED.get(found[0].lower(), found[0]), text)


def canonical(words: list[str]) -> list[str]:
    """Folded words as compared, often the same list; if there are only connectors, all of them."""
    if _REWRITTEN.isdisjoint(words) and min(map(len, words), default=0) > 1:
        return words
    found: list[str] = []
    initials: list[str] = []
    for word in (*words, ""):
        if len(word) == 1 and word.isalpha():
            initials.append(word)
            continue
        if initials:
            found.append("".join(initials))
            initials.clear()
        if word and word not in CONNECTORS:
            found.append(SAME_WORD.get(word, word))
    return found or words


def words_before_owner(words: Sequence[str]) -> int:
    """The number of words before the mark of an owner's name; all if there is none."""
    return words.index(OWNER_MARK) if OWNER_MARK in words[1:] else len(words)
