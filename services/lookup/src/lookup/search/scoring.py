"""How well a name answers a query: its words, each weighing its rarity.

A word tells as much as it is rare in the register: one that a single name has weighs 1, one that
every name has weighs 0. Three figures decide. The *asked share* is how much of the query the name
has, the *information* how much that tells, and the *name's share* how much of the name was asked.
Share and information decide whether a name is accepted, the score which of them comes first.
docs/adr/0021 has the reason and the measurement of every number here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

from common.contracts.company import Country
from lookup.search.alignment import Pair, align
from lookup.search.folding import (
    FORM_WORDS,
    Folded,
    collapsed,
    fold_name,
    fold_text,
    form_of,
    one_line,
    same_spelling,
)
from lookup.search.indexed import NameKind, is_foreign
from lookup.search.matching import EXACT, edits_between, similarity
from lookup.search.synonyms import COUNTRY_NAMES, GENERIC
from lookup.search.tokens import own_words

#: The weight of a word, 0 to 1.
Weigh = Callable[[str], float]

#: The least score by words, before its kind weighs, and the least information that an accepted
#: name has.
ACCEPTED_SCORE, ACCEPTED_INFORMATION = 66.0, 0.5
#: The most that a generic word tells; alone it is never enough.
_GENERIC_WEIGHT = 0.45
#: A register is not taken for smaller: among ten names no word would be common.
_SMALLEST_REGISTER = 1_000

#: The points of a score below 100: the asked share, the name's, its first word asked first, and
#: words of the company's own places.
_ASKED, _NAMED, _FIRST, _CONFIRMED = 88.0, 5.0, 4.0, 2.0

#: A whole name within two edits is accepted from this likeness on, and scores this share of it.
_LIKE_WHOLE, _WHOLE_SHARE = 76.0, 0.97
MAX_WHOLE_EDITS = 2

KIND_WEIGHT = {NameKind.CURRENT: 1.0, NameKind.TRADE: 0.98, NameKind.FORMER: 0.95}
#: Of a foreign company's own record, whose branch here is meant.
_FOREIGN_WEIGHT = 0.95


@dataclass(frozen=True, slots=True)
class Query:
    """A name as it is asked for."""

    text: str
    name: Folded
    #: Letter by letter but for case and punctuation, the legal form included.
    plain: str
    form: str
    #: Words that may stand beside a name: the country's, and legal forms.
    beside: frozenset[str]
    #: Whether its last word may be only begun.
    begun: bool = False


class Name(NamedTuple):
    """A name of a company."""

    kind: NameKind
    folded: Folded
    #: As the register writes it.
    text: str
    #: Folded words of the company's towns, postal codes and municipalities.
    places: frozenset[str] = frozenset()


class NameStanding(NamedTuple):
    """How well a name answers; the greatest wins (decisions section 3, "Several candidates").

    The score is rounded to what an answer shows, so that a difference nobody sees decides nothing.
    """

    accepted: bool
    exact: bool
    score: float
    #: How literally the name is as asked, which tells namesakes apart.
    literal: int
    #: `order_of` the candidate's rank and kind; unlike the score it differs between any two.
    order: int


def read_query(text: str, country: Country, *, begun: bool = False) -> Query:
    """Total for any text; what is still being typed is `begun`."""
    name = fold_name(text)
    # A name may begin with what is a legal form elsewhere (`AB Prøven`).
    beside = (FORM_WORDS | COUNTRY_NAMES[country]) - {name.tokens[0]}
    return Query(
        one_line(text), name, fold_text(text).spelled, form_of(text), frozenset(beside), begun
    )


def weight(word: str, frequency: int, names: int) -> float:
    """What a folded word that `frequency` of so many names have tells, 0 to 1."""
    most = _GENERIC_WEIGHT if word in GENERIC else 1.0
    rarity = 1 - log(max(frequency, 1)) / log(max(names, _SMALLEST_REGISTER))
    return min(most, max(0.0, rarity))


def name_standing(query: Query, name: Name, order: int, weigh: Weigh) -> NameStanding:
    """How a name stands against the asked one; an exact match is 100 whatever its kind."""
    if _is_equal(query.name, name.folded):
        return NameStanding(True, True, EXACT, _literal(query, name.text), order)  # noqa: FBT003
    accepted, points = _by_words(query, name, weigh)
    whole = _WHOLE_SHARE * _whole_likeness(query.name, name.folded)
    weight_of_kind = KIND_WEIGHT[name.kind] * (_FOREIGN_WEIGHT if is_foreign(order) else 1.0)
    score = round(max(points, whole) * weight_of_kind, 1)
    literal = _literal(query, name.text)
    return NameStanding(
        accepted or whole > 0, exact=False, score=score, literal=literal, order=order
    )


def _is_equal(asked: Folded, there: Folded) -> bool:
    return asked.key == there.key and same_spelling(asked.spelled, there.spelled)


def _literal(query: Query, text: str) -> int:
    if text == query.text:
        return 3
    if fold_text(text).spelled == query.plain:
        return 2
    return int(bool(query.form) and form_of(text) == query.form)


def _whole_likeness(asked: Folded, there: Folded) -> float:
    """That of two names written as one word each; 0 where they are not the same but for typos.

    A generic word alone is likened to none: `Danmark` is two letters from `4C Danmark`.
    """
    one, other = asked.key, there.key
    if (
        asked.words in GENERIC
        or one == other
        or edits_between(one, other, MAX_WHOLE_EDITS) > MAX_WHOLE_EDITS
    ):
        return 0.0
    found = similarity(asked, there)
    return found if found >= _LIKE_WHOLE else 0.0


def _by_words(query: Query, name: Name, weigh: Weigh) -> tuple[bool, float]:
    """Whether the name is accepted for its words, and their points."""
    asked, there = query.name.tokens, name.folded.tokens
    pairs = align(asked, there, begun=query.begun)
    if not pairs:
        return False, 0.0
    weights = [weigh(word) for word in there]
    told = [(_worth(pair, asked, weights, weigh), pair.likeness) for pair in pairs]
    information = sum(worth * like for worth, like in told)
    others = _others(asked, pairs)
    confirmed = any(collapsed(word) in name.places for word in others)
    missing = sum(weigh(word) for word in others if not _may_stand_beside(word, query, name))
    share = information / ((sum(worth for worth, _ in told) + missing) or 1.0)
    own = sum(weights[: own_words(there)]) or 1.0
    points = (
        _ASKED * share
        + _NAMED * min(1.0, information / own)
        + _FIRST * any(pair.asked[0] == 0 == pair.there[0] for pair in pairs)
        + _CONFIRMED * confirmed
    )
    telling = information >= ACCEPTED_INFORMATION or _has_all(asked, pairs)
    return points >= ACCEPTED_SCORE and telling, points


def _worth(pair: Pair, asked: list[str], weights: list[float], weigh: Weigh) -> float:
    """What a pair tells; a common word that is asked tells no more where it is not quite there."""
    there = sum(weights[place] for place in pair.there)
    if pair.likeness == 1:
        return there
    return min(there, sum(weigh(asked[place]) for place in pair.asked))


def _others(asked: list[str], pairs: list[Pair]) -> list[str]:
    """The asked words that the name has not."""
    paired = {place for pair in pairs for place in pair.asked}
    return [word for place, word in enumerate(asked) if place not in paired]


def _may_stand_beside(word: str, query: Query, name: Name) -> bool:
    return word in query.beside or collapsed(word) in name.places


def _has_all(asked: list[str], pairs: list[Pair]) -> bool:
    """Whether the name has every asked word, and they are more than one."""
    equal = sum(len(pair.asked) for pair in pairs if pair.likeness == 1)
    return equal == len(asked) > 1
