"""`find`, `codes`, `export` and `mirror`: lists of companies."""

import csv
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from company_registry import models
from company_registry.cli.accounts import ACCOUNTS_COLUMNS, rows_of
from company_registry.cli.batches import FOUND, included
from company_registry.cli.companies import Include, Included, readable
from company_registry.cli.events import say_outage, until_interrupted
from company_registry.cli.output import Column, text_of
from company_registry.cli.session import READ_COUNTRY, Country, Exit, Session
from company_registry.cli.watchlists import watchlist_id
from company_registry.client import Client
from company_registry.mirror_history import RETENTION
from company_registry.mirror_store import MirrorStore
from company_registry.mirrors import Mirror, verify
from company_registry.models import Company, CompanyFilter, CompanyPage
from company_registry.spreadsheets import harmless
from company_registry.streams import FileCursor

Reads = Callable[[Any], object]

#: Companies that people are shown, unless they ask for another number.
_SHOWN: Final = 20
_MAX_PAGE: Final = 100


class Has(StrEnum):
    """Parts that a company may have."""

    PHONE = "phone"
    EMAIL = "email"
    WEBSITE = "website"
    EINVOICING = "einvoicing"


class CodeKind(StrEnum):
    """The lists of codes."""

    INDUSTRIES = "industries"
    FORMS = "forms"
    MUNICIPALITIES = "municipalities"
    STATUSES = "statuses"
    ROLES = "roles"


Texts = list[str]
Day = str | None


def _set(help_: str) -> Any:
    return typer.Option(help=f"{help_}; may be repeated, or hold commas.")


def find(  # noqa: PLR0913 (the filters)
    session: Session,
    country: Annotated[
        list[Country], typer.Option(help="The register; both unless given.", **READ_COUNTRY)
    ] = [],  # noqa: B006
    q: Annotated[str | None, typer.Option("--query", "-q", help="Words of a name.")] = None,
    industry: Annotated[
        Texts, _set("Industry: the beginning of its code, 62, or words, software")
    ] = [],  # noqa: B006
    municipality: Annotated[Texts, _set("Municipality, its name or code")] = [],  # noqa: B006
    city: Annotated[Texts, _set("Town")] = [],  # noqa: B006
    postal_code: Annotated[Texts, _set("Postal code, or a range, 1000-1499")] = [],  # noqa: B006
    form: Annotated[Texts, _set("Legal form, 80, ApS or AS")] = [],  # noqa: B006
    status: Annotated[Texts, _set("Status, active unless given, or any")] = [],  # noqa: B006
    employees_min: Annotated[int | None, typer.Option(min=0)] = None,
    employees_max: Annotated[int | None, typer.Option(min=0)] = None,
    min_revenue: Annotated[
        int | None, typer.Option(help="Of the newest accounts, in their currency.")
    ] = None,
    max_equity: Annotated[
        int | None, typer.Option(help="Of the newest accounts; -1: lost.")
    ] = None,
    accounts_year: Annotated[Texts, _set("Year in which the newest accounts end")] = [],  # noqa: B006
    accounts_late: Annotated[
        bool | None, typer.Option(help="No accounts for a year longer than the law gives.")
    ] = None,
    founded_from: Annotated[Day, typer.Option(help="A day, 2026-01-31.")] = None,
    founded_to: Day = None,
    ended_from: Day = None,
    ended_to: Day = None,
    status_since_from: Annotated[
        Day, typer.Option(help="The first day of its status, such as bankrupt.")
    ] = None,
    status_since_to: Day = None,
    has: Annotated[list[Has], typer.Option(help="Only those with it; may be repeated.")] = [],  # noqa: B006
    vat_registered: Annotated[bool | None, typer.Option(help="Only Norway says it.")] = None,
    advertising_protected: Annotated[
        bool | None, typer.Option(help="Only Denmark says it; mailings need the negation.")
    ] = None,
    owned_by: Annotated[str | None, typer.Option(help="The owner, dk:12345678.")] = None,
    watchlist: Annotated[
        str | None, typer.Option(help="A watchlist, its id or name: its companies, of any status.")
    ] = None,
    sort: Annotated[
        models.FindSort | None, typer.Option(help="The order of the list; - is descending.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many; all with --csv or --json.")
    ] = None,
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
) -> None:
    """List the companies that fit filters, and their number."""
    given = {name: value for name, value in locals().items() if name in CompanyFilter.model_fields}
    filter_ = CompanyFilter.model_validate(given)
    if limit is None and not (as_csv or session.as_json):
        limit = _SHOWN
    with session.client() as client:
        filter_ = _named(client, filter_)
        first = client.find_page(filter_, sort=sort, limit=min(limit or _MAX_PAGE, _MAX_PAGE))
        companies = islice(_following(client, filter_, sort, first), limit)
        if session.as_json:
            for company in companies:
                session.print_json(company)
        elif as_csv:
            write_csv(companies)
        else:
            _show(session, list(companies))
    none = f", none in {' and '.join(first.none_in)}" if first.none_in else ""
    session.note(f"{first.total} companies{none}")
    for hint in first.did_you_mean:
        session.note(hint.text)
    for name in first.ambiguous:
        codes = ", ".join(name.codes)
        session.note(f"Several municipalities have the name {name.value}; their codes are {codes}.")


def _named(client: Client, filter_: CompanyFilter) -> CompanyFilter:
    """Returns the filter with the id of a watchlist that is given by its name."""
    if filter_.watchlist is None:
        return filter_
    return filter_.model_copy(update={"watchlist": watchlist_id(client, filter_.watchlist)})


def _following(
    client: Client, filter_: CompanyFilter, sort: models.FindSort | None, page: CompanyPage
) -> Iterable[Company]:
    yield from page.companies
    while page.cursor is not None:
        page = client.find_page(filter_, sort=sort, limit=_MAX_PAGE, after=page.cursor)
        yield from page.companies


def write_csv(companies: Iterable[Any], columns: Mapping[str, Reads] = FOUND) -> None:
    """Prints companies, or what else the columns read, as CSV, a row each."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(columns)
    for company in companies:
        out.writerow(harmless(text_of(read(company))) for read in columns.values())
    sys.stdout.flush()


def _chosen(
    session: Session, columns: str | None, known: Mapping[str, Reads]
) -> Mapping[str, Reads]:
    if columns is None:
        return known
    names = [name.strip().lower() for name in columns.split(",")]
    if strange := [name for name in names if name not in known]:
        near = get_close_matches(strange[0], known, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; the columns are {', '.join(known)}"
        session.fail(f"--columns: there is no {strange[0]}{meant}", Exit.USAGE)
    return {name: known[name] for name in names}


def _show(session: Session, companies: Sequence[Company]) -> None:
    rows = [
        (
            f"{each.country} {each.vat}",
            each.name,
            each.address and each.address.city,
            each.status,
            each.industry and each.industry.description,
        )
        for each in companies
    ]
    columns = (Column("Number", whole=True), "Name", Column("City", rank=1))
    session.table(*columns, Column("Status", rank=2), Column("Industry", rank=3), rows=rows)


def codes(
    session: Session,
    kind: Annotated[CodeKind, typer.Argument(help="The field.", metavar="LIST")],
    words: Annotated[list[str], typer.Argument(help="Only texts with all of these words.")] = [],  # noqa: B006
    country: Annotated[
        list[Country], typer.Option(help="The register; both unless given.", **READ_COUNTRY)
    ] = [],  # noqa: B006
) -> None:
    """List the codes that companies have in a field, with their texts and numbers of companies."""
    with session.client() as client:
        found = client.codes(kind.value, countries=[each.value for each in country])
    wanted = [word.casefold() for word in words]
    listed = [
        code
        for code in found
        if all(word in f"{code.code} {code.text} {code.text_en}".casefold() for word in wanted)
    ]
    if not listed and found:
        texts = {
            word for code in found for word in f"{code.text} {code.text_en}".casefold().split()
        }
        near = get_close_matches(" ".join(wanted), texts, n=3, cutoff=0.7)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        session.note(f"No text has {' '.join(words)}{meant}")
    if session.as_json:
        for code in listed:
            session.print_json(code)
        return
    rows = [
        (
            f"{each.country} {each.code}",
            each.text,
            each.short,
            each.text_en,
            "" if each.companies is None else f"{each.companies}",
        )
        for each in listed
    ]
    columns = (Column("Code", whole=True), "Text", Column("Short", rank=2))
    session.table(*columns, Column("English", rank=1), Column("Companies", rank=1), rows=rows)


_Country = Annotated[Country, typer.Option(help="The register.", **READ_COUNTRY)]
#: Companies between two notices of progress.
_NOTICE: Final = 50_000


def export(  # noqa: PLR0913 (the command's options)
    session: Session,
    /,
    country: _Country,
    include: Included = [],  # noqa: B006 (Typer copies it)
    after: Annotated[str | None, typer.Option(help="Registration number to go on after.")] = None,
    cursor: Annotated[
        Path | None,
        typer.Option(help="File for the place in the event feed, for events follow --cursor."),
    ] = None,
    *,
    accounts: Annotated[
        bool,
        typer.Option("--accounts", help="Print a row for each of the newest ten annual accounts."),
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns of the CSV and their order, with commas: vat,name,employees."),
    ] = None,
    **filters: Any,
) -> None:
    """Print every company of a register that fits the filters, in the order of their numbers.

    One JSON document on each line, unless --csv is given. What --include adds is a column too.
    With --accounts a row is a year of a company or of its group; --include adds nothing to it.
    """
    if accounts and include:
        session.fail("--accounts and --include exclude each other", Exit.USAGE)
    known = ACCOUNTS_COLUMNS if accounts else {**FOUND, **included(include)}
    chosen = _chosen(session, columns, known)
    if columns is not None and not as_csv:
        session.fail("--columns needs --csv", Exit.USAGE)
    filter_ = CompanyFilter.model_validate(filters)
    options: Any = {
        "include": [each.value for each in (Include.ANNUAL_ACCOUNTS,) * accounts or include],
        "after": after,
        "cursor": None if cursor is None else FileCursor(cursor),
    }
    with session.client() as client:
        filter_ = _named(client, filter_)
        if accounts or as_csv:
            with closing(client.export(country.value, filter_, **options)) as companies:
                rows = chain.from_iterable(map(rows_of, companies))
                if as_csv:
                    write_csv(rows if accounts else companies, chosen)
                else:
                    for row in rows:
                        session.print_json(row.document)
            return
        with closing(client.export_lines(country.value, filter_, **options)) as lines:
            for line in lines:
                sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


#: An export has every status, a list the active.
_ANY_STATUS: Final = Annotated[Texts, _set("Status, any unless given")]


def _with_filters(command: Any) -> None:
    own = inspect.signature(command, eval_str=True)
    theirs = inspect.signature(find, eval_str=True).parameters
    filters = [
        each.replace(
            kind=inspect.Parameter.KEYWORD_ONLY,
            annotation=_ANY_STATUS if name == "status" else each.annotation,
        )
        for name, each in theirs.items()
        if name in CompanyFilter.model_fields and name != "country"
    ]
    parameters = [each for each in own.parameters.values() if each.name != "filters"]
    command.__signature__ = own.replace(parameters=[*parameters, *filters])


_with_filters(export)


def mirror(  # noqa: PLR0913 (the command's options)
    session: Session,
    country: _Country,
    to: Annotated[Path, typer.Option(help="The SQLite file.", dir_okay=False)],
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Stay in step until Ctrl-C.")] = False,
    check: Annotated[
        bool, typer.Option("--verify", help="Compare it with a new copy; status 1 if unequal.")
    ] = False,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="Keep annual accounts too, from this run on.")
    ] = False,
    start_over: Annotated[
        bool, typer.Option("--start-over", help="Copy again, as after an upgrade that says so.")
    ] = False,
    history: Annotated[
        int,
        typer.Option(min=0, metavar="DAYS", help="How long changes are kept; 0 keeps none."),
    ] = RETENTION.days,
) -> None:
    """Keep a copy of a register in an SQLite file.

    The first run copies the register, later ones apply the changes since. A run that was ended at
    any point is resumed by the next. `history --mirror FILE` shows the changes of a company.
    """
    kept = timedelta(days=history)
    with session.client() as client, readable(session, to):
        if check:
            _verify(session, verify(client, to, country.value, history=kept))
            return
        with closing(MirrorStore(to, country.value, history=kept)) as store, until_interrupted():
            if start_over:
                store.start_over()
            if accounts:
                store.keep_accounts()
            Mirror(
                client,
                store,
                on_copied=partial(_say_copied, session),
                on_outage=partial(say_outage, session),
            ).run(follow=follow)
            session.note(f"{store.counted().rows} companies")


def _verify(session: Session, verified: Any) -> None:
    rows = {"mirror": verified.mirror, "register": verified.register}
    columns = ("", "Companies", "Accounts", "Digest")
    session.show(
        {name: each._asdict() for name, each in rows.items()} | {"equal": verified.is_equal},
        lambda: session.table(*columns, rows=[(name, *each) for name, each in rows.items()]),
    )
    if not verified.is_equal:
        session.fail("they differ; mirror --start-over copies the register again", Exit.FAILED)


def _say_copied(session: Session, count: int) -> None:
    if count % _NOTICE == 0:
        session.note(f"{count} companies")
