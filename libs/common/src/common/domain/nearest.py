"""Messages about an unknown name or value, with the known one that it is nearest to."""

import difflib
from collections.abc import Collection

#: Longer texts are cut: the time of a comparison is the product of both lengths.
MAX_COMPARED = 60


def nearest(text: str, known: Collection[str], *, count: int = 1) -> list[str]:
    """The known values most like `text` regardless of case, at most `count`, the best first."""
    by_folded = {value.casefold(): value for value in known}
    folded = text[:MAX_COMPARED].casefold()
    return [by_folded[each] for each in difflib.get_close_matches(folded, by_folded, count)]


def unknown(noun: str, name: str, known: Collection[str]) -> str:
    """The message about an unknown field or parameter."""
    if found := nearest(name, known):
        return f"unknown {noun}; did you mean {found[0]}?"
    if known:
        return f"unknown {noun}; the {noun}s are {', '.join(known)}"
    return f"unknown {noun}; there are none"
