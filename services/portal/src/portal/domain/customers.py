"""Customers of a spreadsheet: its columns, the records to be matched, and their piles."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any, Final, TypeVar

from company_registry.columns import Columns, read_places
from company_registry.customer_file_models import CustomerDecision
from company_registry.errors import CompanyRemoved
from company_registry.matching import (
    NOT_SEARCHED,
    MatchCandidate,
    MatchConflict,
    MatchResult,
    counted,
)
from company_registry.spreadsheets import harmless
from portal.domain.pasted import REGISTERS

T = TypeVar("T")

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
#: The piles, in the order of the page. Of a row that was not searched nothing is known.
PILES: Final = {
    "review": "To review",
    "matched": "Matched",
    "missing": "Not found",
    "unsearched": "Not searched",
}

#: By decision. A record without one is invalid, and was not searched either.
_PILE_OF: Final = {"match": "matched", "review": "review", "none": "missing"}

#: The decision in a file, as the command line writes it.
_DECISION_OF: Final = {
    "matched": "match",
    "review": "review",
    "missing": "none",
    "unsearched": NOT_SEARCHED,
}
#: The piles whose rows have a reason.
_REASONED: Final = ("missing", "unsearched")
_NOT_FOUND, _BY_HAND, _INVALID = "not_found", "by_hand", "invalid_parameter"
#: Why a row has no company, or was not searched, where that is not evident.
WHY: Final = {
    "company_removed": "Its register had this company removed.",
    "country_not_covered": "The country is neither Denmark nor Norway.",
    "person": "This seems to be a person.",
    "unreadable": "None of its values can be read.",
    "placeholder": "It says only that nothing is known.",
    "empty": "It has nothing to search for.",
    "invalid_parameter": "It has more cells than the header, or cannot be read.",
    "lookup_timeout": "The search took too long.",
    "service_unavailable": "The service could not answer.",
    "rate_limited": "Your key had made as many requests as it may.",
    "internal_error": "The service failed.",
}

#: Candidates that are kept of a record that nobody needs to review.
_KEPT: Final = 2

#: Rows that a remark names.
_NAMED: Final = 5

#: Columns that a download adds.
ADDED: Final = ("Matched country", "Matched number", "Matched name", "Matched status", "Score")
_DECIDED: Final = ("Decision", "Reason", "Remark", "Decided by", "Decided at", "Note")


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
    return Columns(read_places(header, fields), country if country in REGISTERS else "")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person has decided about a row."""

    #: In the order of the decisions about the file.
    number: int
    row: int
    #: None: none of the candidates.
    company: MatchCandidate | None
    #: RFC 3339.
    at: str
    #: The id of the key, and the name that was given at the sign-in.
    key_id: str
    name: str = ""
    why: str = ""
    #: The number of the decision that this one takes back.
    undoes: int | None = None

    @property
    def who(self) -> str:
        """The person and the key."""
        return f"{self.name} ({self.key_id})" if self.name else self.key_id

    def written(self) -> dict[str, Any]:
        """Returns what is kept of it, beside its number, time and key."""
        company = None if self.company is None else self.company.model_dump(mode="json")
        return {
            "row": self.row,
            "company": company,
            "name": self.name,
            "why": self.why,
            "undoes": self.undoes,
        }


def read_decision(stored: CustomerDecision) -> Decision:
    """Returns a decision that was kept; raises ValueError for one of another client."""
    given = stored.decision
    row, undoes, company = given.get("row"), given.get("undoes"), given.get("company")
    if type(row) is not int or not (undoes is None or type(undoes) is int):
        raise ValueError("a decision names its row")
    return Decision(
        stored.number,
        row,
        None if company is None else MatchCandidate.model_validate(company),
        stored.decided_at,
        stored.key_id,
        str(given.get("name", "")),
        str(given.get("why", "")),
        undoes,
    )


@dataclass(slots=True)
class Outcomes:
    """The decisions about the rows so far, in their order."""

    #: The pile of each row.
    piles: list[str] = field(default_factory=list)
    #: The candidates of each row, as JSON.
    _candidates: list[bytes] = field(default_factory=list)
    #: Why each row has no company or was not searched; empty if it may have one.
    _reasons: list[str] = field(default_factory=list)
    #: The status of the likeliest candidate of each row; empty without one.
    _statuses: list[str] = field(default_factory=list)
    #: By row, the fields that could not be read, and the values that were assumed instead.
    _unread: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _assumed: dict[int, Mapping[str, str]] = field(default_factory=dict)
    #: By row, whose number and whose name it has, where these differ.
    _conflicts: dict[int, MatchConflict] = field(default_factory=dict)
    #: By row, its company, which other rows may have as well, and by company its rows.
    _companies: dict[int, str] = field(default_factory=dict)
    _rows_of: dict[str, set[int]] = field(default_factory=dict)
    #: By row, the decision of a person that holds, and the pile without it.
    chosen: dict[int, Decision] = field(default_factory=dict)
    _automatic: dict[int, str] = field(default_factory=dict)
    #: By row, its decisions that were not taken back.
    _decisions: dict[int, list[Decision]] = field(default_factory=dict)
    #: The number of the last decision.
    number: int = 0
    #: By row, its company before and after it was searched again, where they differ.
    changed: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes that they hold."""
        return sum(map(len, self._candidates))

    def add(self, result: MatchResult) -> None:
        """Adds the result of the next row."""
        self.take(len(self.piles), result)

    def take(self, row: int, result: MatchResult) -> None:
        """Takes the result of the next row, or of one that was not searched."""
        if row == len(self.piles):
            self.piles.append("unsearched")
            self._reasons.append("")
            self._statuses.append("")
            self._candidates.append(b"")
        pile, before = _pile_of(result), self._automatic.get(row, self.piles[row])
        if pile == "unsearched" and before != "unsearched":
            return  # what is known of it still holds
        told = self._told(row, before)
        kept = result.candidates if pile == "review" else result.candidates[:_KEPT]
        found = [each.model_dump(mode="json", exclude_none=True) for each in kept]
        self._reasons[row] = intern(_reason(result))
        self._statuses[row] = intern(result.candidates[0].status if result.candidates else "")
        _note(self._unread, row, result.unread)
        _note(self._assumed, row, result.assumed)
        _note(self._conflicts, row, result.conflict)
        self._candidates[row] = json.dumps(found, separators=(",", ":")).encode() if found else b""
        if row in self.chosen:
            self._automatic[row] = pile
        else:
            self.piles[row] = pile
        self.changed.pop(row, None)
        if before != "unsearched" and told != (now := self._told(row, pile)):
            self.changed[row] = (told, now)
        self._note_company(row, self.match(row))

    def _told(self, row: int, pile: str) -> str:
        """Returns in words what was found of a row without a decision by hand."""
        if pile != "matched":
            return PILES[pile].lower()
        found = self.candidates(row)[0]
        return f"{found.name} ({found.country.upper()} {found.vat}, {found.status})"

    @property
    def to_repeat(self) -> list[int]:
        """The rows that may be searched again: nothing but a fault kept them from it."""
        return [row for row in self.rows("unsearched") if self._reasons[row] != _INVALID]

    def candidates(self, row: int) -> list[MatchCandidate]:
        """Returns the candidates of a row, the likeliest first."""
        found = json.loads(self._candidates[row] or b"[]")
        return [MatchCandidate.model_validate(each) for each in found]

    def match(self, row: int) -> MatchCandidate | None:
        """Returns the company of a row; None if it has none."""
        if row in self.chosen:
            return self.chosen[row].company
        return self.candidates(row)[0] if self.piles[row] == "matched" else None

    def offered(self, row: int, place: int) -> MatchCandidate:
        """Returns a candidate of a row; raises IndexError without one at this place."""
        if row < 0 or place < 0:
            raise IndexError(place)
        return self.candidates(row)[place]

    def apply(self, made: Decision) -> None:
        """Takes a decision, or one back; raises IndexError for a row that has no result yet."""
        if not 0 <= made.row < len(self.piles):
            raise IndexError(made.row)
        self.number = max(self.number, made.number)
        of_row = self._decisions.setdefault(made.row, [])
        if made.undoes is None:
            of_row.append(made)
        else:
            of_row[:] = [each for each in of_row if each.number != made.undoes]
        self._settle(made.row)

    def decisions(self, row: int) -> list[Decision]:
        """Returns the decisions about a row that were not taken back, the last one last."""
        return list(self._decisions.get(row, ()))

    def decision(self, number: int) -> Decision | None:
        """Returns a decision that was not taken back."""
        all_of_them = (each for of_row in self._decisions.values() for each in of_row)
        return next((each for each in all_of_them if each.number == number), None)

    def _settle(self, row: int) -> None:
        of_row = self._decisions[row]
        if of_row:
            self._automatic.setdefault(row, self.piles[row])
            self.chosen[row] = of_row[-1]
            self.piles[row] = "missing" if of_row[-1].company is None else "matched"
        elif row in self.chosen:
            del self.chosen[row]
            self.piles[row] = self._automatic.pop(row)
        self._note_company(row, self.match(row))

    def written(self, row: int) -> dict[str, Any]:
        """Returns what is kept of a row's result, without the decisions of people."""
        conflict = self._conflicts.get(row)
        return {
            "pile": self._automatic.get(row, self.piles[row]),
            "reason": self._reasons[row],
            "status": self._statuses[row],
            "candidates": json.loads(self._candidates[row] or b"[]"),
            "unread": self._unread.get(row, ()),
            "assumed": dict(self._assumed.get(row, {})),
            "conflict": None if conflict is None else conflict.model_dump(mode="json"),
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Adds the result of the next row as `written` has it; raises ValueError, KeyError."""
        row, pile = len(self.piles), kept["pile"]
        if pile not in PILES:
            raise ValueError(pile)
        self.piles.append(pile)
        self._reasons.append(intern(str(kept["reason"])))
        self._statuses.append(intern(str(kept["status"])))
        found = kept["candidates"]
        self._candidates.append(json.dumps(found, separators=(",", ":")).encode() if found else b"")
        if kept["unread"]:
            self._unread[row] = tuple(kept["unread"])
        if kept["assumed"]:
            self._assumed[row] = kept["assumed"]
        if kept["conflict"]:
            self._conflicts[row] = MatchConflict.model_validate(kept["conflict"])
        self._note_company(row, self.match(row))

    def same(self, row: int) -> list[int]:
        """Returns the other rows that have the company of a matched row."""
        rows = self._rows_of.get(self._companies.get(row, ""), set())
        return sorted(rows - {row})

    def _note_company(self, row: int, match: MatchCandidate | None) -> None:
        earlier = self._companies.pop(row, None)
        if earlier is not None:
            self._rows_of[earlier].discard(row)
        if match is not None:
            company = self._companies[row] = intern(f"{match.country}:{match.vat}")
            self._rows_of.setdefault(company, set()).add(row)

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
        if pile in _REASONED:
            return counted(Counter(map(self.reason, rows)))
        return ""

    def reason(self, row: int) -> str:
        """Returns why a row has no company or was not searched, also if a person has decided."""
        return _BY_HAND if row in self.chosen else self._reasons[row] or _NOT_FOUND

    def remark(self, row: int) -> str:
        """Returns what to know about a row, in sentences; empty without anything."""
        said = [WHY.get(self.reason(row), "")] if self.piles[row] in _REASONED else []
        said += [f"{FIELDS[name]}: cannot be read." for name in self._unread.get(row, ())]
        said += [
            f"{FIELDS[name]}: taken for {value}."
            for name, value in self._assumed.get(row, {}).items()
        ]
        said.append(str(self._conflicts.get(row, "")))
        return " ".join(filter(None, said))

    def conflict(self, row: int) -> MatchConflict | None:
        """Returns the companies of number and name of a row; None if they are one."""
        return self._conflicts.get(row)

    def _status(self, row: int) -> str:
        match = self.match(row) if row in self.chosen else None
        return match.status if match else self._statuses[row]

    def companies(self) -> list[str]:
        """Returns the matched companies as `<country>:<number>`, each once."""
        found = (self.match(row) for row in self.rows("matched"))
        return list(dict.fromkeys(f"{each.country}:{each.vat}" for each in found if each))


def _note(noted: dict[int, T], row: int, value: T | None) -> None:
    """Notes a value of a row, in place of an earlier one."""
    noted.pop(row, None)
    if value:
        noted[row] = value


def remark_of(table: Table, outcomes: Outcomes, row: int) -> str:
    """Returns what to know about a row, also which others have its company."""
    same = outcomes.same(row)
    said = outcomes.remark(row)
    if not same:
        return said
    numbers = [f"{table.number(each):,}" for each in same[:_NAMED]]
    more = f" and {len(same) - _NAMED:,} more" if len(same) > _NAMED else ""
    words = f"Row {numbers[0]} is" if len(same) == 1 else f"Rows {', '.join(numbers)}{more} are"
    return f"{said} {words} the same company.".strip()


def enriched(table: Table, outcomes: Outcomes) -> Iterator[list[str | float]]:
    """Yields the rows of a download, with the header: the file's own columns, and what was found.

    No cell acts on the program that shows it.
    """
    yield [*map(harmless, table.header), *ADDED, *_DECIDED]
    for row in range(len(table.rows)):
        own = [harmless(cell) for cell in table.row(row)]
        yield [*own, *_found(outcomes, row), *_decided(table, outcomes, row)]


def _found(outcomes: Outcomes, row: int) -> list[str | float]:
    match = outcomes.match(row) if row < len(outcomes.piles) else None
    if match is None:
        return [""] * len(ADDED)
    texts = (match.country.upper(), match.vat, match.name, match.status)
    # A company that a person has found has no probability.
    return [*map(harmless, texts), match.score or ""]


def _decided(table: Table, outcomes: Outcomes, row: int) -> list[str]:
    if row >= len(outcomes.piles):
        return [NOT_SEARCHED, "", "The matching has not reached it.", "", "", ""]
    pile, reason = outcomes.piles[row], outcomes.reason(row)
    decision = _DECISION_OF[pile]
    if pile == "unsearched" and reason == _INVALID:
        decision = "error"
    decision = f"{decision} (by hand)" if row in outcomes.chosen else decision
    made = outcomes.chosen.get(row)
    by_hand = ["", "", ""] if made is None else [harmless(made.who), made.at, harmless(made.why)]
    reason = reason if pile in _REASONED else ""
    return [decision, reason, remark_of(table, outcomes, row), *by_hand]


def _pile_of(result: MatchResult) -> str:
    if isinstance(result.error, CompanyRemoved):
        return "missing"
    pile = _PILE_OF.get(result.decision or "", "unsearched")
    return pile if result.candidates or pile == "unsearched" else "missing"


def _reason(result: MatchResult) -> str:
    return result.error.code if result.error else result.reason or ""


#: Evidence below which a field speaks against a company, in words.
_AGREES: Final = 50.0
_AGAINST: Final = {
    "number": "another number",
    "name": "another name",
    "address": "another address",
    "postal_code": "another postal code",
    "city": "another town",
    "phone": "another phone number",
    "email": "another e-mail address",
    "website": "another web site",
}
_STATES: Final = {
    "ended": "it has ended",
    "bankrupt": "it is bankrupt",
    "under_liquidation": "it is in liquidation",
    "under_reconstruction": "it is in reconstruction",
}
#: The probability from which a company is matched, as the API has it (ADR 0052).
_SURE: Final = 0.75


def against(candidate: MatchCandidate, candidates: Sequence[MatchCandidate]) -> str:
    """Returns in a sentence what speaks against a candidate; empty if nothing does."""
    said = [_STATES[candidate.status]] if candidate.status in _STATES else []
    said += [
        words
        for name, words in _AGAINST.items()
        if (found := candidate.evidence.get(name)) is not None and found < _AGREES
    ]
    others = [each for each in candidates if each != candidate]
    if any(each.name.casefold() == candidate.name.casefold() for each in others):
        said.append("a namesake")
    elif any(each.score >= candidate.score for each in others):
        said.append("another company is as likely")
    if not said and candidate.score < _SURE:
        said.append("too little is known of the customer")
    text = ", ".join(said)
    return f"Against it: {text}." if text else ""
