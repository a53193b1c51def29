"""The columns of a list of companies: the fields of a record, some of which several make up.

The header says what a column may hold, and its cells whether most rows can use it. Of a file that
this project has written, the columns of its results say which company each row is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from company_registry.headers import is_street, meaning_of
from company_registry.matching import MatchRecord
from company_registry.spreadsheets import Row, term_of

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

#: A column of which most cells are unreadable is not chosen; a few cells prove nothing.
MOST: Final = 0.5
_FEW: Final = 10
#: `K-17` is the number of a customer.
_WORDS: Final = r"[^\W\d_].*[^\W\d_]|^\D*[^\W\d_]\D*$"
#: By type or field, what a cell that may be one has in it.
_READABLE: Final = {
    name: re.compile(form, re.DOTALL)
    for names, form in {
        "vat number": r"(?:[0-9][ .-]?){7}",
        "phone": r"(?:[0-9][ ().-]{0,2}){8}",
        "produ": r"(?:[0-9][ .-]?){9}",
        "ean": r"[0-9]{4}:|(?:[0-9][ .-]?){13}",
        "name address": _WORDS,
        "city country": r"[^\W\d_]",
        "postal_code": "[0-9]{3}",
        "search": r"\w.*\w",
        "email": "@",
        "website": r"\w[.]\w",
    }.items()
    for name in names.split()
}

#: The columns of a company, as this project's files have them, and of what was decided about a row.
_OWN_NUMBERS: Final = ("company_vat", "Matched number")
_OWN_COUNTRIES: Final = ("company_country", "Matched country")
_OWN_DECISIONS: Final = ("decision", "Decision")
_OWN_PREFIXES: Final = ("company_", "Matched ")


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


@dataclass(frozen=True, slots=True)
class Results:
    """The columns in which an earlier command says which company each row is."""

    number: int
    country: int | None
    decision: int | None

    def is_decided(self, row: Sequence[str]) -> bool:
        """Returns False for a row that a person has yet to review, or that is no company."""
        return self.decision is None or row[self.decision].startswith("match")


def results_in(header: Sequence[str]) -> Results | None:
    """Returns the columns of the results of a file that this project wrote; None for others."""

    def place(names: Sequence[str]) -> int | None:
        return next((header.index(name) for name in names if name in header), None)

    number = place(_OWN_NUMBERS)
    return (
        number if number is None else Results(number, place(_OWN_COUNTRIES), place(_OWN_DECISIONS))
    )


def share(rows: Sequence[Row], type_: str, places: Sequence[int]) -> float:
    """Returns the part of the rows whose cells may be a value of a type or field."""
    if not rows:
        return 0.0
    texts = (text_in(row.cells, type_, places) for row in rows)
    return sum(_READABLE[type_].search(text) is not None for text in texts) / len(rows)


def percent(part: float) -> str:
    """Returns a share in words: `82 %`, and not `100 %` before it is all."""
    whole = round(100 * part)
    return f"{99 if whole == 100 and part < 1 else 1 if whole == 0 and part else whole} %"


def text_in(row: Sequence[str], field: str, places: Sequence[int]) -> str:
    """Returns the text of a field in a row."""
    texts = [text for place in places if (text := term_of(row[place]))]
    if field == _JOINED:
        return " ".join(texts)
    return next(filter(_says_something, texts), texts[0] if texts else "")


def _says_something(text: str) -> bool:
    bare = "".join(text.casefold().split()).replace(".", "")
    return any(map(str.isalnum, bare)) and bare not in _PLACEHOLDERS


def recognised(header: Sequence[str], country: str = "", rows: Sequence[Row] = ()) -> Columns:
    """Returns the columns by their headers, without those of which most cells cannot be read."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    is_own = _OWN_PREFIXES if results_in(header) else ()
    for place, name in enumerate(header):
        meaning = None if name.startswith(is_own) else meaning_of(name)
        if meaning is not None and (meaning.part or _is_usable(meaning.field, place, rows)):
            found.setdefault(meaning.field, []).append((meaning.part, meaning.rank, place))
    places = {field: _chosen(field, sorted(each), header) for field, each in found.items()}
    return Columns({field: places[field] for field in FIELDS if places.get(field)}, country)


def _is_usable(field: str, place: int, rows: Sequence[Row]) -> bool:
    filled = [row for row in rows if _says_something(term_of(row.cells[place]))]
    return len(filled) < _FEW or share(filled, field, (place,)) >= MOST


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
