"""`match`: the companies that the rows of a customer list mean."""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from company_registry.cli.output import as_json, plain
from company_registry.cli.session import Exit, Session
from company_registry.cli.spreadsheets import HeaderRow, Journal, SheetName, read_file, telling
from company_registry.columns import (
    FIELDS,
    SEARCHED,
    Columns,
    percent,
    read_places,
    recognised,
    share,
)
from company_registry.errors import CompanyRegistryError
from company_registry.matching import (
    NOT_SEARCHED,
    MatchConflict,
    MatchRecord,
    MatchResult,
    counted,
    same_company,
)
from company_registry.spreadsheets import LONGER, Row, Sheet, country_of, harmless

#: Columns of each result, after those of the input.
_ADDED: Final = (
    "decision", "company_country", "company_vat", "company_name", "company_city",
    "company_status", "score", "evidence", "alternatives", "reason", "unread", "assumed", "error",
    "error_detail", "conflict", "same_company_rows", "company_form", "company_address",
)  # fmt: skip
_MATCH, _NONE, _ERROR = "match", "none", "error"
#: The number of a row that a later run has searched again, in the journal.
_ROW: Final = "row"

#: Fields of a result in addition to its decision and candidates.
_MORE: Final = ("reason", "unread", "assumed", "conflict")

#: A result as it is kept: what the service said of a row.
_Kept = dict[str, Any]


def match(  # noqa: PLR0913 (the command's options)
    session: Session,
    file: Annotated[Path, typer.Argument(help="XLSX or CSV with a header; - is standard input.")],
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
            help="FIELD=HEADER for a column that is not recognised; several make one address. "
            f"FIELD is {', '.join(FIELDS)}."
        ),
    ] = [],  # noqa: B006 (Typer copies it)
    sheet: SheetName = None,
    header_row: HeaderRow = None,
    limit: Annotated[int, typer.Option(min=1, max=20, help="Candidates of each row.")] = 5,
) -> None:
    """Find the company that each row of a customer list means, in any number of rows.

    The header names the columns in English, Danish or Norwegian: name, number, address, postal
    code, town, phone, e-mail address, web site, country; those of a street, a house number and the
    like are joined. XLSX, XLS, XLSB, ODS and CSV are read, with titles above the header. The output
    has the rows in their order, each with its decision (match, review, none or not_searched), the
    likeliest company, its probability, and what agrees. A run that was stopped goes on where it
    was, with the same --out, and rows that an outage left not searched are searched again. The exit
    status is 5 if a row was not searched, 1 if one is for review or has an error.
    """
    table = read_file(session, file, sheet, header_row)
    try:
        columns = columns_of(table, column, (country and _country(country)) or "")
    except ValueError as error:
        session.fail(str(error), Exit.USAGE)
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        session.fail("--out must be another file than the one that is read", Exit.USAGE)
    _say_columns(session, table, columns)
    records = [
        None if row.is_longer else columns.record(str(number), row.cells)
        for number, row in enumerate(table.rows, start=1)
    ]
    try:
        kept = _matched(session, records, limit, out)
        _write(session, out, table, kept)
    except OSError as error:
        session.fail(f"{out}: {error.strerror}", Exit.USAGE)
    counts = Counter(each["decision"] or _ERROR for each in kept)
    session.note(_summary(kept, counts))
    if counts[NOT_SEARCHED]:
        same = "the same command" if out else "with --out, and then the same command"
        session.note(f"Run {same} again to search the rows that were not searched.")
        raise typer.Exit(Exit.UNAVAILABLE)
    if counts["review"] or counts[_ERROR]:
        raise typer.Exit(Exit.FAILED)


def _summary(kept: Sequence[_Kept], counts: Mapping[str, int]) -> str:
    more: dict[str, Counter[str]] = {
        name: Counter(map(told, (each for each in kept if (each["decision"] or _ERROR) == name)))
        for name, told in _TOLD.items()
    }
    del more[_MATCH]["active"]
    parts = []
    for name in (_MATCH, "review", _NONE, _ERROR, NOT_SEARCHED):
        words = counted(more.get(name, Counter()))
        if counts[name] or name != NOT_SEARCHED:
            title = name.replace("_", " ")
            parts.append(f"{counts[name]} {title}{f' ({words})' if words else ''}")
    return ", ".join(parts)


def _code(result: _Kept) -> str:
    return str(result["problem"]["code"])


#: The text for rows with a decision: the status of their company, or why they have none.
_TOLD: Final[Mapping[str, Callable[[_Kept], str]]] = {
    _MATCH: lambda result: result["candidates"][0]["status"],
    _NONE: lambda result: result["reason"],
    _ERROR: _code,
    NOT_SEARCHED: _code,
}


def columns_of(sheet: Sheet, given: Sequence[str], country: str = "") -> Columns:
    """Returns the columns of each field: the given ones, or those whose header is known.

    Raises ValueError.
    """
    known = {name: place for place, name in reversed(list(enumerate(sheet.header)))}
    chosen: dict[int, str] = {}
    for each in given:
        field, _, header = each.partition("=")
        if field not in FIELDS or header not in known:
            raise ValueError(
                f"--column must be FIELD=HEADER, with one of {', '.join(FIELDS)} and a header "
                f"of the file: {', '.join(sheet.header)}"
            )
        chosen[known[header]] = field
    places = read_places(sheet.header, chosen)
    for field, found in recognised(sheet.header, rows=sheet.rows).places.items():
        free = tuple(place for place in found if place not in chosen)
        if field not in places and free:
            places[field] = free
    columns = Columns({field: places[field] for field in FIELDS if field in places}, country)
    if not columns.is_searched:
        raise ValueError(
            f"the file must have a column of {', '.join(SEARCHED)}; --column FIELD=HEADER names "
            f"it, and --header-row the row of the header; row {sheet.header_row} has "
            f"{', '.join(sheet.header) or 'nothing'}"
        )
    return columns


def _say_columns(session: Session, sheet: Sheet, columns: Columns) -> None:
    named = ", ".join(
        f"{field}: {' + '.join(sheet.header[place] for place in places)}"
        for field, places in columns.places.items()
    )
    session.note(f"Columns: {named}")
    shares = {field: share(sheet.rows, field, places) for field, places in columns.places.items()}
    if sheet.rows and min(shares.values()) < 1:
        read = ", ".join(f"{field} {percent(part)}" for field, part in shares.items())
        session.note(f"Readable rows: {read}")
    if unused := columns.unused(sheet.header):
        session.note(f"Not used: {', '.join(unused)}")


def _country(text: str) -> str:
    found = country_of(text)
    if found is None:
        raise ValueError("--country must be dk or no")
    return found


def _matched(
    session: Session, records: Sequence[MatchRecord | None], limit: int, out: Path | None
) -> list[_Kept]:
    asked = as_json([limit, [each and each.fields for each in records]])
    with ExitStack() as stack:
        journal = None if out is None else stack.enter_context(Journal.of(out, asked))
        kept = [] if journal is None else _earlier(journal)[: len(records)]
        left = [row for row, each in enumerate(kept) if each["decision"] == NOT_SEARCHED]
        left += range(len(kept), len(records))
        if kept:
            session.note(f"Going on after {len(records) - len(left)} of {len(records)} rows.")
        if left:
            client = stack.enter_context(session.client())
            earlier = len(records) - len(left)
            told = stack.enter_context(telling(session, "Matching", len(records), earlier))
            # A row that is longer than the header or has nothing to search for is not sent.
            sent = (each for row in left if (each := records[row]) and _is_searched(each))
            answers = client.match(sent, limit=limit, on_pace=told.take)
            try:
                for row in left:
                    result = _result(records[row], answers)
                    if row < len(kept):
                        kept[row] = result
                        result = {_ROW: row, **result}
                    else:
                        kept.append(result)
                    if journal is not None:
                        journal.add(result)
                    told.advance()
            except CompanyRegistryError:
                session.note(f"Stopped after {told.done} of {len(records)} rows.")
                raise
        return kept


def _earlier(journal: Journal) -> list[_Kept]:
    """Returns the results of earlier runs, each row's last one."""
    kept: list[_Kept] = []
    for each in journal.done:
        row = each.pop(_ROW, None)
        if row is None:
            kept.append(each)
        else:
            kept[row] = each
    return kept


def _result(record: MatchRecord | None, answers: Iterator[MatchResult]) -> _Kept:
    if record is None:
        return _LONGER
    return _kept(next(answers)) if _is_searched(record) else _NOTHING


_NOTHING: Final[_Kept] = {
    "decision": _NONE, "candidates": [], "problem": None, "reason": "empty",
}  # fmt: skip
_LONGER: Final[_Kept] = {"decision": None, "candidates": [], "problem": LONGER.problem}


def _is_searched(record: MatchRecord) -> bool:
    return any(getattr(record, field) for field in SEARCHED)


def _kept(result: MatchResult) -> _Kept:
    problem = None if result.error is None else result.error.problem
    candidates = plain(result.candidates)
    kept: _Kept = {"decision": result.decision, "candidates": candidates, "problem": problem}
    more = {name: plain(getattr(result, name)) for name in _MORE}
    return kept | {name: value for name, value in more.items() if value}


def _write(session: Session, out: Path | None, sheet: Sheet, kept: Sequence[_Kept]) -> None:
    if out is None:
        _write_rows(session, sys.stdout, sheet, kept)
        return
    encoding = "utf-8" if session.as_json or sheet.is_plain else "utf-8-sig"
    written = out.with_name(f"{out.name}.new")
    with written.open("w", encoding=encoding, newline="") as target:
        _write_rows(session, target, sheet, kept)
    written.replace(out)
    if not any(each["decision"] == NOT_SEARCHED for each in kept):
        Journal.forget(out)


def _write_rows(session: Session, target: Any, sheet: Sheet, kept: Sequence[_Kept]) -> None:
    same = same_company(
        {row.number: _company(result) for row, result in zip(sheet.rows, kept, strict=True)}
    )
    if session.as_json:
        for row, result in zip(sheet.rows, kept, strict=True):
            document = _document(sheet, row, result)
            if row.number in same:
                document["same_company_rows"] = same[row.number]
            print(as_json(document), file=target)
        return
    own = [place for place, name in enumerate(sheet.header) if name not in _ADDED]
    writer = csv.writer(target, delimiter=sheet.delimiter)
    writer.writerow([*(harmless(sheet.header[place]) for place in own), *_ADDED])
    for row, result in zip(sheet.rows, kept, strict=True):
        others = " ".join(map(str, same.get(row.number, ())))
        best = next(iter(_shown(result)), {})
        form = best.get("form") or {}
        placed = [form.get("short") or form.get("code") or "", best.get("address") or ""]
        found = [*(row.cells[place] for place in own), *_cells(result), others, *placed]
        writer.writerow(map(harmless, found))


def _company(result: _Kept) -> str:
    """Returns the company of a result whose decision is `match`, or nothing."""
    if result["decision"] != _MATCH:
        return ""
    return "{country}:{vat}".format_map(result["candidates"][0])


def _document(sheet: Sheet, row: Row, result: _Kept) -> dict[str, Any]:
    document: dict[str, Any] = {"input": dict(zip(sheet.header, row.cells, strict=True))}
    if result["problem"] is not None:
        decided = {"decision": NOT_SEARCHED} if result["decision"] == NOT_SEARCHED else {}
        return {**document, **decided, "problem": result["problem"]}
    more: dict[str, Any] = {name: result[name] for name in _MORE if name in result}
    decision, candidates = result["decision"], result["candidates"]
    return {**document, "decision": decision, **more, "candidates": candidates}


def _shown(result: _Kept) -> Sequence[_Kept]:
    """Returns the candidates, if one of them is likely: the others are no result."""
    candidates: Sequence[_Kept] = result["candidates"]
    return candidates if result["decision"] in (_MATCH, "review") else ()


def _cells(result: _Kept) -> list[str]:
    problem, shown = result["problem"] or {}, _shown(result)
    best = shown[0] if shown else {}
    fields = [str(best.get(name) or "") for name in ("country", "vat", "name", "city", "status")]
    evidence = " ".join(f"{name}={value:g}" for name, value in best.get("evidence", {}).items())
    others = " | ".join(f"{one['vat']} {one['name']} ({one['score']:g})" for one in shown[1:])
    score = f"{best['score']:g}" if best else ""
    assumed = " ".join(f"{name}={value}" for name, value in result.get("assumed", {}).items())
    said = [result.get("reason", ""), " ".join(result.get("unread", ())), assumed]
    conflict = result.get("conflict")
    ending = [score, evidence, others, *said, problem.get("code", ""), problem.get("detail", "")]
    ending.append(str(MatchConflict.model_validate(conflict)) if conflict else "")
    return [result["decision"] or _ERROR, *fields, *ending]
