"""Similarity of two texts by letters: streets, towns, and whole names with typos.

The similarity is 100 exactly for texts that are equal after folding. Otherwise it relates the edits
between them (OSA: insert, delete, replace, swap neighbours) to two lengths: that of the whole
texts, and that of the words they do not share. The second prevents a common word from making others
similar: `Abel Transport` is not almost `Adam Transport`.

The same words in another order, and texts of which one contains all words of the other, have
separate rules, since edits would make them dissimilar. `lookup.search.scoring` ranks names.
"""

from typing import NamedTuple

from rapidfuzz.distance import OSA

from lookup.search.folding import Folded, same_spelling

EXACT = 100.0
#: Equal `words` that are not spellings of one another: query `Moe`, name `Mo`.
SAME_SOUND = 99.0
REORDERED = 97.0
#: The maximum for names that differ.
_MAX_DIFFERENT = 98.0
#: The weights of the edits' share of the whole names and of their share of the differing words.
_WHOLE, _DIFFERING = 0.6, 0.4
#: The query lacks words of the name: 60 points, and 40 by the share of letters in the query.
_MISSING_FLOOR, _MISSING_SHARE = 60.0, 40.0
#: The query has additional words; it is likelier another company, so the share weighs more.
_EXTRA_FLOOR, _EXTRA_SHARE = 25.0, 75.0


class AddressMatch(NamedTuple):
    """The rank of a candidate; the greatest wins (decisions section 3, "Several candidates").

    The score is rounded as in responses, so that invisible differences decide nothing.
    """

    exact: bool
    score: float
    #: `order_of` the candidate's rank and type; unlike the score it is unique.
    order: int


def edits_between(one: str, other: str, max_edits: int) -> int:
    """Returns the edit distance of two texts; any number above `max_edits` if it is greater."""
    if abs(len(one) - len(other)) > max_edits:
        return max_edits + 1
    return OSA.distance(one, other, score_cutoff=max_edits)


def similarity(query: Folded, name: Folded) -> float:
    """Returns the similarity of two names, 0 to 100; 100 only if equal after folding."""
    key, other = query.key, name.key
    if key == other:
        return EXACT if same_spelling(query.spelled, name.spelled) else SAME_SOUND
    extra, missing = _unshared(query.words.split(" "), name.words.split(" "))
    if not extra or not missing:
        return _subset_score(len(key), len(other), missing=bool(missing), extra=bool(extra))
    return min(_MAX_DIFFERENT, _edit_score(key, other, "".join(extra), "".join(missing)))


def _unshared(words: list[str], others: list[str]) -> tuple[list[str], list[str]]:
    """Returns the words of each text that the other lacks, in order; repeated words count."""
    shared = set(words).intersection(others)
    if not shared:
        return words, others
    left, right = list(words), list(others)
    for word in shared:
        for _ in range(min(words.count(word), others.count(word))):
            left.remove(word)
            right.remove(word)
    return left, right


def _subset_score(query: int, name: int, *, missing: bool, extra: bool) -> float:
    """Returns the score if one text, of `query` or `name` letters, has every word of the other."""
    if missing:
        return _MISSING_FLOOR + _MISSING_SHARE * query / name
    if extra:
        return _EXTRA_FLOOR + _EXTRA_SHARE * name / query
    return REORDERED


def _edit_score(key: str, other: str, extra: str, missing: str) -> float:
    longest = max(len(key), len(other))
    edits = OSA.distance(extra, missing)
    in_order = EXACT * (1 - OSA.distance(key, other) / longest)
    reordered = REORDERED * (1 - edits / longest)
    differing = EXACT * (1 - edits / max(len(extra), len(missing)))
    return _WHOLE * max(in_order, reordered) + _DIFFERING * differing
