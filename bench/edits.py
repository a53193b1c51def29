"""Misspelled names: typos, words dropped or swapped, other spellings."""

from collections.abc import Callable
from random import Random

from lookup.search.folding import fold_name, fold_text

#: Makes a query of a text; None if it does not apply to the text.
Edit = Callable[[str, Random], str | None]

_LETTERS = "abcdefghijklmnoprstuvyæøå"


def one_typo(text: str, random: Random) -> str:
    """Returns a letter dropped, added, replaced or swapped with its neighbour."""
    place, letter = random.randrange(len(text)), random.choice(_LETTERS)
    before, after = text[:place], text[place + 1 :]
    return random.choice(
        (
            before + after,
            before + letter + text[place:],
            before + letter + after,
            before + after[:1] + text[place] + after[1:],
        )
    )


def one_edit(text: str, random: Random) -> str:
    """Returns the text with one letter or space added, dropped, replaced or swapped."""
    place, letter = random.randrange(len(text) + 1), random.choice(_LETTERS + " ")
    before, after = text[:place], text[place:]
    return random.choice(
        (
            before + letter + after,
            before + after[1:] if after else before[:-1],
            before + letter + after[1:] if after else before[:-1] + letter,
            before + after[1::-1] + after[2:] if after[1:] else text[:-2] + text[:-3:-1],
        )
    )


def two_typos(text: str, random: Random) -> str:
    return one_typo(one_typo(text, random) or text, random)


def _dropped_word(name: str, random: Random) -> str | None:
    words = name.split()
    if len(words) < 3:
        return None
    del words[random.randrange(len(words))]
    return " ".join(words)


def _swapped_words(name: str, random: Random) -> str | None:
    words = name.split()
    if len(words) < 2:
        return None
    place = random.randrange(len(words) - 1)
    words[place : place + 2] = reversed(words[place : place + 2])
    return " ".join(words)


def _letters_spelled_out(name: str, _: Random) -> str | None:
    lower = name.casefold()
    query = lower.replace("æ", "ae").replace("ø", "oe").replace("å", "aa")
    return query if query != lower else None


def _without_legal_form(name: str, _: Random) -> str | None:
    own, whole = fold_name(name).spelled, fold_text(name).spelled
    return own if own != whole else None


ONE_EDIT = "one edit of any letter or space"
EDITS: dict[str, Edit] = {
    "one typo": one_typo,
    ONE_EDIT: one_edit,
    "two typos": two_typos,
    "dropped word": _dropped_word,
    "swapped words": _swapped_words,
    "ae for æ": _letters_spelled_out,
    "no legal form": _without_legal_form,
    "upper case": lambda name, _: name.upper(),
}
