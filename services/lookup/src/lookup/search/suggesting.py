"""Suggestions while a name is typed: what it may be the beginning of, and who comes first.

A letter that people write in several ways is looked for in each of them, one way throughout a name:
`Ærø` is found by `aer`, `aero` and `aro`. Unlike in a search the letters are not collapsed: to who
has typed `moe`, all that begins with `mo` would be noise.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from common.contracts.company import CompanyKey
from lookup.search.folding import SPELLINGS, Folded, fold_beginning, fold_name, without_begun_form

#: Letters from which on a typed text or word may have one typo, and two.
_ONE_TYPO_FROM, _TWO_TYPOS_FROM = 4, 8


class Suggested(NamedTuple):
    key: CompanyKey
    #: 0 to 100; 100 exactly when what was typed is the whole name.
    score: float


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed so far of a name, as it is meant in different ways; often all are the same."""

    #: All of it, a legal form included that may become a word (`Nordisk As`, `Nordisk Asfalt`).
    beginning: Folded
    #: Without the legal form at its end.
    whole: Folded
    #: Without the legal form at its end, be it only begun.
    stem: Folded


def read_typed(text: str) -> Typed:
    """Total for any text that is not blank."""
    return Typed(fold_beginning(text), fold_name(text), without_begun_form(text))


def writings(spelled: str) -> list[str]:
    """A folded text in every way to write its special letters: at most eight."""
    if spelled.isascii():
        return [spelled]
    special = tuple(letter for letter in SPELLINGS if letter in spelled)
    return [spelled.translate(table) for table in _tables(special)]


@cache
def _tables(special: tuple[str, ...]) -> list[dict[int, str]]:
    choices = product(*(SPELLINGS[letter] for letter in special))
    return [str.maketrans(dict(zip(special, choice, strict=True))) for choice in choices]


def typos_allowed(letters: int) -> int:
    """How many typos a text of so many letters may have; in a short one any would be a guess."""
    return (letters >= _ONE_TYPO_FROM) + (letters >= _TWO_TYPOS_FROM)
