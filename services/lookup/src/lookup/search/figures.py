"""Figures in names: numbers, Roman numerals and single letters.

They are no letters with typos: `Team 8` is not `Team 7`, `Brunsø V` not `Brunsø IV`, and
`Nordlys B` not `Nordlys C`. A name with a figure that the query lacks may still be meant.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

#: Digits, and letters alone between them: `12` and `a` of `12a`.
_IN_A_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[^\W\d_](?![^\W\d_])")
_NUMBER = re.compile(r"\d+")
_NUMBER_AND_LETTER = re.compile(r"\d[^\W\d_]$")
_ROMAN = re.compile(r"(x{0,3})(ix|iv|v?i{0,4})")
_VALUES = {"i": 1, "v": 5, "x": 10}
#: Words that are also Roman numerals, unless they end a name of several words, and words of one
#: letter: the prepositions and nouns of both languages.
_WORDS = frozenset({"vi", "i", "å", "ø"})


#: Words before the number of a department, as they are compared.
_DEPARTMENTS = frozenset({"afdeling", "avdeling", "department", "dept"})


class Words(NamedTuple):
    """The words of a name, and those that match no word of another; of a query its figures."""

    words: Sequence[str]
    unmatched: Collection[int]
    #: The place of the last word of its own.
    last: int = -1


@lru_cache(maxsize=65_536)
def figures_of(word: str) -> tuple[str, ...]:
    """Returns the figures in a folded word; none of most words."""
    if len(word) == 1 or is_roman(word):
        return (word,)
    return () if word.isalpha() else tuple(_IN_A_NUMBER.findall(word))


def is_roman(word: str) -> bool:
    """Returns True for a Roman numeral up to 39, `IIII` included."""
    return word[:1] in _VALUES and _ROMAN.fullmatch(word) is not None


def numbers_in(text: str) -> list[str]:
    """Returns the numbers in a folded text."""
    return _NUMBER.findall(text)


def figure_places(words: Sequence[str]) -> tuple[int, ...]:
    """Returns the places of the words with figures in a name."""
    last = len(words) - 1
    return tuple(
        place
        for place, word in enumerate(words)
        if figures_of(word) and (word not in _WORDS or 0 < place == last)
    )


def lacks_figure(query: Words, name: Words, written: Collection[str], form: str) -> bool:
    """Returns True if a figure of the query makes it another name: the name lacks it.

    A number that is `written` as a word is one only beside another number (`Back to Nature`). An
    initial within a name may be one of its words, or be left out (`Jens P Prøve`), and a letter at
    the end may be what is left of the name's `form` (`Nordlys S`). A department of which the
    name says nothing has a number of its own (`Nordlys afd. 2`).
    """
    figures = [name.words[n] for n in figure_places(name.words) if n in name.unmatched]
    others = {_value(one) for word in figures for one in figures_of(word)}
    has_department = not _DEPARTMENTS.isdisjoint(name.words)
    for place in query.unmatched:
        word = query.words[place]
        if place and not has_department and query.words[place - 1] in _DEPARTMENTS:
            continue
        is_letter = len(word) == 1 and word.isalpha()
        is_within = is_letter and place != query.last
        if is_within and any(name.words[n].startswith(word) for n in name.unmatched):
            continue
        if is_letter and not is_roman(word):
            is_of_form = form.startswith(word) or form.endswith(word)
            is_other = bool(others) or not (is_within or is_of_form)
        elif word in written:
            is_other = _value(word) not in others
        else:
            is_other = word not in others and any(map(_NUMBER.search, others))
        if is_other:
            return True
    return False


def has_other_figures(queried: Sequence[str], named: Sequence[str]) -> bool:
    """Returns True if two names within a few edits differ in a figure that the query has.

    A space that stands for a letter also makes a single letter (`Nordl s`): one that is a word is a
    figure at the end of the query, unless the other name ends with it, too.
    """
    numbers = numbers_in("".join(queried))
    if numbers and numbers != numbers_in("".join(named)):
        return True
    letters, others = map(_letters_in, (queried, named))
    if others:
        return not set(letters).issubset(others)
    if any(len(one) > 1 for one in letters) or any(map(_NUMBER_AND_LETTER.search, queried)):
        return True
    is_last = bool(letters) and letters[-1] == queried[-1]
    return is_last and not named[-1].endswith(letters[-1])


def _letters_in(words: Sequence[str]) -> list[str]:
    """Returns the Roman numerals and single letters of a name, those beside numbers included."""
    figures = (figure for n in figure_places(words) for figure in figures_of(words[n]))
    return [figure for figure in figures if not _NUMBER.search(figure)]


def _value(word: str) -> str:
    """Returns a number in digits, also of a Roman numeral; other words as they are."""
    if not is_roman(word):
        return word
    signs = [_VALUES[sign] for sign in word]
    following = [*signs[1:], 0]
    return str(
        sum(-one if one < other else one for one, other in zip(signs, following, strict=True))
    )
