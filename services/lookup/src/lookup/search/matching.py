"""How alike two texts are, letter by letter: streets, towns, and whole names with typos.

The likeness is 100 for texts that are equal after folding, and only for them. Below, it weighs the
edits that lead from one to the other (OSA: insert, delete, replace, swap neighbours) against two
lengths: that of the whole texts, and that of the words they do not share. The second keeps a common
word from lending its likeness to others: `Abel Transport` is not almost `Adam Transport`.

Texts with the same words in another order, or where one has all the words of the other, are scored
by rules of their own, since edits would make strangers of them. How names are ranked is in
`lookup.search.scoring`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.distance import OSA

from common.contracts.company import CompanyKey
from lookup.search.folding import Folded, same_spelling

EXACT = 100.0
#: Equal `words`, but not spellings of one another: `Moe` asked, `Mo` found.
SAME_SOUND = 99.0
REORDERED = 97.0
#: No other name comes nearer than this.
_NEAREST = 98.0
#: What counts beside the edits' share of the whole names: their share of the words that differ.
_WHOLE, _DIFFERING = 0.6, 0.4
#: The asked name lacks words of the found one: 60 points and 40 by the share of letters asked.
_MISSING_FLOOR, _MISSING_SHARE = 60.0, 40.0
#: The asked name has words too many; likelier another company, so the share counts for more.
_EXTRA_FLOOR, _EXTRA_SHARE = 25.0, 75.0


@dataclass(frozen=True, slots=True)
class Hit:
    """The company that answers a search."""

    key: CompanyKey
    #: 0 to 100; 100 exactly when the match is exact.
    score: float
    #: Whether nothing that counts differs.
    exact: bool
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None


class Standing(NamedTuple):
    """How well a candidate answers; the greatest wins (decisions section 3, "Several candidates").

    The score is rounded to what an answer shows, so that a difference nobody sees decides nothing.
    """

    exact: bool
    score: float
    #: `order_of` the candidate's rank and kind; unlike the score it differs between any two.
    order: int


def edits_between(one: str, other: str, most: int) -> int:
    """The edits that lead from one text to the other; more than `most` where it takes more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    return OSA.distance(one, other, score_cutoff=most)


def similarity(asked: Folded, there: Folded) -> float:
    """How alike two names are, 0 to 100; 100 exactly when they are equal after folding."""
    key, other = asked.key, there.key
    if key == other:
        return EXACT if same_spelling(asked.spelled, there.spelled) else SAME_SOUND
    only_asked, only_there = _unshared(asked.words.split(" "), there.words.split(" "))
    if not only_asked or not only_there:
        return _subset_score(len(key), len(other), missing=bool(only_there), extra=bool(only_asked))
    return min(_NEAREST, _edit_score(key, other, "".join(only_asked), "".join(only_there)))


def _unshared(words: list[str], others: list[str]) -> tuple[list[str], list[str]]:
    """The words of each that the other lacks, in their order; a repeated word counts as often."""
    shared = set(words).intersection(others)
    if not shared:
        return words, others
    left, right = list(words), list(others)
    for word in shared:
        for _ in range(min(words.count(word), others.count(word))):
            left.remove(word)
            right.remove(word)
    return left, right


def _subset_score(asked: int, there: int, *, missing: bool, extra: bool) -> float:
    """For names of `asked` and `there` letters where one has every word of the other."""
    if missing:
        return _MISSING_FLOOR + _MISSING_SHARE * asked / there
    if extra:
        return _EXTRA_FLOOR + _EXTRA_SHARE * there / asked
    return REORDERED


def _edit_score(key: str, other: str, only_asked: str, only_there: str) -> float:
    longest = max(len(key), len(other))
    edits = OSA.distance(only_asked, only_there)
    in_order = EXACT * (1 - OSA.distance(key, other) / longest)
    reordered = REORDERED * (1 - edits / longest)
    differing = EXACT * (1 - edits / max(len(only_asked), len(only_there)))
    return _WHOLE * max(in_order, reordered) + _DIFFERING * differing
