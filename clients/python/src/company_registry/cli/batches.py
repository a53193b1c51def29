"""`batch`: companies for the rows of a spreadsheet."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import typer

from company_registry.cli.companies import Include, Included, with_owners
from company_registry.cli.output import YES_OR_NO, as_json, plain, text_of
from company_registry.cli.session import Exit, Session
from company_registry.cli.spreadsheets import HeaderRow, SheetName, Telling, read_file, telling
from company_registry.client import Client
from company_registry.columns import MOST, Results, percent, recognised, results_in, share, text_in
from company_registry.errors import ApiError, CompanyRegistryError, InvalidParameter
from company_registry.headers import COUNTRY, HEADERS, SEARCH, TYPES
from company_registry.matching import counted
from company_registry.models import Company, Country, Owner, SearchType, Subsidiary
from company_registry.spreadsheets import (
    LONGER,
    Row,
    Sheet,
    country_of,
    harmless,
    invalid_row,
    term_of,
)
from company_registry.streams import Lookup, passes

# How rows are looked up

#: Types of terms that several companies may match equally well.
_SHARED: Final = ("name", "address", "phone", SEARCH)


#: The type of a term that names its register itself, and the country of so many digits.
_NUMBERED: Final = "vat"
_NUMBER: Final = re.compile(r"(?<![0-9])(?:[0-9][ .-]?){7,}[0-9]")
_DECIMALS: Final = re.compile(r"[.,]0+$")
_BY_LENGTH: Final = {8: "dk", 9: "no"}
#: Types of which a row has its value in one column or another.
_ALTERNATIVES: Final = (_NUMBERED, "phone")
_UNDECIDED: Final = "decision: only rows that are decided match are looked up"


@dataclass(frozen=True, slots=True)
class Plan:
    """How the rows of a sheet are looked up."""

    type: str
    #: The columns that make up the term; of numbers, the first of a row that says something.
    term: tuple[int, ...]
    #: The columns of the postal code and the town, which complete an address.
    place: tuple[int, ...]
    #: None if the sheet has no such column.
    country: int | None
    default: str | None
    include: tuple[Include, ...]
    #: Of a file that `match` wrote: its rows with a decision.
    results: Results | None = None

    def lookup(self, row: Row) -> Lookup | InvalidParameter:
        """The lookup of a row, or why it has none."""
        if row.is_longer:
            return LONGER
        if self.results and not self.results.is_decided(row.cells):
            return invalid_row(_UNDECIDED)
        named = "" if self.country is None else term_of(row.cells[self.country])
        term = self._term(row)
        country = country_of(named) if named else self.default or self._country_of(term)
        if country is None:
            return invalid_row(
                f"country: give dk or no, not {named!r}" if named else "country: empty"
            )
        if not term:
            return invalid_row(f"{self.type}: empty")
        shared = ("alternatives",) if self.type in _SHARED else ()
        return Lookup(
            cast(Country, country),
            term,
            by=None if self.type == SEARCH else cast(SearchType, self.type),
            include=tuple(dict.fromkeys([*(each.value for each in self.include), *shared])),
        )

    def names_its_country(self, row: Row) -> bool:
        """True if the number of a row is one of only one register."""
        return self._country_of(self._term(row)) is not None

    def _country_of(self, term: str) -> str | None:
        # The numbers of the registers differ in length.
        numbers = _NUMBER.findall(_DECIMALS.sub("", term)) if self.type == _NUMBERED else ()
        found = {_BY_LENGTH.get(sum(map(str.isdigit, each))) for each in numbers}
        return found.pop() if len(found) == 1 else None

    def _term(self, row: Row) -> str:
        term = text_in(row.cells, self.type, self.term)
        places = [text_in(row.cells, "city", (place,)) for place in self.place]
        rest = " ".join(text for text in places if text and not _names(term, text))
        return f"{term}, {rest}" if term and rest else term

    @property
    def used(self) -> set[int]:
        """The columns that it reads."""
        return {*self.term, *self.place} | (set() if self.country is None else {self.country})


def _names(address: str, place: str) -> bool:
    """True if an address has a postal code or a town outside the name of its street."""
    # A town at the beginning may begin a street: `Oslo gate 1`.
    before = r"(?:^|-)(?=\d)|[,\n]\s*|\d ?\w?\s+"
    return re.search(rf"(?:{before}){re.escape(place)}(?!\w)", address) is not None


def plan_of(
    sheet: Sheet, *, country: str | None, by: str | None, include: Sequence[Include]
) -> Plan:
    """Chooses the columns. Raises ValueError if there is none to look up by, or no country."""
    default = None if country is None else country_of(country)
    if country is not None and default is None:
        raise ValueError("--country must be dk or no")
    results = results_in(sheet.header)
    if by is None and results and results.decision is not None:
        stated = results.country
        return Plan(_NUMBERED, (results.number,), (), stated, default, tuple(include), results)
    countries = sheet.places(COUNTRY)
    known = known_columns(sheet)
    if by is not None:
        type_, terms = _chosen(sheet, by, known)
    elif known:
        type_, terms = _usable(sheet, known)
    else:
        raise ValueError(
            f"the header must have one of the columns {', '.join(TYPES)}, in English, Danish or "
            f"Norwegian, or give --by TYPE=HEADER; it has {', '.join(sheet.header) or 'nothing'}"
        )
    place = countries[0] if countries else None
    towns = _towns(sheet) if type_ == "address" else ()
    plan = Plan(type_, terms, towns, place, default, tuple(include))
    if not countries and default is None and not any(map(plan.names_its_country, sheet.rows)):
        raise ValueError("give --country dk or no: the header has no column country")
    return plan


def known_columns(sheet: Sheet) -> list[tuple[str, int]]:
    """The types and places of the columns that can be looked up by, the most exact first."""
    types = (type_ for type_ in HEADERS if type_ != COUNTRY)
    return [(type_, place) for type_ in types for place in sheet.places(type_)]


def _usable(sheet: Sheet, known: Sequence[tuple[str, int]]) -> tuple[str, tuple[int, ...]]:
    """Returns the first identifier that most rows can use, else what the most rows can."""
    ways = [(type_, _terms(sheet, type_, place, known)) for type_, place in known]
    shares = [share(sheet.rows, *way) for way in ways]
    for way, part in zip(ways, shares, strict=True):
        if way[0] not in _SHARED and part >= MOST:
            return way
    return ways[shares.index(max(shares))]


def _terms(
    sheet: Sheet, type_: str, place: int, known: Sequence[tuple[str, int]]
) -> tuple[int, ...]:
    if type_ in _ALTERNATIVES:
        others = (at for each, at in known if each == type_ and at != place)
        return (place, *others)
    joined = recognised(sheet.header).places.get("address", ()) if type_ == "address" else ()
    return joined if place in joined else (place,)


def _towns(sheet: Sheet) -> tuple[int, ...]:
    found = recognised(sheet.header).places
    return (*found.get("postal_code", ()), *found.get("city", ()))


def _chosen(sheet: Sheet, by: str, known: Sequence[tuple[str, int]]) -> tuple[str, tuple[int, ...]]:
    named, _, header = by.partition("=")
    for type_, place in known:
        if by == sheet.header[place]:
            return type_, _terms(sheet, type_, place, [(type_, place)])
        if by == type_:
            return type_, _terms(sheet, type_, place, known)
    if named in TYPES and header in sheet.header:
        place = sheet.header.index(header)
        return named, _terms(sheet, named, place, [(named, place)])
    raise ValueError(
        f"--by must be a known column, or TYPE=HEADER for another; the types are "
        f"{', '.join(TYPES)}, and the header has {', '.join(sheet.header)}"
    )


# Results

Read = Callable[[Company], object]

#: Columns of each result, after those of the input.
_COLUMNS: Final[dict[str, Read]] = {
    "company_country": lambda company: company.country,
    "company_vat": lambda company: company.vat,
    "company_name": lambda company: company.name,
    "company_status": lambda company: company.status,
    "company_status_since": lambda company: company.status_since,
    "company_form": lambda company: company.form and company.form.code,
    "company_form_short": lambda company: company.form and company.form.short,
    "company_address": lambda company: company.address and company.address.text,
    "company_municipality_code": lambda company: (
        company.address and company.address.municipality_code
    ),
    "company_phone": lambda company: company.phone,
    "company_email": lambda company: company.email,
    "company_industry": lambda company: company.industry and company.industry.code,
    "company_activity": lambda company: company.activity,
    "match_type": lambda company: company.match.type,
    "score": lambda company: f"{company.match.score:g}",
    "ambiguous": lambda company: "yes" if is_ambiguous(company) else "",
    "others": lambda company: company.match.others or "",
    "alternatives": lambda company: _joined(
        f"{each.vat} {each.name} ({each.score:g})" for each in company.alternatives or ()
    ),
    "company_advertising_protected": lambda company: YES_OR_NO.get(company.advertising_protected),
}

#: Columns of what --include adds; `alternatives` is always there.
_INCLUDED: Final[dict[str, Read]] = {
    "owners": lambda company: _first(
        company.owners_total,
        (_words(each.name, each.vat, _held(each)) for each in company.owners or ()),
    ),
    "roles": lambda company: _first(
        company.roles_total,
        (f"{each.role_text or each.role}: {each.name}" for each in company.roles or ()),
    ),
    "production_units": lambda company: _first(
        company.production_units_total,
        (_words(each.number, each.name) for each in company.production_units or ()),
    ),
    "einvoicing": lambda company: _first(
        company.einvoicing_total, (each.identifier for each in company.einvoicing or ())
    ),
    "subsidiaries": lambda company: _first(
        company.subsidiaries_total,
        (_words(each.vat, each.name, _held(each)) for each in company.subsidiaries or ()),
    ),
    "annual_accounts": lambda company: _joined(
        _words(f"{each.period.end}", each.scope, "revenue", each.figures.revenue or "not told")
        for each in company.annual_accounts or ()
    ),
}
_ERRORS: Final = ("error", "error_detail")


@dataclass(frozen=True, slots=True)
class Result:
    """A company, or the error of its row."""

    company: Company | None
    error: ApiError | None

    @property
    def is_ambiguous(self) -> bool:
        """True if other companies match about as well as the one found."""
        return self.company is not None and is_ambiguous(self.company)


def is_ambiguous(company: Company) -> bool:
    """True if another company matches as well as this one."""
    as_good = any(each.score >= company.match.score for each in company.alternatives or ())
    # A service of an earlier release does not count the others.
    return company.match.others > 0 or as_good


def columns(include: Sequence[Include]) -> dict[str, Read]:
    """The columns of a company."""
    return _COLUMNS | {name: read for name, read in _INCLUDED.items() if name in include}


def header(include: Sequence[Include]) -> list[str]:
    """Returns the names of the columns that a batch adds to a spreadsheet."""
    return [*columns(include), *_ERRORS]


def cells(result: Result, include: Sequence[Include]) -> list[str]:
    """The cells of a result, under the header."""
    reads = columns(include)
    if result.company is None:
        error = result.error
        return [*[""] * len(reads), *(("", "") if error is None else (error.code, error.detail))]
    found = (read(result.company) for read in reads.values())
    return [*map(text_of, found), "", ""]


def document(row: dict[str, str], result: Result) -> dict[str, Any]:
    """The result as JSON."""
    if result.error is not None:
        return {"input": row, "problem": result.error.problem}
    return {
        "input": row,
        "company": plain(result.company),
        "ambiguous": result.is_ambiguous,
    }


#: Columns of a company that filters found: nothing about how it matched.
FOUND: Final = {
    name.removeprefix("company_"): read
    for name, read in _COLUMNS.items()
    if name.startswith("company_")
} | {
    "postal_code": lambda company: company.address and company.address.postal_code,
    "city": lambda company: company.address and company.address.city,
    "municipality": lambda company: company.address and company.address.municipality,
    "employees": lambda company: company.employees and company.employees.text,
    "founded": lambda company: company.founded,
    "ended": lambda company: company.ended,
    "website": lambda company: company.website,
    "fax": lambda company: company.fax,
    "employees_with_owners": with_owners,
    "capital": lambda company: company.capital and company.capital.amount,
    "currency": lambda company: company.capital and company.capital.currency,
    "capital_since": lambda company: company.capital and company.capital.since,
    "capital_paid_in": lambda company: company.capital and company.capital.paid_in,
    "dissolution": lambda company: company.dissolution and company.dissolution.text,
    "minor_owners": lambda company: YES_OR_NO.get(company.minor_owners),
    "state_owned": lambda company: YES_OR_NO.get(company.state_owned),
    "aml_obliged": lambda company: YES_OR_NO.get(company.aml_obliged),
    "social_enterprise": lambda company: YES_OR_NO.get(company.social_enterprise),
    "voluntary_vat": lambda company: company.voluntary_vat and company.voluntary_vat.text,
    "in_group": lambda company: YES_OR_NO.get(company.in_group),
    "home_register": lambda company: company.home_register and company.home_register.text,
    "capital_type": lambda company: company.capital and company.capital.type,
    "capital_fully_paid": lambda company: YES_OR_NO.get(
        company.capital and company.capital.fully_paid
    ),
    "share_classes": lambda company: YES_OR_NO.get(company.capital and company.capital.has_classes),
    "first_period": lambda company: _period(company, "first"),
    "adjusted_period": lambda company: _period(company, "adjusted"),
    "dissolution_warned": lambda company: company.dissolution and company.dissolution.warned,
    "dissolution_resumed": lambda company: company.dissolution and company.dissolution.resumed,
    "remarks": lambda company: _joined(remark.text for remark in company.remarks),
}


def _held(each: Owner | Subsidiary) -> str | None:
    """Returns the share, and the source if it is not the one with the owners of the country."""
    said = ", ".join(filter(None, (each.share.text if each.share else None, each.source)))
    return f"({said})" if said else None


def included(include: Sequence[Include]) -> dict[str, Read]:
    """Returns the columns of the parts that are requested beside the company."""
    return {name: read for name, read in _INCLUDED.items() if name in include}


def _period(company: Company, name: Literal["first", "adjusted"]) -> str | None:
    year = company.financial_year
    period = year and (year.first if name == "first" else year.adjusted)
    return period.text if period else None


def _first(total: int | None, parts: Iterable[str]) -> str:
    shown = list(parts)
    more = [f"… ({total} in all)"] if total and total > len(shown) else []
    return _joined([*shown, *more])


def _joined(parts: Any) -> str:
    return " | ".join(parts)


def _words(*words: str | None) -> str:
    return " ".join(word for word in words if word)


# The command


class Format(StrEnum):
    """The format in which results are written."""

    CSV = "csv"
    JSON = "json"


def batch(  # noqa: PLR0913 (the command's options)
    session: Session,
    file: Annotated[Path, typer.Argument(help="XLSX or CSV with a header; - is standard input.")],
    *,
    country: Annotated[
        str | None, typer.Option(help="Register of rows without a country: dk or no.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column to look up by, by its header or its type: "
            f"{', '.join(TYPES)}; TYPE=HEADER for a header that is not known.",
            autocompletion=lambda: list(TYPES),
        ),
    ] = None,
    sheet: SheetName = None,
    header_row: HeaderRow = None,
    include: Included = [],  # noqa: B006 (Typer copies it)
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file; default standard output.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Format of the output.")] = Format.CSV,
) -> None:
    """Look up each row of a spreadsheet, in any number.

    The header names the columns in English, Danish or Norwegian: the country (or give --country),
    and a number, name, address or other term. XLSX, XLS, XLSB, ODS and CSV are read, with titles
    above the header, delimited and encoded in any usual way. The output has the rows in their
    order, each with its company and what else matches, or its error. The exit status is 5 if a row
    was not searched, as the service failed, and 1 if another has no company.
    """
    found = read_file(session, file, sheet, header_row)
    try:
        plan = plan_of(found, country=country, by=by, include=include)
    except ValueError as error:
        session.fail(str(error), Exit.USAGE)
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        session.fail("--out must be another file than the one that is read", Exit.USAGE)
    _say_column(session, found, plan)
    is_json = session.as_json or format_ is Format.JSON
    with _writing(session, out, found, include, is_json=is_json) as write:
        counts = _look_up(session, found, plan, write)
    session.note(str(counts))
    if counts.unsearched:
        raise typer.Exit(Exit.UNAVAILABLE)
    if counts.found < counts.done:
        raise typer.Exit(Exit.FAILED)


@dataclass(slots=True)
class _Counts:
    done: int = 0
    found: int = 0
    #: Of the companies found, those that are ambiguous or not active; of the others, their errors.
    noted: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    #: Errors of the service, after which nothing is known of a row's company.
    unsearched: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Counts a result."""
        self.done += 1
        if result.error is not None:
            errors = self.unsearched if passes(result.error) else self.errors
            errors[result.error.code] += 1
        if result.company is None:
            return
        self.found += 1
        self.noted["ambiguous"] += result.is_ambiguous
        self.noted[result.company.status] += result.company.status != "active"

    def __str__(self) -> str:
        noted, errors = counted(+self.noted), counted(self.errors)
        of_which = f", of which {noted}" if noted else ""
        why = f" ({errors})" if errors else ""
        said = f"{self.found} found{of_which}, {self.errors.total()} not{why}"
        if self.unsearched:
            said += f", {self.unsearched.total()} not searched ({counted(self.unsearched)})"
        return said


def _look_up(
    session: Session, sheet: Sheet, plan: Plan, write: Callable[[Row, Result], None]
) -> _Counts:
    lookups = [plan.lookup(row) for row in sheet.rows]
    counts = _Counts()
    with session.client() as client, telling(session, "Looking up", len(lookups)) as told:
        try:
            for row, result in zip(sheet.rows, _results(client, lookups, told), strict=True):
                write(row, result)
                counts.add(result)
                told.advance()
        except CompanyRegistryError:
            session.note(f"Stopped after {counts.done} of {len(lookups)} rows.")
            raise
    return counts


def _say_column(session: Session, sheet: Sheet, plan: Plan) -> None:
    names = " + ".join(sheet.header[at] for at in (*plan.term, *plan.place))
    known = [
        at
        for type_, at in known_columns(sheet)
        if at not in plan.used and share(sheet.rows, type_, (at,)) >= MOST
    ]
    unused = [name for at, name in enumerate(sheet.header) if at not in {*plan.used, *known}]
    part = share(sheet.rows, plan.type, plan.term)
    if known or unused or names != plan.type or part < 1:
        others = ", ".join(sheet.header[at] for at in known)
        choice = f"; --by chooses another: {others}" if others else ""
        rest = f"; not used: {', '.join(unused)}" if unused else ""
        read = f", {percent(part)} of the rows" if sheet.rows and part < 1 else ""
        session.note(f"Looking up by column {names} ({plan.type}{read}){choice}{rest}")


def _results(
    client: Client, lookups: list[Lookup | InvalidParameter], told: Telling
) -> Iterator[Result]:
    sent = (each for each in lookups if isinstance(each, Lookup))
    answers = client.batch(sent, on_pace=told.take)
    for each in lookups:
        if isinstance(each, Lookup):
            answer = next(answers)
            yield Result(answer.company, answer.error)
        else:
            yield Result(None, each)


@contextmanager
def _writing(
    session: Session, out: Path | None, sheet: Sheet, include: list[Include], *, is_json: bool
) -> Iterator[Callable[[Row, Result], None]]:
    # A spreadsheet that needs a mark to read UTF-8 gets one, and the delimiter that it wrote.
    encoding = "utf-8" if is_json or sheet.is_plain else "utf-8-sig"
    with ExitStack() as stack:
        try:
            target = (
                sys.stdout
                if out is None
                else stack.enter_context(out.open("w", encoding=encoding, newline=""))
            )
        except OSError as error:
            session.fail(f"{out}: {error.strerror}", Exit.USAGE)
        if is_json:
            yield lambda row, result: print(
                as_json(document(dict(zip(sheet.header, row.cells, strict=True)), result)),
                file=target,
            )
            return
        added = header(include)
        # Columns of an earlier run are replaced.
        kept = [place for place, name in enumerate(sheet.header) if name not in added]
        writer = csv.writer(target, delimiter=sheet.delimiter)
        writer.writerow([*(harmless(sheet.header[place]) for place in kept), *added])
        yield (
            lambda row, result: (
                writer.writerow(
                    map(
                        harmless,
                        [*(row.cells[place] for place in kept), *cells(result, include)],
                    )
                )
                and None
            )
        )
