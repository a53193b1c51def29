"""Invented persons."""

from datetime import date

from register_samples.chance import Draw
from register_samples.facts import Person
from register_samples.lexicon import Lexicon

_OLDEST = date(1938, 1, 1)
_YOUNGEST = date(2006, 12, 31)


def surname(draw: Draw, lexicon: Lexicon) -> str:
    if draw.happens(0.2):
        return draw.pick(lexicon.patronymics)
    return draw.pick(lexicon.families)


def person(draw: Draw, lexicon: Lexicon) -> Person:
    """A person whose middle name is a second given name or a second surname."""
    given, family = draw.pick(lexicon.given), surname(draw, lexicon)
    kind = draw.below(10)
    if kind < 1:
        middle = None
    elif kind < 7:
        middle = draw.pick(lexicon.given)
    else:
        middle = draw.pick(lexicon.families)
    return Person(given, middle, family, draw.day(_OLDEST, _YOUNGEST))
