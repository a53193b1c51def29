"""Readings of a partly typed name.

A letter with several spellings is searched in each of them, consistently throughout a name: `Ærø`
is found by `aer`, `aero` and `aro`. Unlike in a search the letters are not collapsed: `moe` does
not suggest every name that begins with `mo`.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from lookup.search.folding import SPELLINGS, Folded, fold_beginning, fold_name, without_partial_form


class Typed(NamedTuple):
    """The readings of a typed text; often all are the same."""

    #: All of it, including a legal form that may become a word (`Nordisk As`, `Nordisk Asfalt`).
    beginning: Folded
    #: Without the legal form at its end.
    whole: Folded
    #: Without the legal form at its end, even an incomplete one.
    stem: Folded


def read_typed(text: str) -> Typed:
    """Returns the query of any text that is not blank."""
    return Typed(fold_beginning(text, is_partial=True), fold_name(text), without_partial_form(text))


def begins_with(name: Folded, text: str, starts: Sequence[str]) -> bool:
    """Returns True if a name begins with one of the writings of a typed text; spaces do not matter.

    `text` is the name with its legal form, which is folded only if the form decides.
    """
    for own in writings(name.letters):
        if own.startswith(tuple(starts)):
            return True
        if any(start.startswith(own) for start in starts):
            whole = writings(fold_beginning(text).letters)
            return any(writing.startswith(tuple(starts)) for writing in whole)
    return False


def writings(spelled: str) -> list[str]:
    """Returns a folded text in every spelling of its special letters: at most eight."""
    if spelled.isascii():
        return [spelled]
    special = tuple(letter for letter in SPELLINGS if letter in spelled)
    return [spelled.translate(table) for table in _tables(special)]


@cache
def _tables(special: tuple[str, ...]) -> list[dict[int, str]]:
    choices = product(*(SPELLINGS[letter] for letter in special))
    return [str.maketrans(dict(zip(special, choice, strict=True))) for choice in choices]
