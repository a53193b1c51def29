"""Sentences for people: counted things, and unknown names with the nearest known one."""

import difflib
from collections.abc import Collection, Iterable
from itertools import islice


def counted(count: int, noun: str) -> str:
    """Returns `1 record`, `2,000 records` or `0 companies`; the noun is a regular singular."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {plural}"


#: Longer texts are cut: the time of a comparison is the product of both lengths.
MAX_COMPARED = 60

#: Unknown names in one message, and characters of each.
MAX_NAMED = 10
MAX_NAME_LENGTH = 100


def nearest(text: str, known: Collection[str], *, count: int = 1) -> list[str]:
    """Returns the `count` known values most like `text` regardless of case, the best first."""
    by_folded = {value.casefold(): value for value in known}
    folded = text[:MAX_COMPARED].casefold()
    return [by_folded[each] for each in difflib.get_close_matches(folded, by_folded, count)]


def did_you_mean(text: str, known: Collection[str]) -> str:
    """Returns the end of a message about an unknown value: the nearest known one, or nothing."""
    found = nearest(text, known)
    return f"; did you mean {found[0]}?" if found else ""


def unknown_names(noun: str, given: Iterable[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Returns the first unknown names, cut to a readable length, each with its message."""
    strange = islice((name for name in given if name not in known), MAX_NAMED)
    return [(name[:MAX_NAME_LENGTH], _unknown(noun, name, known)) for name in strange]


def _unknown(noun: str, name: str, known: Collection[str]) -> str:
    if found := nearest(name, known):
        return f"unknown {noun}; did you mean {found[0]}?"
    if known:
        return f"unknown {noun}; the {noun}s are {', '.join(known)}"
    return f"unknown {noun}; there are none"
