"""The columns of a list of companies: the fields of a record, some of which several make up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from company_registry.headers import is_street, meaning_of
from company_registry.matching import MatchRecord
from company_registry.spreadsheets import term_of

#: The fields of a record that columns may hold.
FIELDS: Final = (
    "country", "name", "number", "address", "postal_code", "city", "phone", "email", "website",
)  # fmt: skip
#: A record needs one of them.
SEARCHED: Final = ("name", "number", "address", "phone", "email", "website")

#: The columns of this field are joined; of another the first that says something counts.
_JOINED: Final = "address"
#: Fields of which a row may have a text in one column or another.
_ALTERNATIVES: Final = ("number", "phone")
#: Texts that say only that nothing is known, the usual ones, without blanks and points.
_PLACEHOLDERS: Final = (
    "n/a", "na", "nan", "null", "none", "#n/a", "ukendt", "ukjent", "unknown", "ingen", "mangler",
)  # fmt: skip
#: Characters of a field that the API accepts.
_MAX_FIELD: Final = 300


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of each field, and the country of rows without one."""

    #: By field, the places of its columns: the parts of an address, or the best first.
    places: Mapping[str, tuple[int, ...]]
    country: str = ""

    @property
    def is_searched(self) -> bool:
        """True if a record may be found by them."""
        return any(name in self.places for name in SEARCHED)

    @property
    def used(self) -> set[int]:
        """The places of all of them."""
        return {place for places in self.places.values() for place in places}

    def unused(self, header: Sequence[str]) -> list[str]:
        """Returns the names of the other columns."""
        return [name for place, name in enumerate(header) if place not in self.used]

    def record(self, id_: str, row: Sequence[str]) -> MatchRecord:
        """Returns the record of a row."""
        given = {
            name: text[:_MAX_FIELD]
            for name, places in self.places.items()
            if (text := text_in(row, name, places))
        }
        # The service reads every value as it is written, and says of which countries it has none.
        return MatchRecord(id_, **{"country": self.country or None, **given})


def text_in(row: Sequence[str], field: str, places: Sequence[int]) -> str:
    """Returns the text of a field in a row."""
    texts = [text for place in places if (text := term_of(row[place]))]
    if field == _JOINED:
        return " ".join(texts)
    return next(filter(_says_something, texts), texts[0] if texts else "")


def _says_something(text: str) -> bool:
    bare = "".join(text.casefold().split()).replace(".", "")
    return any(map(str.isalnum, bare)) and bare not in _PLACEHOLDERS


def recognised(header: Sequence[str], country: str = "") -> Columns:
    """Returns the columns by their headers."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for place, name in enumerate(header):
        meaning = meaning_of(name)
        if meaning is not None:
            found.setdefault(meaning.field, []).append((meaning.part, meaning.rank, place))
    places = {field: _chosen(field, sorted(each), header) for field, each in found.items()}
    return Columns({field: places[field] for field in FIELDS if places.get(field)}, country)


def read_places(header: Sequence[str], fields: Mapping[int, str]) -> dict[str, tuple[int, ...]]:
    """Returns the columns of each field, of which a person has chosen that of each column."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, field in sorted(fields.items()):
        meaning = meaning_of(header[place])
        # Parts of an address whose headers say nothing are in the order of the file.
        part = meaning.part if meaning and meaning.field == field else 0
        found.setdefault(field, []).append((part, place))
    return {field: tuple(place for _, place in sorted(each)) for field, each in found.items()}


def _chosen(
    field: str, found: Sequence[tuple[int, int, int]], header: Sequence[str]
) -> tuple[int, ...]:
    whole = [place for part, _, place in found if not part]
    if field != _JOINED:
        return tuple(whole) if field in _ALTERNATIVES else tuple(whole[:1])
    streets = [place for place in whole if is_street(header[place])]
    parts = {part: place for part, _, place in reversed(found) if part}
    # Beside a house number, a street says what an address of its own says too.
    first = streets if streets and 1 in parts else whole
    return (*first[:1], *(parts[part] for part in sorted(parts))) if first else ()
