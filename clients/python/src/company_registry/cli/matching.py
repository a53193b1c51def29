"""`match`: the companies that the rows of a customer list mean."""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from company_registry.cli.batches import read_file
from company_registry.cli.journals import Journal
from company_registry.cli.output import as_json, plain
from company_registry.cli.session import Exit, Session
from company_registry.errors import CompanyRegistryError
from company_registry.matching import MatchRecord, MatchResult
from company_registry.spreadsheets import Row, Sheet, country_of, field_of, harmless, term_of

#: The fields of a record that a column may hold.
FIELDS: Final = (
    "country", "name", "number", "address", "postal_code", "city", "phone", "email", "website",
)  # fmt: skip
#: One of them is needed.
_SEARCHED: Final = ("name", "number", "address", "phone", "email", "website")
#: Columns of each result, after those of the input.
_ADDED: Final = (
    "decision", "company_country", "company_vat", "company_name", "company_city",
    "company_status", "score", "evidence", "alternatives", "error", "error_detail",
)  # fmt: skip
_MATCH, _ERROR = "match", "error"

#: A result as it is kept: what the service said of a row.
_Kept = dict[str, Any]


def match(  # noqa: PLR0913 (the command's options)
    session: Session,
    file: Annotated[Path, typer.Argument(help="CSV with a header; - is standard input.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Output file, which a later run goes on with; else standard output."
        ),
    ] = None,
    country: Annotated[
        str | None, typer.Option(help="Register of rows without a country; both unless given.")
    ] = None,
    column: Annotated[
        list[str],
        typer.Option(
            help=f"FIELD=HEADER for a column that is not recognised; FIELD is {', '.join(FIELDS)}."
        ),
    ] = [],  # noqa: B006 (Typer copies it)
    limit: Annotated[int, typer.Option(min=1, max=20, help="Candidates of each row.")] = 5,
) -> None:
    """Find the company that each row of a customer list means, in any number of rows.

    The header names the columns in English, Danish or Norwegian: name, number, address, postal
    code, town, phone, e-mail address, web site, country. The output has the rows in their order,
    each with its decision (match, review or none), the likeliest company, its probability, and
    what agrees. A run that was stopped goes on where it was, with the same --out. The exit status
    is 1 if a row is for review or has an error.
    """
    sheet = read_file(session, file)
    try:
        chosen = country and _country(country)
        places = columns_of(sheet, column)
    except ValueError as error:
        session.fail(str(error), Exit.USAGE)
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        session.fail("--out must be another file than the one that is read", Exit.USAGE)
    named = ", ".join(f"{field}: {sheet.header[place]}" for field, place in places.items())
    session.note(f"Columns: {named}")
    records = list(_records(sheet, places, chosen))
    try:
        kept = _matched(session, records, limit, out)
        _write(session, out, sheet, kept)
    except OSError as error:
        session.fail(f"{out}: {error.strerror}", Exit.USAGE)
    counts = Counter(each["decision"] or _ERROR for each in kept)
    session.note(", ".join(f"{counts[name]} {name}" for name in (_MATCH, "review", "none", _ERROR)))
    if counts["review"] or counts[_ERROR]:
        raise typer.Exit(Exit.FAILED)


def columns_of(sheet: Sheet, given: Sequence[str]) -> dict[str, int]:
    """Returns the column of each field: the given one, or the first whose header is known.

    Raises ValueError.
    """
    known = {name: place for place, name in reversed(list(enumerate(sheet.header)))}
    places: dict[str, int] = {}
    for each in given:
        field, _, header = each.partition("=")
        if field not in FIELDS or header not in known:
            raise ValueError(
                f"--column must be FIELD=HEADER, with one of {', '.join(FIELDS)} and a header "
                f"of the file: {', '.join(sheet.header)}"
            )
        places[field] = known[header]
    taken = set(places.values())
    for place, name in enumerate(sheet.header):
        field = field_of(name) or ""
        if field and field not in places and place not in taken:
            places[field] = place
    if not any(field in places for field in _SEARCHED):
        raise ValueError(
            f"the file must have a column of {', '.join(_SEARCHED)}; --column FIELD=HEADER names it"
        )
    return places


def _country(text: str) -> str:
    found = country_of(text)
    if found is None:
        raise ValueError("--country must be dk or no")
    return found


def _records(sheet: Sheet, places: dict[str, int], country: str | None) -> Iterator[MatchRecord]:
    """The record of each row; its id is the number of the row."""
    for number, row in enumerate(sheet.rows, start=1):
        cells: dict[str, Any] = {
            field: term_of(row.cells[place]) or None for field, place in places.items()
        }
        cells["country"] = country_of(cells.get("country") or "") or country
        yield MatchRecord(str(number), **cells)


def _matched(
    session: Session, records: Sequence[MatchRecord], limit: int, out: Path | None
) -> list[_Kept]:
    """The result of each record; those of a run that was stopped are not asked again."""
    asked = as_json([limit, [each.fields for each in records]])
    with ExitStack() as stack:
        journal = None if out is None else stack.enter_context(Journal.of(out, asked))
        kept = [] if journal is None else journal.done[: len(records)]
        if kept:
            session.note(f"Going on after {len(kept)} of {len(records)} rows.")
        left = list(records[len(kept) :])
        if left:
            client = stack.enter_context(session.client())
            advance = stack.enter_context(_progress(session, len(records), len(kept)))
            # A row with nothing to search for is not sent.
            answers = client.match((each for each in left if _is_searched(each)), limit=limit)
            try:
                for record in left:
                    result = _kept(next(answers)) if _is_searched(record) else _NOTHING
                    kept.append(result)
                    if journal is not None:
                        journal.add(result)
                    advance()
            except CompanyRegistryError:
                session.note(f"Stopped after {len(kept)} of {len(records)} rows.")
                raise
        return kept


_NOTHING: Final[_Kept] = {"decision": "none", "candidates": [], "problem": None}


def _is_searched(record: MatchRecord) -> bool:
    return any(getattr(record, field) for field in _SEARCHED)


def _kept(result: MatchResult) -> _Kept:
    problem = None if result.error is None else result.error.problem
    candidates = plain(result.candidates)
    return {"decision": result.decision, "candidates": candidates, "problem": problem}


def _write(session: Session, out: Path | None, sheet: Sheet, kept: Sequence[_Kept]) -> None:
    """Writes the rows with their results; a file is replaced as a whole."""
    if out is None:
        _write_rows(session, sys.stdout, sheet, kept)
        return
    encoding = "utf-8" if session.as_json or sheet.is_plain else "utf-8-sig"
    written = out.with_name(f"{out.name}.new")
    with written.open("w", encoding=encoding, newline="") as target:
        _write_rows(session, target, sheet, kept)
    written.replace(out)
    Journal.forget(out)


def _write_rows(session: Session, target: Any, sheet: Sheet, kept: Sequence[_Kept]) -> None:
    if session.as_json:
        for row, result in zip(sheet.rows, kept, strict=True):
            print(as_json(_document(sheet, row, result)), file=target)
        return
    own = [place for place, name in enumerate(sheet.header) if name not in _ADDED]
    writer = csv.writer(target, delimiter=sheet.delimiter)
    writer.writerow([*(harmless(sheet.header[place]) for place in own), *_ADDED])
    for row, result in zip(sheet.rows, kept, strict=True):
        writer.writerow(map(harmless, [*(row.cells[place] for place in own), *_cells(result)]))


def _document(sheet: Sheet, row: Row, result: _Kept) -> dict[str, Any]:
    document = {"input": dict(zip(sheet.header, row.cells, strict=True))}
    if result["problem"] is not None:
        return {**document, "problem": result["problem"]}
    return {**document, "decision": result["decision"], "candidates": result["candidates"]}


def _cells(result: _Kept) -> list[str]:
    """The cells of a result; only the candidates of a record without a likely one are none."""
    problem, candidates = result["problem"] or {}, result["candidates"]
    shown = candidates if result["decision"] in (_MATCH, "review") else []
    best = shown[0] if shown else {}
    fields = [str(best.get(name) or "") for name in ("country", "vat", "name", "city", "status")]
    evidence = " ".join(f"{name}={value:g}" for name, value in best.get("evidence", {}).items())
    others = " | ".join(f"{one['vat']} {one['name']} ({one['score']:g})" for one in shown[1:])
    score = f"{best['score']:g}" if best else ""
    ending = [score, evidence, others, problem.get("code", ""), problem.get("detail", "")]
    return [result["decision"] or _ERROR, *fields, *ending]


class _Rate(ProgressColumn):
    """Rows in a second."""

    def render(self, task: Task) -> Text:
        """Returns the rate of the last half minute; nothing before there is one."""
        return Text(f"{task.speed:.0f}/s" if task.speed else "")


@contextmanager
def _progress(session: Session, total: int, done: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error, with the rate and the time that is left."""
    with Progress(
        TextColumn("Matching"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=session.err,
        transient=True,
        disable=not session.err.is_terminal,
    ) as progress:
        task = progress.add_task("records", total=total, completed=done)
        yield lambda: progress.advance(task)
