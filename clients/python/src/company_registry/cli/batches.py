"""`batch`: companies for the rows of a spreadsheet."""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from company_registry.cli import results
from company_registry.cli.companies import Include, Included
from company_registry.cli.files import HeaderRow, SheetName, read_file
from company_registry.cli.output import as_json
from company_registry.cli.plans import Plan, known_columns, plan_of
from company_registry.cli.progress import Telling, telling
from company_registry.cli.results import Result
from company_registry.cli.session import Exit, Session
from company_registry.client import Client
from company_registry.errors import CompanyRegistryError, InvalidParameter
from company_registry.headers import TYPES
from company_registry.matching import counted
from company_registry.spreadsheets import Row, Sheet, harmless
from company_registry.streams import Lookup


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
    order, each with its company and what else matches, or its error. The exit status is 1 if a row
    has no company.
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
    if counts.found < counts.done:
        raise typer.Exit(Exit.FAILED)


@dataclass(slots=True)
class _Counts:
    done: int = 0
    found: int = 0
    #: Of the companies found, those that are ambiguous or not active; of the others, their errors.
    noted: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Counts a result."""
        self.done += 1
        if result.company is None:
            self.errors[result.error.code if result.error else "error"] += 1
            return
        self.found += 1
        self.noted["ambiguous"] += result.is_ambiguous
        self.noted[result.company.status] += result.company.status != "active"

    def __str__(self) -> str:
        noted, errors = counted(+self.noted), counted(self.errors)
        of_which = f", of which {noted}" if noted else ""
        why = f" ({errors})" if errors else ""
        return f"{self.found} found{of_which}, {self.done - self.found} not{why}"


def _look_up(
    session: Session, sheet: Sheet, plan: Plan, write: Callable[[Row, Result], None]
) -> _Counts:
    """Writes the result of each row."""
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
    """Says which columns are used, and which are not, where that is not evident."""
    names = " + ".join(sheet.header[at] for at in (*plan.term, *plan.place))
    known = [at for _, at in known_columns(sheet) if at not in plan.used]
    unused = [name for at, name in enumerate(sheet.header) if at not in {*plan.used, *known}]
    if known or unused or names != plan.type:
        others = ", ".join(sheet.header[at] for at in known)
        choice = f"; --by chooses another: {others}" if others else ""
        rest = f"; not used: {', '.join(unused)}" if unused else ""
        session.note(f"Looking up by column {names} ({plan.type}){choice}{rest}")


def _results(
    client: Client, lookups: list[Lookup | InvalidParameter], told: Telling
) -> Iterator[Result]:
    """The result of each row; a row without a lookup is not sent."""
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
    """Writes each result when it arrives."""
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
                as_json(results.document(dict(zip(sheet.header, row.cells, strict=True)), result)),
                file=target,
            )
            return
        added = results.header(include)
        # Columns of an earlier run are replaced.
        kept = [place for place, name in enumerate(sheet.header) if name not in added]
        writer = csv.writer(target, delimiter=sheet.delimiter)
        writer.writerow([*(harmless(sheet.header[place]) for place in kept), *added])
        yield (
            lambda row, result: (
                writer.writerow(
                    map(
                        harmless,
                        [*(row.cells[place] for place in kept), *results.cells(result, include)],
                    )
                )
                and None
            )
        )
