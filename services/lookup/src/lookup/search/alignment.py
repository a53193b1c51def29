"""Alignment of a query's words with those of a name, each with at most one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lookup.search.figures import figures_of
from lookup.search.folding import collapsed, same_spelling
from lookup.search.matching import edits_between

#: Minimum letters of a word for one edit, and for two.
_ONE_EDIT_FROM, _TWO_EDITS_FROM = 4, 8
#: The cost of an edit, as a share of the word's letters.
_EDIT_COST = 1.4
#: The weight of a word that only sounds the same: query `Moe`, name `Mo`.
_SAME_SOUND = 0.9
#: The weight of a compound that is split in one of the two.
_COMPOUND = 0.99
#: Minimum letters of a prefix of another word, and the weight of a prefix.
PREFIX_FROM = 4
_PREFIX = 0.8
#: The same for a word that is still being typed.
_TYPED_PREFIX = 0.9


class Pair(NamedTuple):
    """Matching words of the query and of the name, by position."""

    query: tuple[int, ...]
    name: tuple[int, ...]
    #: 0 to 1.
    similarity: float


def align(query: Sequence[str], name: Sequence[str], *, last_is_prefix: bool = False) -> list[Pair]:
    """Returns pairs of words: first equal ones, then compounds, then the most similar.

    With `last_is_prefix` the last word of the query may be a prefix of another, however short.
    """
    queried, named = dict(enumerate(query)), dict(enumerate(name))
    pairs = _equal(queried, named)
    if queried and named:
        pairs += [Pair(two, one, _COMPOUND) for two, one in _compounds(queried, named)]
        pairs += [Pair(one, two, _COMPOUND) for two, one in _compounds(named, queried)]
    if queried and named:
        pairs += _similar(queried, named, len(query) - 1 if last_is_prefix else -1)
    return pairs


def same_word(one: str, other: str) -> bool:
    """Returns True if two words are spellings of one another."""
    return one == other or (collapsed(one) == collapsed(other) and same_spelling(one, other))


@lru_cache(maxsize=65_536)
def word_similarity(query: str, name: str, is_prefix: bool = False) -> float:  # noqa: FBT001, FBT002 (positional arguments are cached faster)
    """Returns the similarity of two words, 0 to 1: within a few edits, or a prefix."""
    one, other = collapsed(query), collapsed(name)
    if one == other:
        return _SAME_SOUND
    if figures_of(query) and figures_of(query) != figures_of(name):
        # Figures are no letters with typos, but are typed one by one.
        return _TYPED_PREFIX if is_prefix and other.startswith(one) else 0.0
    found = _almost(one, other, is_prefix=is_prefix)
    if one != query or other != name:
        # A typo may turn two letters into `ae` or split one: query `Kaerheim`, name `Akerheim`.
        found = max(found, _almost(query, name, is_prefix=is_prefix))
    return found


def _almost(query: str, name: str, *, is_prefix: bool) -> float:
    best = 0.0
    edits = edits_allowed(len(query))
    distance = edits_between(query, name, edits)
    if distance <= edits:
        best = 1 - _EDIT_COST * distance / max(len(query), len(name))
    if (is_prefix or len(query) >= PREFIX_FROM) and name.startswith(query):
        best = max(best, _TYPED_PREFIX if is_prefix else _PREFIX)
    elif is_prefix and not best:
        best = _almost_prefix(query, name, edits)
    return best


def _almost_prefix(query: str, name: str, edits: int) -> float:
    """Returns the similarity of a partly typed word, with typos, to a prefix of another."""
    lengths = range(max(len(query) - edits, 1), min(len(query) + edits, len(name)) + 1)
    distances = (edits_between(query, name[:length], edits) for length in lengths)
    distance = min(distances, default=edits + 1)
    return _TYPED_PREFIX - _EDIT_COST * distance / len(query) if distance <= edits else 0.0


def edits_allowed(letters: int) -> int:
    """Returns the maximum edits of a word or typed text; more would match too many short ones."""
    return (letters >= _ONE_EDIT_FROM) + (letters >= _TWO_EDITS_FROM)


def _equal(queried: dict[int, str], named: dict[int, str]) -> list[Pair]:
    pairs = []
    sounds = set(map(collapsed, named.values()))
    for position, word in list(queried.items()):
        if collapsed(word) not in sounds:
            continue
        equal = next((other for other, name in named.items() if same_word(word, name)), None)
        if equal is not None:
            pairs.append(Pair((position,), (equal,), 1.0))
            del queried[position], named[equal]
    return pairs


def _compounds(
    apart: dict[int, str], together: dict[int, str]
) -> list[tuple[tuple[int, int], tuple[int]]]:
    """Returns pairs of neighbouring words of one side that are one word of the other."""
    found = []
    sounds = set(map(collapsed, together.values()))
    for position in sorted(apart):
        if position in apart and position + 1 in apart:
            joined = apart[position] + apart[position + 1]
            if collapsed(joined) not in sounds:
                continue
            whole = next((n for n, word in together.items() if same_word(word, joined)), None)
            if whole is not None:
                found.append(((position, position + 1), (whole,)))
                del apart[position], apart[position + 1], together[whole]
    return found


def _similar(queried: dict[int, str], named: dict[int, str], prefix: int) -> list[Pair]:
    """Returns the most similar words first; the word at position `prefix` may be a prefix."""
    candidates = sorted(
        (
            (similarity, -position, -other)
            for position, word in queried.items()
            for other, name in named.items()
            if (similarity := word_similarity(word, name, position == prefix))
        ),
        reverse=True,
    )
    pairs = []
    for similarity, position, other in candidates:
        if -position in queried and -other in named:
            pairs.append(Pair((-position,), (-other,), similarity))
            del queried[-position], named[-other]
    return pairs
