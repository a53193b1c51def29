"""`watchlists`: keep lists of companies, which webhooks and `events follow` select by."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer

from company_registry.cli.files import HeaderRow, SheetName, read_file
from company_registry.cli.options import App
from company_registry.cli.output import Column
from company_registry.cli.session import Country, Exit, Session
from company_registry.client import Client
from company_registry.spreadsheets import Row, Sheet, country_of, term_of
from company_registry.watchlist_models import Watchlist, WatchlistChange
from company_registry.watchlist_operations import MAX_CHANGED

app = App(help="Keep lists of companies, such as your customers.")

WatchlistId = Annotated[str, typer.Argument(help="Id of the list, wl_…", metavar="WATCHLIST")]
Companies = Annotated[
    list[str], typer.Argument(help="dk:12345674, no:123456785, …", metavar="[COMPANY]...")
]
Files = Annotated[
    list[Path],
    typer.Option(
        "--file",
        "-f",
        help="File with a company in each line, or XLSX or CSV with a header and columns of "
        "country and registration number; of the output of match, the rows decided match. - is "
        "standard input. Repeatable.",
    ),
]
OfCountry = Annotated[
    Country | None, typer.Option("--country", help="Register of rows without a country.")
]
Description = Annotated[str | None, typer.Option(help="A word for yourself.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_KEY: Final = re.compile(r"(?i)(dk|no):[0-9]{8,9}")
#: Columns that this package writes.
_OWN: Final = ("company_vat", "vat")
_OWN_COUNTRY: Final = ("company_country",)


@app.add("list")
def list_watchlists(session: Session) -> None:
    """List the watchlists, newest first."""
    with session.client() as client:
        found = client.list_watchlists()
    rows = [(each.id, str(each.size), each.name, each.description) for each in found]
    columns = (Column("Id", whole=True), "Companies", "Name", Column("Description", rank=1))
    session.show(found, lambda: session.table(*columns, rows=rows))


@app.add("create")
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name of the list.")],
    *,
    description: Description = None,
) -> None:
    """Create a list without companies; add them with the command add."""
    with session.client() as client:
        created = client.create_watchlist(name, description=description)
    session.show(created, lambda: _show(session, created))


@app.add("show")
def show(
    session: Session,
    watchlist: WatchlistId,
    *,
    companies: Annotated[
        bool, typer.Option("--companies", help="Print its companies, one in each line.")
    ] = False,
) -> None:
    """Show a list, or its companies."""
    with session.client() as client:
        if companies:
            for company in client.watched(watchlist):
                typer.echo(company)
            return
        found = client.get_watchlist(watchlist)
    session.show(found, lambda: _show(session, found))


@app.add("add")
def add(  # noqa: PLR0913 (the command's options)
    session: Session,
    watchlist: WatchlistId,
    companies: Companies = [],  # noqa: B006 (Typer copies it)
    *,
    files: Files = [],  # noqa: B006
    country: OfCountry = None,
    sheet: SheetName = None,
    header_row: HeaderRow = None,
) -> None:
    """Add companies in any number. The exit status is 1 if no register has some of them."""

    def change(client: Client, part: Sequence[str]) -> WatchlistChange:
        return client.change_watched(watchlist, add=part)

    read = (_read(session, file, country, sheet, header_row) for file in files)
    _change(session, companies, read, change)


@app.add("remove")
def remove(  # noqa: PLR0913 (the command's options)
    session: Session,
    watchlist: WatchlistId,
    companies: Companies = [],  # noqa: B006 (Typer copies it)
    *,
    files: Files = [],  # noqa: B006
    country: OfCountry = None,
    sheet: SheetName = None,
    header_row: HeaderRow = None,
) -> None:
    """Remove companies in any number; those that the list does not have change nothing."""

    def change(client: Client, part: Sequence[str]) -> WatchlistChange:
        return client.change_watched(watchlist, remove=part)

    read = (_read(session, file, country, sheet, header_row) for file in files)
    _change(session, companies, read, change)


@app.add("delete")
def delete(session: Session, watchlist: WatchlistId, *, yes: Yes = False) -> None:
    """Delete a list, unless a webhook uses it."""
    session.confirm(f"Delete {watchlist} with its companies?", yes=yes)
    with session.client() as client:
        client.delete_watchlist(watchlist)
    session.note("Deleted.")


def _change(
    session: Session,
    companies: Sequence[str],
    read: Iterable[Iterator[str]],
    change: Callable[[Client, Sequence[str]], WatchlistChange],
) -> None:
    """Changes a list by as many requests as it takes, and prints the sum of their effects."""
    found = list(dict.fromkeys((*companies, *chain.from_iterable(read))))
    if not found:
        session.fail("give companies, such as dk:12345674, or --file", Exit.USAGE)
    done = WatchlistChange(added=0, present=0, removed=0, size=0)
    with session.client() as client:
        for first in range(0, len(found), MAX_CHANGED):
            done = _sum(done, change(client, found[first : first + MAX_CHANGED]))
    session.show(done, lambda: _show_change(session, done))
    if done.unknown:
        raise typer.Exit(Exit.FAILED)


def _sum(before: WatchlistChange, more: WatchlistChange) -> WatchlistChange:
    return WatchlistChange(
        added=before.added + more.added,
        present=before.present + more.present,
        removed=before.removed + more.removed,
        size=more.size,
        unknown=before.unknown + more.unknown,
    )


def _show_change(session: Session, done: WatchlistChange) -> None:
    session.note(
        f"{done.added} added, {done.present} there before, {done.removed} removed; "
        f"the list has {done.size}."
    )
    if done.unknown:
        session.note(f"{len(done.unknown)} are in no register:")
    for company in done.unknown:
        typer.echo(company)


def _read(
    session: Session,
    file: Path,
    country: Country | None,
    name: str | None,
    header_row: int | None,
) -> Iterator[str]:
    """The companies in a file: keys anywhere in it, else the rows of a spreadsheet."""
    sheet = read_file(session, file, name, header_row)
    cells = (*sheet.header, *(cell for row in sheet.rows for cell in row.cells))
    keys = [cell.strip().lower() for cell in cells if _KEY.fullmatch(cell.strip())]
    return iter(keys) if keys else _of_rows(session, file, sheet, country)


def _of_rows(session: Session, file: Path, sheet: Sheet, country: Country | None) -> Iterator[str]:
    own = {name: place for place, name in enumerate(sheet.header)}
    numbers = [*(own[name] for name in _OWN if name in own), *sheet.places("vat")]
    if not numbers:
        session.fail(f"{file} has no company and no column of registration numbers", Exit.USAGE)
    countries = [*(own[name] for name in _OWN_COUNTRY if name in own), *sheet.places("country")]
    if country is None and not countries:
        session.fail(f"{file} has no column of countries: give --country", Exit.USAGE)
    decision = own.get("decision")
    for row in sheet.rows:
        # A row that a person has yet to review is no customer.
        if decision is not None and row.cells[decision] != "match":
            continue
        number = "".join(filter(str.isdigit, term_of(row.cells[numbers[0]])))
        place = _country(row, countries) or country
        if number and place is not None:
            yield f"{place}:{number}"


def _country(row: Row, places: Sequence[int]) -> str | None:
    return country_of(row.cells[places[0]]) if places else None


def _show(session: Session, watchlist: Watchlist) -> None:
    rows = [
        ("Id", watchlist.id),
        ("Name", watchlist.name),
        ("Description", watchlist.description),
        ("Companies", str(watchlist.size)),
        ("Created", watchlist.created_at),
        ("Updated", watchlist.updated_at),
    ]
    session.table(Column("Field", whole=True), "Value", rows=rows)
