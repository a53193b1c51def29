"""Floor and door of an address: `2. tv`, `2tv`, `2. sal tv`, `st. th`, `kld.`, `0121`, `H0201`."""

import re

_GROUND_FLOOR = frozenset({"st", "stue", "stuen", "stueplan", "stplan"})
_BASEMENT = frozenset({"kl", "kld", "kælder", "kælderen", "kjeller", "kjelleren"})
_FLOOR_WORDS = frozenset({"sal", "etg", "etasje", "etage", "et", "til", "dør", "nr"})
_DOORS = {
    "th": "th",
    "tv": "tv",
    "mf": "mf",
    "højre": "th",
    "venstre": "tv",
    "midt": "mf",
    "midtfor": "mf",
}
#: Only after a floor; elsewhere a letter belongs to a house or a town quarter.
_SHORT_DOORS = {"h": "th", "v": "tv", "m": "mf"}
_GLUED = re.compile(r"^(\d{1,2}|st|kl|kld)\.?(tv|th|mf)$")
_NORWEGIAN_DWELLING = re.compile(r"^[hukl]\d{4}$")
_DOOR_DIGITS = 4


def take_dwelling(text: str, *, floor: str = "", door: str = "") -> tuple[str, str, str]:
    """Returns the floor and door at the beginning of a text, and the rest; empty where absent.

    A known floor or door stays; digits after a known floor are the door.
    """
    if not text:
        return floor, door, ""
    words = text.replace(",", " ").split()
    for position, raw in enumerate(words):
        word = raw.strip(".-()").casefold()
        if word in _FLOOR_WORDS or not word:
            continue
        read = _floor_and_door(word, floor)
        if read is None:
            return floor, door, " ".join(words[position:])
        floor, door = floor or read[0], door or read[1]
    return floor, door, ""


def is_dwelling(text: str) -> bool:
    """Returns True if a text consists of a floor, a door or both."""
    floor, door, rest = take_dwelling(text)
    return bool(floor or door) and not rest


def may_be_dwelling(first: str) -> bool:
    """Returns True if a text with this first word, in lower case, may be a floor or a door."""
    word = first.strip(".-()")
    return not word or word in _FLOOR_WORDS or _floor_and_door(word, "") is not None


def _floor_and_door(word: str, floor: str) -> tuple[str, str] | None:
    """Returns the floor and door in one word, given a known `floor`; None if there is neither."""
    if glued := _GLUED.match(word):
        return _floor(glued[1]), glued[2]
    if word in _GROUND_FLOOR or word in _BASEMENT:
        return _floor(word), ""
    if word.isdecimal() and len(word) <= _DOOR_DIGITS:
        number = str(int(word))
        return ("", number) if floor or len(word) > 2 else (number, "")
    if door := _DOORS.get(word) or (floor and _SHORT_DOORS.get(word)):
        return "", door
    return ("", word) if _NORWEGIAN_DWELLING.match(word) else None


def _floor(word: str) -> str:
    if word.isdecimal():
        return str(int(word))
    return "st" if word in _GROUND_FLOOR else "kl"
