"""Readings of a partly typed name.

A letter with several spellings is searched in each of them, consistently throughout a name: `Ærø`
is found by `aer`, `aero` and `aro`. Unlike in a search the letters are not collapsed: `moe` does
not suggest every name that begins with `mo`.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from common.contracts.company import CompanyKey
from lookup.search.folding import SPELLINGS, Folded, fold_beginning, fold_name, without_partial_form

#: Minimum letters of a typed text or word for one typo, and for two.
_ONE_TYPO_FROM, _TWO_TYPOS_FROM = 4, 8


class Suggested(NamedTuple):
    key: CompanyKey
    #: 0 to 100; 100 exactly if the whole name was typed.
    score: float


@dataclass(frozen=True, slots=True)
class Typed:
    """The readings of a typed text; often all are the same."""

    #: All of it, including a legal form that may become a word (`Nordisk As`, `Nordisk Asfalt`).
    beginning: Folded
    #: Without the legal form at its end.
    whole: Folded
    #: Without the legal form at its end, even an incomplete one.
    stem: Folded


def read_typed(text: str) -> Typed:
    """Accepts any text that is not blank."""
    return Typed(fold_beginning(text), fold_name(text), without_partial_form(text))


def writings(spelled: str) -> list[str]:
    """A folded text in every spelling of its special letters: at most eight."""
    if spelled.isascii():
        return [spelled]
    special = tuple(letter for letter in SPELLINGS if letter in spelled)
    return [spelled.translate(table) for table in _tables(special)]


@cache
def _tables(special: tuple[str, ...]) -> list[dict[int, str]]:
    choices = product(*(SPELLINGS[letter] for letter in special))
    return [str.maketrans(dict(zip(special, choice, strict=True))) for choice in choices]


def typos_allowed(letters: int) -> int:
    """The maximum typos of a text of this length; a short text with more matches too many names."""
    return (letters >= _ONE_TYPO_FROM) + (letters >= _TWO_TYPOS_FROM)
