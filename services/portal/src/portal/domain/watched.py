"""Companies of watchlists, as people write them, and the effect of a change in words."""

import re
from typing import Final

from company_registry.spreadsheets import country_of
from company_registry.watchlist_models import WatchlistChange

#: `dk:12345674`, and how it is pasted: `DK 12345674`, `DK12345674`, `NO-310345679`.
_COMPANY: Final = re.compile(r"([A-Za-z]{2})[\s:-]*((?:\d[ .]?){7,8}\d)(?!\d)")
_BARE: Final = re.compile(r"[\s,;]+")

#: Unknown companies that a sentence names.
_NAMED: Final = 5


def companies_in(text: str) -> list[str]:
    """Returns the companies of a text; words that are none are left for the API to name.

    A number without a country is Danish with eight digits, and Norwegian with nine.
    """
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        country = country_of(match[1])
        if country is None:
            return match[0]
        found.append(f"{country}:{re.sub(r'[ .]', '', match[2])}")
        return " "

    rest = _COMPANY.sub(take, text)
    for word in filter(None, _BARE.split(rest)):
        country = {8: "dk:", 9: "no:"}.get(len(word), "") if word.isdecimal() else ""
        found.append(f"{country}{word}")
    return list(dict.fromkeys(found))


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
    if not change.unknown:
        return said
    named = ", ".join(change.unknown[:_NAMED])
    more = f" and {len(change.unknown) - _NAMED:,} more" if len(change.unknown) > _NAMED else ""
    return f"{said} In no register, and not added: {named}{more}."
