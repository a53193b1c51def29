"""Customers of a spreadsheet: its columns, the records to be matched, and the three piles."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Final

from company_registry.columns import Columns, read_places
from company_registry.matching import MatchCandidate, MatchResult, counted
from company_registry.spreadsheets import harmless

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
#: The piles, in the order of the page.
PILES: Final = {"review": "To review", "matched": "Matched", "missing": "Not found"}

_PILE_OF: Final = {"match": "matched", "review": "review"}

_NOT_FOUND, _BY_HAND = "not_found", "by_hand"
#: Why a row has no company, where that is not evident.
WHY: Final = {
    "country_not_covered": "The country is neither Denmark nor Norway.",
    "person": "This seems to be a person.",
    "unreadable": "None of its values can be read.",
    "placeholder": "It says only that nothing is known.",
    "empty": "It has nothing to search for.",
    "invalid_parameter": "It has more cells than the header, or cannot be read.",
    "lookup_timeout": "The search took too long.",
}

#: Candidates that are kept of a record that nobody needs to review.
_KEPT: Final = 2

#: Columns that a download adds.
ADDED: Final = ("Matched country", "Matched number", "Matched name", "Matched status", "Score")
_DECIDED: Final = ("Decision", "Reason", "Remark")


@dataclass(frozen=True, slots=True)
class Table:
    """A spreadsheet: its header, and each row as a JSON list, which takes little memory."""

    header: list[str]
    #: The number of the row in the file, 1 if it is longer than the header, and its cells.
    rows: list[bytes]
    #: The number of the row of the header.
    header_row: int = 1
    #: The sheet that was read, and all that can be chosen.
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    #: How it was read, as far as that is not evident.
    description: str = ""

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return sum(map(len, self.rows))

    def row(self, place: int) -> list[str]:
        """Returns the cells of a row."""
        cells: list[str] = json.loads(self.rows[place])[2:]
        return cells

    def number(self, place: int) -> int:
        """Returns the number of a row, as a spreadsheet shows it."""
        return int(self.rows[place][1:].partition(b",")[0])

    def is_longer(self, place: int) -> bool:
        """Returns True if a row had more cells than the header."""
        return self.rows[place].split(b",", 2)[1] == b"1"


def fault_of(columns: Columns) -> str:
    """Returns what is wrong with the columns, in a sentence; empty if records can be matched."""
    if columns.is_searched:
        return ""
    return "Choose at least a column of names, numbers, addresses, phones, e-mails or websites."


def read_columns(chosen: Mapping[str, str], header: Sequence[str]) -> Columns:
    """Returns the columns that a form chooses: `column-<place>` is a field, or empty."""
    fields = {
        place: name
        for place in range(len(header))
        if (name := chosen.get(f"column-{place}", "")) in FIELDS
    }
    country = chosen.get("country", "")
    return Columns(read_places(header, fields), country if country in ("dk", "no") else "")


@dataclass(slots=True)
class Outcomes:
    """The decisions about the rows so far, in their order."""

    #: The pile of each row.
    piles: list[str] = field(default_factory=list)
    #: The candidates of each row, as JSON.
    _candidates: list[bytes] = field(default_factory=list)
    #: Why each row has no company; empty if it may have one.
    _reasons: list[str] = field(default_factory=list)
    #: The status of the likeliest candidate of each row; empty without one.
    _statuses: list[str] = field(default_factory=list)
    #: By row, the fields that could not be read, and the values that were assumed instead.
    _unread: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _assumed: dict[int, Mapping[str, str]] = field(default_factory=dict)
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
        row = len(self.piles)
        self.piles.append(pile)
        self._reasons.append(intern(_reason(result)))
        self._statuses.append(intern(result.candidates[0].status if result.candidates else ""))
        if result.unread:
            self._unread[row] = result.unread
        if result.assumed:
            self._assumed[row] = result.assumed
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

    def told(self, pile: str) -> str:
        """Returns in words who of the matches has ended, and why the missing rows are so."""
        rows = self.rows(pile)
        if pile == "matched":
            found = Counter(self._status(row) for row in rows)
            return counted({name: count for name, count in found.items() if name != "active"})
        if pile == "missing":
            return counted(Counter(map(self.reason, rows)))
        return ""

    def reason(self, row: int) -> str:
        """Returns why a row has no company, also if a person has decided so."""
        return _BY_HAND if row in self.chosen else self._reasons[row] or _NOT_FOUND

    def remark(self, row: int) -> str:
        """Returns what to know about a row, in sentences; empty without anything."""
        is_missing = self.piles[row] == "missing"
        said = [WHY.get(self.reason(row), "")] if is_missing else []
        said += [f"{FIELDS[name]}: cannot be read." for name in self._unread.get(row, ())]
        said += [
            f"{FIELDS[name]}: taken for {value}."
            for name, value in self._assumed.get(row, {}).items()
        ]
        return " ".join(filter(None, said))

    def _status(self, row: int) -> str:
        match = self.match(row) if self.chosen.get(row) else None
        return match.status if match else self._statuses[row]

    def companies(self) -> list[str]:
        """Returns the matched companies as `<country>:<number>`, each once."""
        found = (self.match(row) for row in self.rows("matched"))
        return list(dict.fromkeys(f"{each.country}:{each.vat}" for each in found if each))


def enriched(table: Table, outcomes: Outcomes) -> Iterator[list[str]]:
    """Yields the rows of a download, with the header: the file's own columns, and what was found.

    No cell acts on the program that shows it.
    """
    yield [*map(harmless, table.header), *ADDED, *_DECIDED]
    for row in range(len(table.rows)):
        own = [harmless(cell) for cell in table.row(row)]
        yield [*own, *map(harmless, _found(outcomes, row)), *_decided(outcomes, row)]


def _found(outcomes: Outcomes, row: int) -> list[str]:
    match = outcomes.match(row) if row < len(outcomes.piles) else None
    if match is None:
        return [""] * len(ADDED)
    return [match.country.upper(), match.vat, match.name, match.status, f"{match.score:.4f}"]


def _decided(outcomes: Outcomes, row: int) -> list[str]:
    if row >= len(outcomes.piles):
        return [""] * len(_DECIDED)
    pile = outcomes.piles[row]
    words = {"matched": "match", "review": "review", "missing": "none"}[pile]
    decision = f"{words} (by hand)" if row in outcomes.chosen else words
    return [decision, outcomes.reason(row) if pile == "missing" else "", outcomes.remark(row)]


def _reason(result: MatchResult) -> str:
    return result.error.code if result.error else result.reason or ""
