"""`batch`: companies for the rows of a CSV file."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, cast, get_args

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from company_registry import models
from company_registry.cli.companies import Include, Included
from company_registry.cli.session import Exit, Session, plain
from company_registry.models import Company
from company_registry.streams import BatchResult, Lookup

#: A column with one of these names holds the terms.
TERMS: Final = (*get_args(models.SearchType), "search")

#: Columns of each company in CSV, after those of the input.
COLUMNS: Final[dict[str, Callable[[Company], object]]] = {
    "company_vat": lambda company: company.vat,
    "company_name": lambda company: company.name,
    "company_status": lambda company: company.status,
    "company_form": lambda company: company.form and company.form.code,
    "company_address": lambda company: company.address and company.address.text,
    "company_phone": lambda company: company.phone,
    "company_email": lambda company: company.email,
    "company_industry": lambda company: company.industry and company.industry.code,
    "match_type": lambda company: company.match.type,
    "match_score": lambda company: company.match.score,
}

Row = dict[str, str]


class Format(StrEnum):
    CSV = "csv"
    JSON = "json"


def batch(  # noqa: PLR0913 (the command's options)
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="CSV with a header; - is standard input.")],
    *,
    country: Annotated[
        models.Country | None, typer.Option(help="Register of rows without a column `country`.")
    ] = None,
    include: Included = [],  # noqa: B006 (Typer copies it)
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file; default standard output.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Format of the output.")] = Format.CSV,
) -> None:
    """Look up each row of a CSV file, in any number.

    The file has a column `country` (or give --country), and one named vat, name, produ, phone,
    ean, address or search. The output has the rows in their order, each with its company or its
    error; JSON has one document on each line. The exit status is 1 if a row has no company.
    """
    session: Session = context.obj
    rows = _rows(session, file, country)
    as_json = session.as_json or format_ is Format.JSON
    lookups = [_lookup(row, include) for row in rows]
    failed = 0
    with ExitStack() as stack:
        client = stack.enter_context(session.client())
        write = stack.enter_context(_writing(session, out, rows, as_json=as_json))
        advance = stack.enter_context(_progress(session, len(rows)))
        for row, result in zip(rows, client.batch(lookups), strict=True):
            write(row, result)
            failed += result.company is None
            advance()
    session.err.print(f"{len(rows) - failed} found, {failed} not", highlight=False)
    if failed:
        raise typer.Exit(Exit.FAILED)


def _rows(session: Session, file: Path, country: models.Country | None) -> list[Row]:
    """The rows of the file; ends the command unless each has a country and one term."""
    default = {} if country is None else {"country": country}
    try:
        is_stdin = str(file) == "-"
        with open(
            0 if is_stdin else file, encoding="utf-8-sig", newline="", closefd=not is_stdin
        ) as source:
            rows = [{**default, **row} for row in csv.DictReader(source)]
    except (OSError, UnicodeDecodeError, csv.Error):
        session.fail(f"{file} cannot be read as a CSV file in UTF-8", Exit.USAGE)
    if rows and sum(name in rows[0] for name in TERMS) != 1:
        columns = ", ".join(TERMS)
        session.fail(f"the header must have exactly one of the columns {columns}", Exit.USAGE)
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            session.fail(f"row {number} and the header differ in length", Exit.USAGE)
        if row.get("country") not in get_args(models.Country):
            session.fail(f"row {number}: country must be dk or no", Exit.USAGE)
    return rows


def _lookup(row: Row, include: list[Include]) -> Lookup:
    by = next(name for name in TERMS if name in row)
    return Lookup(
        cast(models.Country, row["country"]),
        row[by],
        by=None if by == "search" else cast(models.SearchType, by),
        include=tuple(each.value for each in include),
    )


@contextmanager
def _writing(
    session: Session, out: Path | None, rows: list[Row], *, as_json: bool
) -> Iterator[Callable[[Row, BatchResult], None]]:
    """Writes each result when it arrives."""
    with ExitStack() as stack:
        try:
            target = (
                sys.stdout
                if out is None
                else stack.enter_context(out.open("w", encoding="utf-8", newline=""))
            )
        except OSError:
            session.fail(f"{out} cannot be written", Exit.USAGE)
        if as_json:
            yield lambda row, result: print(
                json.dumps(_document(row, result), ensure_ascii=False), file=target
            )
            return
        names = [*(rows[0] if rows else ()), *COLUMNS, "error"]
        writer = csv.DictWriter(target, names, extrasaction="ignore")
        writer.writeheader()
        yield lambda row, result: writer.writerow({**row, **_cells(result)}) and None


def _document(row: Row, result: BatchResult) -> dict[str, Any]:
    if result.error is not None:
        return {"input": row, "problem": result.error.problem}
    return {"input": row, "company": plain(result.company)}


def _cells(result: BatchResult) -> dict[str, object]:
    if result.company is None:
        return {"error": result.error.code if result.error else ""}
    return {name: _cell(read(result.company)) for name, read in COLUMNS.items()}


def _cell(value: object) -> object:
    """A text that a spreadsheet would run as a formula gets an apostrophe."""
    is_formula = isinstance(value, str) and value[:1] in ("=", "@", "\t", "\r")
    return f"'{value}" if is_formula else value


@contextmanager
def _progress(session: Session, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error, where people look."""
    with Progress(
        TextColumn("Looking up"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=session.err,
        transient=True,
        disable=not session.err.is_terminal,
    ) as progress:
        task = progress.add_task("lookups", total=total)
        yield lambda: progress.advance(task)
