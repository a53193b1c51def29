"""Score of a name for a query: aligned words, weighted by rarity.

A word in a single name of the register has weight 1, a word in every name weight 0. The *query
share* is the part of the query's weight that the name contains, the *information* the weight of
the matching words, and the *name share* the part of the name's weight that the query contains.
Query share and information decide acceptance, the score the order. docs/adr/0021 has the reason
and the measurement of every number here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import NamedTuple

from common.contracts.company import Country
from lookup.search.folding import (
    FORM_WORDS,
    TRAILING_FORMS,
    FoldedText,
    collapsed,
    fold_beginning,
    fold_name,
    fold_text,
    form_of,
    one_line,
    own_writing,
    read_initials,
    refolded,
    same_spelling,
    words_before_owner,
)
from lookup.search.indexed_company import NameType, is_foreign
from lookup.search.similarity import (
    EXACT,
    Pair,
    Words,
    align,
    edits_between,
    figure_places,
    has_other_figures,
    is_roman,
    lacks_figure,
    numbers_in,
    similarity,
)
from lookup.search.synonyms import COUNTRY_NAMES, GENERIC, SAME_FORM

#: The letters of each legal form that ends a name.
_FORMS = {fold_text(form).letters for form in TRAILING_FORMS}
_MAX_FORM_LETTERS = max(map(len, _FORMS)) + 1


def cut_ends(written: FoldedText) -> Iterator[tuple[FoldedText, str]]:
    """Yields a name before and after each place near its end."""
    words = written.tokens
    end = ""
    while words and len(end) < _MAX_FORM_LETTERS:
        end = words[-1][-1] + end
        words = [*words[:-1], words[-1][:-1]] if len(words[-1]) > 1 else words[:-1]
        if words:
            yield refolded(" ".join(words)), end


@lru_cache(maxsize=4096)
def forms_like(end: str) -> dict[str, int]:
    """Returns the legal forms that a text may be, each with its edits: none or one."""
    if len(end) > _MAX_FORM_LETTERS:
        return {}
    # `Brunsø V` is no `Brunsø BV`.
    if end not in _FORMS and (numbers_in(end) or is_roman(end)):
        return {}
    found: dict[str, int] = {}
    for form in _FORMS:
        edits = edits_between(end, form, 1)
        if edits <= 1:
            called = SAME_FORM.get(form, form)
            found[called] = min(edits, found.get(called, edits))
    return found


#: The weight of a word, 0 to 1.
Weigh = Callable[[str], float]

#: Minimum score by words, before the factor of the name's type, and minimum information of an
#: accepted name.
ACCEPTED_SCORE, ACCEPTED_INFORMATION = 66.0, 0.5
#: Maximum weight of a generic word; alone it is never enough.
_GENERIC_WEIGHT = 0.45
#: Minimum assumed size of a register: in a smaller one every word would be common.
_SMALLEST_REGISTER = 1_000

#: The points of a score below 100: for the query share, the name share, equal first words, a word
#: of the company's places, and a context word that the name itself contains.
_QUERY_SHARE, _NAME_SHARE, _FIRST_WORD, _PLACE_WORD, _CONTEXT_WORD = 88.0, 5.0, 4.0, 2.0, 0.1

#: Minimum similarity of a whole name within two edits, and the factor of its score.
_SIMILAR_WHOLE, _WHOLE_SHARE = 76.0, 0.97
MAX_WHOLE_EDITS = 2
#: Minimum letters of a name with a typo in its own words.
_MIN_OWN_LETTERS = 4
#: Maximum points of a name whose form the query has with a slipped space, one less with a typo:
#: less than those of a name with every queried word (`Agenda` is not `Agen DA`). The points for
#: names that are within one edit with their spaces, too.
_SLIPPED_FORM, _ONE_EDIT = 87.0, 0.5

TYPE_WEIGHT = {NameType.CURRENT: 1.0, NameType.TRADE: 0.98, NameType.FORMER: 0.95}
#: For a foreign company's own record, since its branch is meant.
_FOREIGN_WEIGHT = 0.95


@dataclass(frozen=True, slots=True)
class Query:
    """A queried name."""

    text: str
    name: FoldedText
    #: Equal except for case and punctuation; the legal form is included.
    plain: str
    form: str
    #: With its legal form at the end.
    written: FoldedText
    #: Words that need not match: the country's name, and legal forms.
    context: frozenset[str]
    #: The places of the words with figures.
    figures: tuple[int, ...] = ()
    #: True if the last word may be a prefix of the intended one.
    last_is_prefix: bool = False
    #: Initials at its beginning that spell a legal form (`A. S. Prøven`), and the name if they are
    #: it.
    initials: str = ""
    without_initials: FoldedText | None = None

    @property
    def as_form(self) -> "Query | None":
        """The query if initials at its beginning are its legal form; None if it has none."""
        name = self.without_initials
        return (
            None if name is None else replace(self, name=name, initials="", without_initials=None)
        )

    @property
    def has_form(self) -> bool:
        """True if the text ends with a legal form."""
        return self.written.key != self.name.key


class Name(NamedTuple):
    """A name of a company."""

    type: NameType
    folded: FoldedText
    #: As the register writes it.
    text: str
    #: FoldedText words of the company's towns, postal codes and municipalities.
    places: frozenset[str] = frozenset()


class NameMatch(NamedTuple):
    """A name's match, by which candidates sort (decisions section 3, "Several candidates").

    The score is rounded as in responses, so that invisible differences decide nothing.
    """

    accepted: bool
    exact: bool
    score: float
    #: Of equal names the one that is written as the query is greater, see `_literal`.
    literal: int
    #: `order_of` the candidate's rank and type; unlike the score it is unique.
    order: int
    #: True if the name would be accepted, but a figure of the query differs.
    is_other: bool = False


def read_query(text: str, country: Country, *, last_is_prefix: bool = False) -> Query:
    """Returns the query of any text; with `last_is_prefix` its last word may be incomplete."""
    initials = read_initials(text)
    name = fold_name(initials.as_name if initials else text)
    # A name may begin with a word that is a legal form elsewhere (`AB Prøven`).
    context = (FORM_WORDS | COUNTRY_NAMES[country]) - {name.tokens[0]}
    plain = fold_text(text).spelled
    return Query(
        one_line(text),
        name,
        plain,
        form_of(text),
        fold_beginning(text),
        frozenset(context),
        figure_places(name.tokens),
        last_is_prefix,
        initials.letters if initials else "",
        fold_name(initials.as_form) if initials and initials.as_form else None,
    )


def weight(word: str, frequency: int, names: int) -> float:
    """Returns the weight of a folded word that `frequency` of `names` names contain, 0 to 1."""
    maximum = _GENERIC_WEIGHT if word in GENERIC else 1.0
    rarity = 1 - log(max(frequency, 1)) / log(max(names, _SMALLEST_REGISTER))
    return min(maximum, max(0.0, rarity))


def match_name(query: Query, name: Name, order: int, weigh: Weigh) -> NameMatch:
    """Returns the match of a name; an exact one scores 100 regardless of its type."""
    other = query.without_initials
    if _is_equal(query.name, name.folded) or (other and _is_equal(other, name.folded)):
        return NameMatch(True, True, EXACT, _literal(query, name), order)  # noqa: FBT003
    words = _by_words(query, name, weigh)
    slipped = _edit_points(query, name, _form_edits(query, name), _SLIPPED_FORM, weigh)
    own = _edit_points(query, name, _own_edits(query, name), EXACT, weigh)
    letters = max(_whole_points(query, name, weigh), own)
    if query.initials and query.name.key == query.initials + name.folded.key:
        # They are no typo: `A S Holding AS` is not `Holding AS`.
        letters = 0.0
    other_letters = letters > 0 and _has_other_figures(query, name)
    accepted = words.accepted or slipped > 0 or (letters > 0 and not other_letters)
    weight_of_type = TYPE_WEIGHT[name.type] * (_FOREIGN_WEIGHT if is_foreign(order) else 1.0)
    return NameMatch(
        accepted,
        exact=False,
        score=round(max(words.points, slipped, letters) * weight_of_type, 1),
        # A higher value requires equality.
        literal=_has_queried_form(query, name.text),
        order=order,
        is_other=not accepted and (words.is_other or other_letters),
    )


def _has_other_figures(query: Query, name: Name) -> bool:
    return bool(query.figures) and has_other_figures(query.name.tokens, name.folded.tokens)


def _is_equal(query: FoldedText, name: FoldedText) -> bool:
    return query.key == name.key and same_spelling(query.spelled, name.spelled)


#: Levels of equal names: identical, equal except for case and punctuation; else the same legal form
#: counts before a name that is written in the same way without its form, and this before one with
#: the same letters.
_IDENTICAL, _SAME_TEXT, _SAME_FORM, _SAME_WRITING, _SAME_LETTERS = 7, 6, 3, 2, 1


def _literal(query: Query, name: Name) -> int:
    if name.text == query.text:
        return _IDENTICAL
    own = 0
    if name.folded.spelled == query.name.spelled:
        is_same = _is_written_as(query, name.text)
        own = _SAME_WRITING if is_same else _SAME_LETTERS
        if is_same and fold_text(name.text).spelled == query.plain:
            return _SAME_TEXT
    return own + _SAME_FORM * _has_queried_form(query, name.text)


def _is_written_as(query: Query, text: str) -> bool:
    if not query.form and text.lower().startswith(query.text.lower()):
        return True
    return own_writing(text) == own_writing(query.text)


def _has_queried_form(query: Query, text: str) -> int:
    return int(bool(query.form) and form_of(text) == query.form)


def is_as_written(match: NameMatch) -> bool:
    """Returns True if no other equal name is written more like the query, but for its form."""
    return match.literal in _AS_WRITTEN


_AS_WRITTEN = frozenset({_IDENTICAL, _SAME_TEXT, _SAME_WRITING, _SAME_FORM + _SAME_WRITING})


def is_informative(words: Iterable[str], weigh: Weigh) -> bool:
    """Returns True if words together have the information that acceptance requires."""
    return sum(map(weigh, words)) >= ACCEPTED_INFORMATION


def whole_edits(letters: int) -> int:
    """Returns the maximum edits between an accepted name and a query of this length."""
    # The name may be longer by as many letters, and an edit costs the share of a letter.
    allowed = (edits for edits in (2, 1) if EXACT * letters / (letters + edits) >= _SIMILAR_WHOLE)
    return next(allowed, 0)


def _whole_points(query: Query, name: Name, weigh: Weigh) -> float:
    """Returns the points of names without spaces and forms; 0 if more than typos differ.

    Another legal form is one more edit.
    """
    queried, named = query.name, name.folded
    one, other = queried.key, named.key
    if queried.words == named.words or edits_between(one, other, MAX_WHOLE_EDITS) > MAX_WHOLE_EDITS:
        return 0.0
    if _is_common(query, weigh):
        return 0.0
    score = similarity(queried, named)
    other_form = EXACT * _has_other_form(query, name) / max(len(one), len(other))
    return _WHOLE_SHARE * score if score - other_form >= _SIMILAR_WHOLE else 0.0


def _edit_points(query: Query, name: Name, edits: int, most: float, weigh: Weigh) -> float:
    """Returns the points of names with their legal forms; 0 if more than an edit differs."""
    if edits > 1 or _is_common(query, weigh):
        return 0.0
    score = EXACT * (1 - edits / len(query.written.key))
    if score < _SIMILAR_WHOLE:
        return 0.0
    with_spaces = edits_between(query.plain, fold_text(name.text).spelled, 1)
    return min(most - edits, _WHOLE_SHARE * score) + _ONE_EDIT * (with_spaces <= 1)


def _form_edits(query: Query, name: Name) -> int:
    """Returns the edits in the legal form behind the name's own words; 2 if there are more."""
    written, own = query.written, name.folded
    if query.has_form:
        return 2
    for letters, beginning in ((written.letters, own.letters), (written.key, own.key)):
        end = letters.removeprefix(beginning)
        if end != letters:
            return forms_like(end).get(form_of(name.text), 2)
    return 2


def _own_edits(query: Query, name: Name) -> int:
    """Returns the edits between two names without their forms, and one if these differ.

    The collapsed letters of short names are too similar: `Aeven` is `aven`, as near to `Aden`.
    """
    one, other = query.name, name.folded
    shorter = min(len(one.key), len(other.key))
    if one.words == other.words or shorter < _MIN_OWN_LETTERS:
        return 2
    edits = edits_between(one.letters, other.letters, 1)
    if edits > 1 and shorter > _MIN_OWN_LETTERS:
        edits = edits_between(one.key, other.key, 1)
    return edits + _has_other_form(query, name) if edits <= 1 else edits


def _has_other_form(query: Query, name: Name) -> bool:
    return bool(query.form) and form_of(name.text) not in ("", query.form)


def _is_common(query: Query, weigh: Weigh) -> bool:
    """Returns True for a common word alone: `Danmark` is not like `4C Danmark`."""
    return " " not in query.name.words and not is_informative(query.name.tokens, weigh)


class _Words(NamedTuple):
    """The match of a name by words."""

    accepted: bool
    points: float
    #: True if it would be accepted but for a figure of the query.
    is_other: bool = False


def _by_words(query: Query, name: Name, weigh: Weigh) -> _Words:
    queried, named = query.name.tokens, name.folded.tokens
    pairs = align(queried, named, last_is_prefix=query.last_is_prefix)
    if not pairs:
        return _Words(False, 0.0, _is_near_numeral(query, name))  # noqa: FBT003
    weights = [weigh(word) for word in named]
    matching = [(_pair_weight(pair, queried, weights, weigh), pair.similarity) for pair in pairs]
    information = sum(pair_weight * similarity for pair_weight, similarity in matching)
    unmatched = _unmatched(queried, pairs)
    has_place = any(collapsed(queried[n]) in name.places for n in unmatched)
    has_context = any(queried[n] in query.context for pair in pairs for n in pair.query)
    missing = sum(weigh(queried[n]) for n in unmatched if not _is_context(queried, n, query, name))
    matched = sum(pair_weight for pair_weight, _ in matching)
    query_share = information / ((matched + missing) or 1.0)
    name_weight = sum(weights[: words_before_owner(named)]) or 1.0
    points = (
        _QUERY_SHARE * query_share
        + _NAME_SHARE * min(1.0, information / name_weight)
        + _FIRST_WORD * any(pair.query[0] == 0 == pair.name[0] for pair in pairs)
        + _PLACE_WORD * has_place
        + _CONTEXT_WORD * has_context
    )
    informative = information >= ACCEPTED_INFORMATION or _has_all(queried, pairs)
    fits = points >= ACCEPTED_SCORE and informative
    other = _other_figures(query, name, pairs) if query.figures else ()
    if not other:
        return _Words(fits, points)
    # Without these figures.
    missing -= sum(weigh(queried[n]) for n in other)
    more = _QUERY_SHARE * (information / ((matched + missing) or 1.0) - query_share)
    return _Words(False, points, informative and points + more >= ACCEPTED_SCORE)  # noqa: FBT003


def has_another_figure(query: Query, name: Name) -> bool:
    """Returns True if a figure of the query makes it another name than this one."""
    if not query.figures or _is_equal(query.name, name.folded):
        return False
    pairs = align(query.name.tokens, name.folded.tokens)
    return bool(_other_figures(query, name, pairs))


def _is_near_numeral(query: Query, name: Name) -> bool:
    """Returns True for names of figures alone that are near: `IIII`, `III`."""
    if len(query.figures) < len(query.name.tokens) or not _has_other_figures(query, name):
        return False
    return edits_between(query.name.key, name.folded.key, 1) <= 1


def _other_figures(query: Query, name: Name, pairs: list[Pair]) -> Sequence[int]:
    queried, named = query.name.tokens, name.folded.tokens
    matched = {n for pair in pairs for n in pair.name}
    figures = sorted(set(query.figures).intersection(_unmatched(queried, pairs)))
    if not figures:
        return ()
    own = [n for n in range(len(queried)) if not _is_context(queried, n, query, name)]
    figures = [n for n in figures if n in own]
    is_other = bool(figures) and lacks_figure(
        Words(queried, figures, own[-1]),
        Words(named, set(range(len(named))) - matched),
        query.plain.split(" "),
        "" if query.has_form else form_of(name.text),
    )
    return figures if is_other else ()


def _pair_weight(pair: Pair, queried: list[str], weights: list[float], weigh: Weigh) -> float:
    named = sum(weights[n] for n in pair.name)
    if pair.similarity == 1:
        return named
    return min(named, sum(weigh(queried[n]) for n in pair.query))


def _unmatched(queried: list[str], pairs: list[Pair]) -> list[int]:
    matched = {n for pair in pairs for n in pair.query}
    return [n for n in range(len(queried)) if n not in matched]


def _is_context(queried: list[str], place: int, query: Query, name: Name) -> bool:
    """Returns True for a word that need not match: a place, its quarter, the country, a form."""
    word = queried[place]
    if word in query.context or collapsed(word) in name.places:
        return True
    return len(word) == 1 and place > 0 and collapsed(queried[place - 1]) in name.places


def _has_all(queried: list[str], pairs: list[Pair]) -> bool:
    equal = sum(len(pair.query) for pair in pairs if pair.similarity == 1)
    return equal == len(queried) > 1
