"""Deviations of typed names from the register: typos, words dropped or swapped, spellings."""

import random
from collections.abc import Callable

from lookup.search.folding import fold_name, fold_text

Chance = random.Random
#: Makes a query of a name; None if it does not apply to the name.
Disturbance = Callable[[str, Chance], str | None]

_LETTERS = "abcdefghijklmnoprstuvyæøå"


def one_typo(name: str, chance: Chance) -> str:
    """A letter dropped, added, replaced or swapped with its neighbour."""
    place, letter = chance.randrange(len(name)), chance.choice(_LETTERS)
    before, after = name[:place], name[place + 1 :]
    return chance.choice(
        (
            before + after,
            before + letter + name[place:],
            before + letter + after,
            before + after[:1] + name[place] + after[1:],
        )
    )


def two_typos(name: str, chance: Chance) -> str:
    return one_typo(one_typo(name, chance) or name, chance)


def dropped_word(name: str, chance: Chance) -> str | None:
    words = name.split()
    if len(words) < 3:
        return None
    del words[chance.randrange(len(words))]
    return " ".join(words)


def swapped_words(name: str, chance: Chance) -> str | None:
    words = name.split()
    if len(words) < 2:
        return None
    place = chance.randrange(len(words) - 1)
    words[place : place + 2] = reversed(words[place : place + 2])
    return " ".join(words)


def letters_spelled_out(name: str, _: Chance) -> str | None:
    """`ae` for `æ`, `oe` for `ø` and `aa` for `å`."""
    question = name.casefold()
    for letter, spelled in (("æ", "ae"), ("ø", "oe"), ("å", "aa")):
        question = question.replace(letter, spelled)
    return question if question != name.casefold() else None


def without_legal_form(name: str, _: Chance) -> str | None:
    own, whole = fold_name(name).spelled, fold_text(name).spelled
    return own if own != whole else None


def upper_case(name: str, _: Chance) -> str | None:
    return name.upper()


DISTURBANCES: dict[str, Disturbance] = {
    "one typo": one_typo,
    "two typos": two_typos,
    "dropped word": dropped_word,
    "swapped words": swapped_words,
    "ae for æ": letters_spelled_out,
    "no legal form": without_legal_form,
    "upper case": upper_case,
}
