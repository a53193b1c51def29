"""How the rows of a spreadsheet are looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from company_registry.cli.companies import Include
from company_registry.columns import recognised, text_in
from company_registry.errors import InvalidParameter
from company_registry.headers import COUNTRY, HEADERS, SEARCH, TYPES
from company_registry.models import Country, SearchType
from company_registry.spreadsheets import Row, Sheet, country_of
from company_registry.streams import Lookup

#: Types of terms that several companies may match equally well.
_SHARED: Final = ("name", "address", "phone", SEARCH)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the rows of a sheet are looked up."""

    type: str
    #: The columns that make up the term.
    term: tuple[int, ...]
    #: Those of the postal code and the town, which complete an address.
    place: tuple[int, ...]
    #: None if the sheet has no such column.
    country: int | None
    default: str | None
    include: tuple[Include, ...]

    def lookup(self, row: Row) -> Lookup | InvalidParameter:
        """The lookup of a row, or why it has none."""
        if row.is_longer:
            return _invalid("the row has more cells than the header")
        named = "" if self.country is None else row.cells[self.country].strip()
        country = country_of(named) if named else self.default
        if country is None:
            return _invalid(f"country: give dk or no, not {named!r}" if named else "country: empty")
        term = self._term(row)
        if not term:
            return _invalid(f"{self.type}: empty")
        shared = ("alternatives",) if self.type in _SHARED else ()
        return Lookup(
            cast(Country, country),
            term,
            by=None if self.type == SEARCH else cast(SearchType, self.type),
            include=tuple(dict.fromkeys([*(each.value for each in self.include), *shared])),
        )

    def _term(self, row: Row) -> str:
        term = text_in(row.cells, self.type, self.term)
        places = [text_in(row.cells, "city", (place,)) for place in self.place]
        rest = " ".join(text for text in places if text and text not in term)
        return f"{term}, {rest}" if term and rest else term

    @property
    def used(self) -> set[int]:
        """The columns that it reads."""
        return {*self.term, *self.place} | (set() if self.country is None else {self.country})


def plan_of(
    sheet: Sheet, *, country: str | None, by: str | None, include: Sequence[Include]
) -> Plan:
    """Chooses the columns. Raises ValueError if there is none to look up by, or no country."""
    default = None if country is None else country_of(country)
    if country is not None and default is None:
        raise ValueError("--country must be dk or no")
    countries = sheet.places(COUNTRY)
    if not countries and default is None:
        raise ValueError("give --country dk or no: the header has no column country")
    known = known_columns(sheet)
    if by is not None:
        type_, place = _chosen(sheet, by, known)
    elif known:
        type_, place = known[0]
    else:
        raise ValueError(
            f"the header must have one of the columns {', '.join(TYPES)}, in English, Danish or "
            f"Norwegian, or give --by TYPE=HEADER; it has {', '.join(sheet.header) or 'nothing'}"
        )
    found = recognised(sheet.header).places
    is_address = type_ == "address"
    joined = found.get("address", ()) if is_address else ()
    terms = joined if place in joined else (place,)
    towns = (*found.get("postal_code", ()), *found.get("city", ())) if is_address else ()
    return Plan(type_, terms, towns, countries[0] if countries else None, default, tuple(include))


def known_columns(sheet: Sheet) -> list[tuple[str, int]]:
    """The types and places of the columns that can be looked up by, the most exact first."""
    types = (type_ for type_ in HEADERS if type_ != COUNTRY)
    return [(type_, place) for type_ in types for place in sheet.places(type_)]


def _chosen(sheet: Sheet, by: str, known: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The column of `--by`: a type, a known header, or TYPE=HEADER."""
    named, _, header = by.partition("=")
    for type_, place in known:
        if by in (type_, sheet.header[place]):
            return type_, place
    if named in TYPES and header in sheet.header:
        return named, sheet.header.index(header)
    raise ValueError(
        f"--by must be a known column, or TYPE=HEADER for another; the types are "
        f"{', '.join(TYPES)}, and the header has {', '.join(sheet.header)}"
    )


def _invalid(detail: str) -> InvalidParameter:
    problem = {"code": InvalidParameter.code, "status": 400, "detail": detail}
    return InvalidParameter(400, problem, retry_after=None)
