"""Similarity of two texts: by their letters, by their words, and by the figures in them.

*Letters*: the similarity is 100 exactly for texts that are equal after folding. Otherwise it
relates the edits between them (OSA: insert, delete, replace, swap neighbours) to two lengths: that
of the whole texts, and that of the words they do not share. The second prevents a common word from
making others similar: `Abel Transport` is not almost `Adam Transport`. The same words in another
order, and texts of which one contains all words of the other, have rules of their own.

*Figures* are numbers, Roman numerals and single letters. They are no letters with typos: `Team 8`
is not `Team 7`, `Brunsø V` not `Brunsø IV`, and `Nordlys B` not `Nordlys C`. A name with a figure
that the query lacks may still be meant.

*Words* of a query are aligned with those of a name, each with at most one.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA

from lookup.search.folding import FoldedText, collapsed, same_spelling

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


def similarity(query: FoldedText, name: FoldedText) -> float:
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

    A number that is `written` as a word is one only next to another number (`Back to Nature`). An
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
