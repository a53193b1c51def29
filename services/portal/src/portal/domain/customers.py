"""Customers of a spreadsheet: its columns, the records to be matched, and the three piles."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from company_registry.matching import MatchCandidate, MatchRecord, MatchResult
from company_registry.spreadsheets import country_of, field_of, harmless, term_of

MAX_ROWS: Final = 50_000
MAX_COLUMNS: Final = 100

#: The meanings of a column, by the field of a record.
FIELDS: Final = {
    "name": "Name",
    "number": "Registration number",
    "address": "Address",
    "postal_code": "Postal code",
    "city": "Town",
    "phone": "Phone",
    "email": "E-mail",
    "website": "Website",
    "country": "Country",
}
#: A record needs one of them.
SEARCHED: Final = ("name", "number", "address", "phone", "email", "website")
#: Characters of a field that the API accepts.
_MAX_FIELD: Final = 300
_POSTAL_CODE: Final = 4

#: The piles, in the order of the page.
PILES: Final = {"review": "To review", "matched": "Matched", "missing": "Not found"}

_PILE_OF: Final = {"match": "matched", "review": "review"}

#: Candidates that are kept of a record that nobody needs to review.
_KEPT: Final = 2

#: Columns that a download adds.
ADDED: Final = ("Matched country", "Matched number", "Matched name", "Matched status", "Score")
_DECIDED: Final = "Decision"


@dataclass(frozen=True, slots=True)
class Table:
    """A spreadsheet: its header, and each row as a JSON list, which takes little memory."""

    header: list[str]
    rows: list[bytes]

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return sum(map(len, self.rows))

    def row(self, place: int) -> list[str]:
        """Returns the cells of a row."""
        cells: list[str] = json.loads(self.rows[place])
        return cells


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the fields of a record, and the country of rows without one."""

    #: By field, the place of its column.
    places: Mapping[str, int]
    country: str = ""

    @property
    def fault(self) -> str:
        """The sentence for what is wrong with them; empty if records can be matched."""
        if any(name in self.places for name in SEARCHED):
            return ""
        return "Choose at least a column of names, numbers, addresses, phones, e-mails or websites."

    def record(self, place: int, row: Sequence[str]) -> MatchRecord:
        """Returns the record of a row, whose id is its place."""
        given = {
            name: term_of(row[at])[:_MAX_FIELD]
            for name, at in self.places.items()
            if name != "country"
        }
        at = self.places.get("country")
        own = country_of(row[at]) if at is not None else None
        country: Any = own or self.country or None
        code = given.get("postal_code", "")
        if code.isdecimal() and len(code) == _POSTAL_CODE - 1:
            # A spreadsheet takes 0150 for a number.
            given["postal_code"] = code.zfill(_POSTAL_CODE)
        return MatchRecord(str(place), country=country, **given)


def recognised(header: Sequence[str]) -> Columns:
    """Returns the columns by their headers; the first of several with one meaning."""
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        found = field_of(name)
        if found in FIELDS:
            places.setdefault(found, place)
    return Columns(places)


def read_columns(chosen: Mapping[str, str], width: int) -> Columns:
    """Returns the columns that a form chooses: `column-<place>` is a field, or empty."""
    places: dict[str, int] = {}
    for place in range(width):
        name = chosen.get(f"column-{place}", "")
        if name in FIELDS:
            places.setdefault(name, place)
    country = chosen.get("country", "")
    return Columns(places, country if country in ("dk", "no") else "")


@dataclass(slots=True)
class Outcomes:
    """The decisions about the rows so far, in their order."""

    #: The pile of each row.
    piles: list[str] = field(default_factory=list)
    #: The candidates of each row, as JSON.
    _candidates: list[bytes] = field(default_factory=list)
    #: By row, the candidate that a person has chosen; None for none of them.
    chosen: dict[int, int | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes that they hold."""
        return sum(map(len, self._candidates))

    def add(self, result: MatchResult) -> None:
        """Adds the result of the next row. A record that cannot be matched is not found."""
        pile = _PILE_OF.get(result.decision or "", "missing") if result.candidates else "missing"
        kept = result.candidates if pile == "review" else result.candidates[:_KEPT]
        found = [each.model_dump(mode="json", exclude_none=True) for each in kept]
        self.piles.append(pile)
        self._candidates.append(json.dumps(found, separators=(",", ":")).encode() if found else b"")

    def candidates(self, row: int) -> list[MatchCandidate]:
        """Returns the candidates of a row, the likeliest first."""
        found = json.loads(self._candidates[row] or b"[]")
        return [MatchCandidate.model_validate(each) for each in found]

    def match(self, row: int) -> MatchCandidate | None:
        """Returns the company of a row; None if it has none."""
        if self.piles[row] != "matched":
            return None
        return self.candidates(row)[self.chosen.get(row) or 0]

    def choose(self, row: int, place: int | None) -> None:
        """Decides a row: one of its candidates, or none."""
        if row < 0 or (place is not None and not 0 <= place < len(self.candidates(row))):
            raise IndexError(place)
        # Raises for a row that is not there, too.
        self.piles[row] = "missing" if place is None else "matched"
        self.chosen[row] = place

    def rows(self, pile: str) -> list[int]:
        """Returns the rows of a pile."""
        return [row for row, its in enumerate(self.piles) if its == pile]

    def counts(self) -> dict[str, int]:
        """Returns the number of rows in each pile."""
        return {pile: self.piles.count(pile) for pile in PILES}

    def companies(self) -> list[str]:
        """Returns the matched companies as `<country>:<number>`, each once."""
        found = (self.match(row) for row in self.rows("matched"))
        return list(dict.fromkeys(f"{each.country}:{each.vat}" for each in found if each))


def enriched(table: Table, outcomes: Outcomes) -> Iterator[list[str]]:
    """Yields the rows of a download, with the header: the file's own columns, and what was found.

    No cell acts on the program that shows it.
    """
    yield [*map(harmless, table.header), *ADDED, _DECIDED]
    for row in range(len(table.rows)):
        own = [harmless(cell) for cell in table.row(row)]
        yield [*own, *map(harmless, _found(outcomes, row)), _decided(outcomes, row)]


def _found(outcomes: Outcomes, row: int) -> list[str]:
    match = outcomes.match(row) if row < len(outcomes.piles) else None
    if match is None:
        return [""] * len(ADDED)
    return [match.country.upper(), match.vat, match.name, match.status, f"{match.score:.4f}"]


def _decided(outcomes: Outcomes, row: int) -> str:
    if row >= len(outcomes.piles):
        return ""
    words = {"matched": "match", "review": "review", "missing": "none"}[outcomes.piles[row]]
    return f"{words} (by hand)" if row in outcomes.chosen else words
