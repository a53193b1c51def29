"""Parsing of addresses, from one line of a query or from a register's fields.

Queries follow no grammar: commas may be missing, a floor is `2. sal tv`, `2tv` or `2. tv`, and
postcode and town may be missing or come first. A line with two readings (is `1234` in `Storgata
1234` the house or the postcode?) yields both, and the one with the better match counts.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from common.contracts.company import Country
from lookup.search.folding import FoldedText, fold_text
from lookup.search.indexed_company import IndexedAddress, is_home
from lookup.search.streets import PO_BOX, fold_street, names_kind

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


NOTHING = FoldedText(words="", spelled="")
#: Words after an address that do not distinguish addresses; folded.
COUNTRY_NAMES = frozenset({
    "danmark", "denmark", "dk", "norge", "noreg", "norway", "no", "sverige", "sweden", "se",
    "finland", "fi", "island", "iceland", "tyskland", "germany", "deutschland", "de", "england",
    "storbritannia", "storbritannien", "uk", "gb", "frankrike", "frankrig", "france", "fr",
    "nederland", "nederlandene", "holland", "nl", "polen", "poland", "polska", "pl", "usa", "us",
    "gronland", "greenland", "svalbard", "svalbard og jan mayen",
    # As systems in German, French and English write the neighbours and others.
    "danemark", "norwegen", "norvege", "schweden", "suede", "finnland", "finlande",
    "suomi", "ruotsi", "norja", "tanska", "allemagne", "saksa", "royaume uni", "united kingdom",
    "great britain", "grossbritannien", "storbritania", "scotland", "skottland", "skotland",
    "ireland", "irland", "frankreich", "niederlande", "netherlands", "the netherlands", "pays bas",
    "belgium", "belgien", "belgia", "belgie", "luxembourg", "luxemburg", "switzerland", "schweiz",
    "sveits", "osterreich", "austria", "ostrig", "osterrike", "spain", "spanien", "spania",
    "espana", "portugal", "italy", "italien", "italia", "estland", "estonia", "eesti", "letland",
    "latvia", "litauen", "lithuania", "czech republic", "tjekkiet", "united states",
    "united states of america", "canada", "kina", "china", "faroe islands", "feroyene", "faroerne",
})  # fmt: skip
#: A shorter name of a country may be a part of a town's.
_MIN_COUNTRY_LETTERS = 4
_ONLY_HOUSE = re.compile(r"\d{1,3}\s?[a-zæøå]?", re.IGNORECASE)
#: As systems of other countries write: `43 Prøvevej`, also with a postal code behind it.
_HOUSE_FIRST = re.compile(
    r"(?P<house>\d{1,3}\s?[a-zæøå]?(?:\s*[-–/]\s*\d{1,3})?),?\s+(?P<street>[^\W\d][^\d]*?)"
    r"(?P<area>\s+(?:(?:dk|no|n)[-\s]?)?\d{4}(?:\s+\D+)?)?",
    re.IGNORECASE,
)

#: Introduces a person or company at an address: `c/o`, `v/`, `att.`.
_CARE_OF = re.compile(r"^\(?\s*(?:c\s*/\s*o\b|v\s*/|att\b)[\s.:]*", re.IGNORECASE)
_POSTCODE = re.compile(r"(?:^|\s)(?:(?:dk|no|n)[-\s]?)?(\d{4})(?:\s+(\D+))?$", re.IGNORECASE)
#: A part of a house, not a street, although a number follows: `Port 3`.
_PREMISES = re.compile(
    r"^(?:bygg|bygning|leilighet|lejlighed|bolignummer|bolignr|port|oppgang|opgang|kontor|office|lokale"
    r"|suite|rom|seksjon|bruksnr|gnr|snr)\b",
    re.IGNORECASE,
)
#: In `Christian 4. vej 5` the first number is the king's.
_BELONGS_TO_THE_STREET = (
    r"(?=\.?['’]?(?:s|de|des)?\s+(?:\S+\s+)?"
    r"(?:gate|gata|gt|gade|vei|veien|veg|vej|plass|plads)\.?\s+(?:nr\.?\s*)?\d)"
)
_STREET_AND_HOUSE = re.compile(
    rf"^(?P<street>[\W\d]*[^\W\d].*?)\s+(?:nr\.?\s*)?(?P<number>\d{{1,5}})(?!{_BELONGS_TO_THE_STREET})"
    r"(?!\d)(?:\s*(?P<letter>[a-zæøå])(?![\w.]))?"
    r"(?:\s*[-–/]\s*(?P<last>[1-9]\d{0,3})(?:\s*[a-zæøå]\b)?)?"
    r"(?!\w)(?P<rest>.*)$",
    re.IGNORECASE,
)
#: A single number at the end.
_PLAIN = re.compile(r"([^\W\d][^\d,;\n]*) (\d{1,5}) ?([a-zæøå]?)", re.IGNORECASE)
_MAX_RANGE = 60
_BREAK = re.compile(r"[,;\n]")
#: Other names of a town; folded.
_TOWNS = {"kbh": "kobenhavn", "copenhagen": "kobenhavn"}
_QUARTER = re.compile(r" [a-z]{1,2}$")


class House(NamedTuple):
    """A house number with its letter, or a range of numbers."""

    number: int
    #: Lower case; may be empty.
    letter: str = ""
    #: The last number of a range (`2-4`), else `number`.
    last: int = 0

    def numbers(self) -> range:
        """Returns every number of the house: of a range, those on the same side of the street."""
        span = self.last - self.number
        if not 0 < span <= _MAX_RANGE:
            return range(self.number, self.number + 1)
        return range(self.number, self.last + 1, 1 if span % 2 else 2)


class ParsedAddress(NamedTuple):
    """The parts of an address; absent parts are empty."""

    street: FoldedText
    house: House | None = None
    #: A number without leading zeros, `st` (ground floor) or `kl` (basement).
    floor: str = ""
    #: `th`, `tv`, `mf`, a number without leading zeros, or a Norwegian dwelling (`h0201`).
    door: str = ""
    postal_code: str = ""
    #: The town first, then the district and other places; folded.
    towns: tuple[str, ...] = ()
    co: str = ""
    #: The whole folded text, of a query or of a register's foreign address. Foreign addresses
    #: follow other rules and are compared as text.
    whole: FoldedText | None = None


def read_address(term: str) -> tuple[ParsedAddress, ...]:
    """Returns the readings of a query, the likeliest first; empty if it has no letter or digit."""
    segments, co = _without_care_of(_without_country(_segments(term)))
    segments = _with_street_first(segments)
    whole = fold_text(" ".join(segments))
    rest, postal_code, towns, at = _without_postcode(segments)
    readings = [_parsed(part, postal_code, towns, co, whole) for part in _road_and_box(rest)]
    if postal_code and readings[0].house is None:
        before, postal_code, towns, _ = _without_postcode(segments[:at])
        other = _parsed([*before, *segments[at:]], postal_code, towns, co, whole)
        readings += [other] if other.house else []
    return tuple(reading for reading in readings if reading.street.words)


def parsed_addresses(address: IndexedAddress, home: Country) -> tuple[ParsedAddress, ...]:
    """Returns the parts of a register's address; a road and a post box are two addresses.

    The street is empty if the register gives none.
    """
    if not is_home(address.country, home):
        fields = (address.street, address.postal_code, address.city)
        return (
            ParsedAddress(NOTHING, whole=fold_text(" ".join(field for field in fields if field))),
        )
    postal_code, towns = _area(address.postal_code, address.city, address.district)
    co = fold_text(address.co).words if address.co else ""
    if plain := _plain(address.street or ""):
        return (ParsedAddress(*plain, "", "", postal_code, towns, co),)
    segments, in_line = _without_care_of(_segments(address.street or ""))
    return tuple(
        _parsed(part, postal_code, towns, co or in_line, None) for part in _road_and_box(segments)
    )


def _road_and_box(segments: list[str]) -> list[list[str]]:
    """Returns the segments; one with both a house on a road and a post box is split."""
    boxes = [part for part in segments if PO_BOX.match(part)]
    road = [part for part in segments if part not in boxes]
    if boxes and any(_STREET_AND_HOUSE.match(part) for part in road):
        return [road, boxes]
    return [segments]


def _plain(line: str) -> tuple[FoldedText, House] | None:
    if (found := _PLAIN.fullmatch(line)) and (street := _plain_street(found[1])):
        number = int(found[2])
        return street, House(number, found[3].lower(), number)
    return None


@lru_cache(maxsize=65_536)
def _plain_street(name: str) -> FoldedText | None:
    """Returns a street's folded name; None if it may be something else before a number."""
    words = name.casefold().split()
    if _CARE_OF.match(name) or _PREMISES.match(name) or may_be_dwelling(words[0]):
        return None
    return None if words[-1].startswith("nr") else fold_street(name)


@lru_cache(maxsize=16_384)
def _area(postal_code: str | None, *towns: str | None) -> tuple[str, tuple[str, ...]]:
    """Returns the postal code without spaces, and the folded towns; cached like a town."""
    return "".join((postal_code or "").split()), tuple(fold_town(town) for town in towns if town)


@lru_cache(maxsize=16_384)
def fold_town(town: str) -> str:
    """Returns a town's name in full; cached, because a register has few towns."""
    first, _, quarter = fold_text(town).words.partition(" ")
    return " ".join(part for part in (_TOWNS.get(first, first), quarter) if part)


def without_quarter(town: str) -> str:
    """Returns a folded town without the letters of its quarter: `kobenhavn` for `kobenhavn sv`."""
    return _QUARTER.sub("", town)


def _segments(text: str) -> list[str]:
    return [stripped for part in _BREAK.split(text) if (stripped := part.strip())]


def _without_country(segments: list[str]) -> list[str]:
    while segments and fold_text(segments[-1]).words in COUNTRY_NAMES:
        segments = segments[:-1]
    *before, last = segments or [""]
    words = last.split()
    for count in range(min(3, len(words) - 1), 0, -1):
        name = fold_text(" ".join(words[-count:])).words
        if name in COUNTRY_NAMES and len(name) >= _MIN_COUNTRY_LETTERS:
            return [*before, " ".join(words[:-count])]
    return segments


def _with_street_first(segments: list[str]) -> list[str]:
    if len(segments) > 1 and _ONLY_HOUSE.fullmatch(segments[0]):
        segments = [f"{segments[0]} {segments[1]}", *segments[2:]]
    return [
        _street_first(part, is_alone=len(segments) == 1) if not place else part
        for place, part in enumerate(segments)
    ]


def _street_first(segment: str, *, is_alone: bool) -> str:
    found = _HOUSE_FIRST.fullmatch(segment)
    if found is None or is_dwelling(segment):
        return segment
    # `24 Timer` may be a street only with a place behind it.
    if is_alone and not found["area"] and not names_kind(found["street"]):
        return segment
    return f"{found['street']} {found['house']}{found['area'] or ''}"


def _without_care_of(segments: list[str]) -> tuple[list[str], str]:
    """Returns the address's segments and the folded addressee; a single segment has none."""
    if len(segments) == 1:
        return [_CARE_OF.sub("", segments[0])], ""
    names = [_CARE_OF.sub("", part) for part in segments if _CARE_OF.match(part)]
    rest = [part for part in segments if not _CARE_OF.match(part)]
    return rest, fold_text(" ".join(names)).words


def _without_postcode(segments: list[str]) -> tuple[list[str], str, tuple[str, ...], int]:
    """Returns the other segments, the last postcode and its town, and their segment's place."""
    for n in reversed(range(len(segments))):
        if not _PREMISES.match(segments[n]) and (found := _POSTCODE.search(segments[n])):
            before = segments[n][: found.start()].strip()
            rest = [*segments[:n], *([before] if before else []), *segments[n + 1 :]]
            return rest, found[1], (fold_town(found[2]),) if found[2] else (), n
    return segments, "", (), 0


def _parsed(
    segments: Sequence[str],
    postal_code: str,
    towns: tuple[str, ...],
    co: str,
    whole: FoldedText | None,
) -> ParsedAddress:
    dwellings = [part for part in segments if is_dwelling(part)]
    parts = [part for part in segments if part not in dwellings and not _PREMISES.match(part)]
    street, found = _street_segment(parts)
    name, house, rest = (
        (found["street"], _house(found), found["rest"]) if found else (street, None, "")
    )
    floor, door, trailing = take_dwelling(rest) if rest else ("", "", "")
    if dwellings:
        floor, door, _ = take_dwelling(" ".join(dwellings), floor=floor, door=door)
    places = [fold_town(part) for part in (trailing, *parts) if part and part != street]
    road = fold_street(name) if name else NOTHING
    return ParsedAddress(road, house, floor, door, postal_code, (*towns, *places), co, whole)


def _street_segment(segments: list[str]) -> tuple[str, re.Match[str] | None]:
    """Returns the segment with the street: preferably with a house, then with a kind of street.

    Also the match of street and house in it, if it has a house.
    """
    with_house = [(part, found) for part in segments if (found := _STREET_AND_HOUSE.match(part))]
    if len(with_house) == 1:
        return with_house[0]
    for part, found in with_house:
        if names_kind(found["street"]):
            return part, found
    if with_house:
        return with_house[0]
    return next(filter(names_kind, segments), segments[0] if segments else ""), None


def _house(found: re.Match[str]) -> House:
    number, letter, last = found.group("number", "letter", "last")
    return House(int(number), letter.lower() if letter else "", int(last or number))
