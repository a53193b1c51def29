"""The words of a query beside those of a name, each with at most one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lookup.search.folding import collapsed, same_spelling
from lookup.search.matching import edits_between

#: Letters from which on a word may have one edit, and two.
_ONE_EDIT_FROM, _TWO_EDITS_FROM = 4, 8
#: What an edit costs, as a share of the word's letters.
_EDIT_PRICE = 1.4
#: What a word is worth that only sounds the same: `Moe` asked, `Mo` found.
_SAME_SOUND = 0.9
#: What a word is worth that is written apart or together.
_COMPOUND = 0.99
#: Letters from which on a word may be the beginning of another, and what that is worth.
PREFIX_FROM = 4
_BEGINNING = 0.8
#: The same of a word that is still being typed.
_BEGUN = 0.9


class Pair(NamedTuple):
    """Words of the query and of the name, by their places, that are taken for the same."""

    asked: tuple[int, ...]
    there: tuple[int, ...]
    #: 0 to 1.
    likeness: float


def align(asked: Sequence[str], there: Sequence[str], *, begun: bool = False) -> list[Pair]:
    """Pairs of words: first the equal ones, then compounds, then the most alike.

    The last asked word may be `begun`, that is the beginning of another however short it is.
    """
    left, free = dict(enumerate(asked)), dict(enumerate(there))
    pairs = _equal(left, free)
    if left and free:
        pairs += [Pair(two, one, _COMPOUND) for two, one in _compounds(left, free)]
        pairs += [Pair(one, two, _COMPOUND) for two, one in _compounds(free, left)]
    if left and free:
        pairs += _alike(left, free, len(asked) - 1 if begun else -1)
    return pairs


def same_word(one: str, other: str) -> bool:
    """Whether two words are spellings of one another."""
    return one == other or (collapsed(one) == collapsed(other) and same_spelling(one, other))


@lru_cache(maxsize=65_536)
def likeness(asked: str, there: str, *, begun: bool = False) -> float:
    """How likely one word is meant by another, 0 to 1: within a few edits, or its beginning."""
    asked, there = collapsed(asked), collapsed(there)
    if asked == there:
        return _SAME_SOUND
    found = 0.0
    edits = edits_allowed(len(asked))
    distance = edits_between(asked, there, edits)
    if distance <= edits:
        found = 1 - _EDIT_PRICE * distance / max(len(asked), len(there))
    if (begun or len(asked) >= PREFIX_FROM) and there.startswith(asked):
        found = max(found, _BEGUN if begun else _BEGINNING)
    elif begun and not found:
        found = _almost_begun(asked, there, edits)
    return found


def _almost_begun(asked: str, there: str, edits: int) -> float:
    """How likely a word that is still being typed, with its typos, is the beginning of another."""
    lengths = range(max(len(asked) - edits, 1), min(len(asked) + edits, len(there)) + 1)
    distances = (edits_between(asked, there[:length], edits) for length in lengths)
    distance = min(distances, default=edits + 1)
    return _BEGUN - _EDIT_PRICE * distance / len(asked) if distance <= edits else 0.0


def edits_allowed(letters: int) -> int:
    """How many edits a word may be away; in a short one any would be a guess."""
    return (letters >= _ONE_EDIT_FROM) + (letters >= _TWO_EDITS_FROM)


def _equal(left: dict[int, str], free: dict[int, str]) -> list[Pair]:
    pairs = []
    for place, word in list(left.items()):
        found = next((other for other, name in free.items() if same_word(word, name)), None)
        if found is not None:
            pairs.append(Pair((place,), (found,), 1.0))
            del left[place], free[found]
    return pairs


def _compounds(
    apart: dict[int, str], together: dict[int, str]
) -> list[tuple[tuple[int, int], tuple[int]]]:
    """Two neighbours of one side that are one word of the other."""
    found = []
    for place in sorted(apart):
        if place in apart and place + 1 in apart:
            joined = apart[place] + apart[place + 1]
            whole = next((n for n, word in together.items() if same_word(word, joined)), None)
            if whole is not None:
                found.append(((place, place + 1), (whole,)))
                del apart[place], apart[place + 1], together[whole]
    return found


def _alike(left: dict[int, str], free: dict[int, str], begun: int) -> list[Pair]:
    likely = sorted(
        (
            (like, -place, -other)
            for place, word in left.items()
            for other, name in free.items()
            if (like := likeness(word, name, begun=place == begun))
        ),
        reverse=True,
    )
    pairs = []
    for like, place, other in likely:
        if -place in left and -other in free:
            pairs.append(Pair((-place,), (-other,), like))
            del left[-place], free[-other]
    return pairs
