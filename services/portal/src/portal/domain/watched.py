"""Companies of watchlists, as people write them, and the effect of a change in words."""

import re
from collections.abc import Sequence
from typing import Final

from common.domain.numbers import InvalidIdentifier, read_company
from company_registry.watchlist_models import WatchlistChange

_BETWEEN: Final = re.compile(r"[,;\t\n\r]+")

#: Maximum words of a company: `Org.nr. NO 310 345 679 MVA`, each digit apart.
_MAX_WORDS: Final = 14
#: Unknown companies that a sentence names.
_NAMED: Final = 5


def companies_in(text: str) -> list[str]:
    """Returns the companies of a text; words that are none are left for the API to name."""
    found: list[str] = []
    for part in _BETWEEN.split(text):
        words = part.split()
        while words:
            count = next(filter(lambda size: _is_company(words[:size]), _sizes(words)), 1)
            found.append(" ".join(words[:count]))
            words = words[count:]
    return list(dict.fromkeys(found))


def _sizes(words: list[str]) -> range:
    """Returns the numbers of words that may be one company, the most first."""
    return range(min(len(words), _MAX_WORDS), 0, -1)


def _is_company(words: list[str]) -> bool:
    try:
        read_company(" ".join(words))
    except InvalidIdentifier:
        return False
    return True


def effect(change: WatchlistChange) -> str:
    """Returns what a change did, in a sentence or two."""
    parts = [
        f"{count:,} {words}"
        for count, words in (
            (change.added, "added"),
            (change.present, "there already"),
            (change.removed, "removed"),
        )
        if count
    ]
    said = f"{', '.join(parts).capitalize() or 'Nothing changed'}."
    if change.unknown:
        said = f"{said} In no register, and not added: {_listed(change.unknown)}."
    if change.invalid:
        faults = [f"{one.value} ({one.message})" for one in change.invalid]
        said = f"{said} Not read: {_listed(faults)}."
    return said


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more
