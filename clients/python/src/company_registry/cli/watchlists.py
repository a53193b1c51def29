"""`watchlists`: keep lists of companies, which webhooks and `events follow` select by."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from company_registry.cli.output import Column, as_json, plain, printable
from company_registry.cli.session import READ_COUNTRY, App, Country, Exit, Session
from company_registry.cli.spreadsheets import HeaderRow, SheetName, read_file
from company_registry.client import Client
from company_registry.columns import Results, results_in, text_in
from company_registry.spreadsheets import Row, Sheet, term_of
from company_registry.watchlist_models import Watchlist, WatchlistChange
from company_registry.watchlist_operations import MAX_CHANGED

app = App(help="Keep lists of companies, such as your customers.")

WatchlistId = Annotated[
    str, typer.Argument(help="Id of the list, wl_…, or its name.", metavar="WATCHLIST")
]
Companies = Annotated[
    list[str],
    typer.Argument(help="dk:12345674, no:123456785, … or a file of them.", metavar="[COMPANY]..."),
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
    Country | None,
    typer.Option("--country", help="Register of rows without a country.", **READ_COUNTRY),
]
Description = Annotated[str | None, typer.Option(help="A word for yourself.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_ID: Final = "wl_"


def watchlist_id(client: Client, text: str) -> str:
    """Returns the id of a list that is given by its id or name; raises ValueError."""
    if text.startswith(_ID):
        return text
    lists = client.list_watchlists()
    found = [each.id for each in lists if each.name.casefold() == text.strip().casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"several watchlists have the name {text}: {', '.join(found)}")
    near = get_close_matches(text, [each.name for each in lists], n=1)
    meant = f"; did you mean {near[0]}?" if near else "; watchlists list shows yours"
    raise ValueError(f"you have no watchlist with the id or name {text}{meant}")


#: A column without a known header is recognised by these, an only column also by a bare number.
_KEY: Final = re.compile(r"(?i)(dk|no):[0-9]{8,9}")
_NUMBER: Final = re.compile(r"(?:[0-9][ .-]?){7,}")


class Period(StrEnum):
    """When changes are sent."""

    DAILY = "daily"
    IMMEDIATE = "immediate"


class _Entry(NamedTuple):
    """A company as it is written, for the service to read."""

    text: str
    #: Where it is written: the file and its row; empty for an argument.
    file: str = ""
    row: int = 0


#: The fault of an entry.
_Fault = dict[str, str | int]


@app.add("list")
def list_watchlists(
    session: Session,
    *,
    company: Annotated[
        str | None, typer.Option(help="Only lists that have this company, such as dk:12345674.")
    ] = None,
) -> None:
    """List the watchlists, newest first."""
    with session.client() as client:
        found = client.list_watchlists(company=company)
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
            for company in client.watched(watchlist_id(client, watchlist)):
                typer.echo(company)
            return
        found = client.get_watchlist(watchlist_id(client, watchlist))
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
    """Add companies in any number, as people write them, also those of a file.

    A row that names no company is printed, and the rest is added. The exit status is 1 for such a
    row, and if no register has some of the companies.
    """

    place = cache(partial(_place, watchlist))

    def change(client: Client, part: Sequence[str]) -> WatchlistChange:
        return client.change_watched(place(client), add=part, country=country, skip_invalid=True)

    named, found = _without_files(companies, files)
    read = (_read(session, file, sheet, header_row) for file in found)
    _change(session, named, read, change)


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

    place = cache(partial(_place, watchlist))

    def change(client: Client, part: Sequence[str]) -> WatchlistChange:
        return client.change_watched(place(client), remove=part, country=country, skip_invalid=True)

    named, found = _without_files(companies, files)
    read = (_read(session, file, sheet, header_row) for file in found)
    _change(session, named, read, change)


@app.add("digests")
def list_digests(session: Session, watchlist: WatchlistId) -> None:
    """List the e-mail addresses that the list's changes are sent to."""
    with session.client() as client:
        found = client.list_digests(watchlist_id(client, watchlist))
    rows = [
        (each.id, each.address, each.period, each.ended_reason or each.state, each.sent_at)
        for each in found.digests
    ]
    columns = (Column("Id", whole=True), "Address", "Period", "State", Column("Sent", rank=1))
    session.show(found, lambda: session.table(*columns, rows=rows))


@app.add("send-to")
def send_to(  # noqa: PLR0913 (the command's options)
    session: Session,
    watchlist: WatchlistId,
    address: Annotated[str, typer.Argument(help="E-mail address, which has to confirm.")],
    *,
    period: Annotated[Period, typer.Option(help="Daily, or within a minute.")] = Period.DAILY,
    events: Annotated[
        list[str],
        typer.Option("--event", help="A type of event such as owners.*; all unless given."),
    ] = [],  # noqa: B006 (Typer copies it)
    fields: Annotated[
        list[str], typer.Option("--field", help="A changed field such as name; all unless given.")
    ] = [],  # noqa: B006
) -> None:
    """Send the list's changes to an e-mail address."""
    with session.client() as client:
        digest = client.add_digest(
            watchlist_id(client, watchlist),
            address,
            period=period.value,
            events=events,
            fields=fields,
        )
    session.show(digest, lambda: session.note(f"{digest.address}: {digest.state}, {digest.id}"))


@app.add("stop-sending")
def stop_sending(
    session: Session,
    watchlist: WatchlistId,
    digest: Annotated[str, typer.Argument(help="Id of the digest, dg_…", metavar="DIGEST")],
) -> None:
    """Stop sending to an e-mail address, and delete it."""
    with session.client() as client:
        client.delete_digest(watchlist_id(client, watchlist), digest)
    session.note("Deleted.")


@app.add("feed")
def feed(
    session: Session,
    watchlist: WatchlistId,
    *,
    end: Annotated[bool, typer.Option("--end", help="End the feed: its address is gone.")] = False,
    yes: Yes = False,
) -> None:
    """Give the list an Atom feed with a private address, which is shown only this once.

    An address that the feed had before is not valid any more.
    """
    with session.client() as client:
        found = client.get_watchlist(watchlist_id(client, watchlist))
        if end:
            client.end_feed(found.id)
            session.note("Ended.")
            return
        if found.has_feed:
            session.confirm(f"End the present address of the feed of {found.name}?", yes=yes)
        address = client.renew_feed(found.id)
    session.show(address, lambda: typer.echo(address.url))


@app.add("delete")
def delete(session: Session, watchlist: WatchlistId, *, yes: Yes = False) -> None:
    """Delete a list, unless a webhook uses it."""
    session.confirm(f"Delete {watchlist} with its companies?", yes=yes)
    with session.client() as client:
        client.delete_watchlist(watchlist_id(client, watchlist))
    session.note("Deleted.")


def _place(watchlist: str, client: Client) -> str:
    return watchlist_id(client, watchlist)


def _without_files(
    companies: Sequence[str], files: Sequence[Path]
) -> tuple[Sequence[str], Sequence[Path]]:
    # No company is written like the name of a file that is there.
    named = [text for text in companies if not Path(text).is_file()]
    return named, [*files, *(Path(text) for text in companies if text not in named)]


def _change(
    session: Session,
    companies: Sequence[str],
    read: Iterable[Iterable[_Entry]],
    change: Callable[[Client, Sequence[str]], WatchlistChange],
) -> None:
    given = [*map(_Entry, companies), *chain.from_iterable(read)]
    # The first of equal ones, and each that is empty.
    first: dict[object, _Entry] = {}
    for each in given:
        first.setdefault(each.text or each, each)
    found = list(first.values())
    if not found:
        session.fail("give companies, such as dk:12345674, or --file", Exit.USAGE)
    faults = [_fault(each, _NO_NUMBER) for each in found if not each.text]
    done = WatchlistChange(added=0, present=0, removed=0, size=0)
    with session.client() as client:
        for part in _parts([each for each in found if each.text]):
            changed = change(client, [each.text for each in part])
            faults += [_fault(part[one.place], one.message) for one in changed.invalid]
            done = _sum(done, changed)
    faults.sort(key=lambda one: (one["file"], one["row"]))
    session.show(_document(done, faults), lambda: _show_change(session, done, faults))
    if done.unknown or faults:
        raise typer.Exit(Exit.FAILED)


_NO_NUMBER: Final = "the row has no registration number"
#: Bytes of the companies of a request; the service takes 256 KiB.
_MAX_BYTES: Final = 200_000


def _parts(entries: Sequence[_Entry]) -> Iterator[list[_Entry]]:
    part: list[_Entry] = []
    size = 0
    for each in entries:
        length = len(as_json(each.text).encode()) + 1
        if part and (len(part) == MAX_CHANGED or size + length > _MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += length
    if part:
        yield part


def _fault(entry: _Entry, message: str) -> _Fault:
    return {"file": entry.file, "row": entry.row, "value": entry.text, "message": message}


def _document(done: WatchlistChange, faults: Sequence[_Fault]) -> dict[str, object]:
    return {**plain(done), "invalid": list(faults)}


def _sum(before: WatchlistChange, more: WatchlistChange) -> WatchlistChange:
    return WatchlistChange(
        added=before.added + more.added,
        present=before.present + more.present,
        removed=before.removed + more.removed,
        size=more.size,
        unknown=before.unknown + more.unknown,
    )


def _show_change(session: Session, done: WatchlistChange, faults: Sequence[_Fault]) -> None:
    session.note(
        f"{done.added} added, {done.present} there before, {done.removed} removed; "
        f"the list has {done.size}."
    )
    if faults:
        session.note(f"{len(faults)} cannot be read:")
    for one in faults:
        place = f"{one['file']} row {one['row']}: " if one["row"] else ""
        typer.echo(printable(f"{place}{one['value']} – {one['message']}"))
    if done.unknown:
        session.note(f"{len(done.unknown)} are in no register:")
    for company in done.unknown:
        typer.echo(company)


def _read(session: Session, file: Path, name: str | None, header_row: int | None) -> list[_Entry]:
    sheet = read_file(session, file, name, header_row)
    own = results_in(sheet.header)
    # Its own columns come first; a header may name them in another way, too.
    numbers = _once(() if own is None else (own.number,), sheet.places("vat"))
    if numbers:
        stated = None if own is None else own.country
        countries = _once(() if stated is None else (stated,), sheet.places("country"))
        _say_columns(session, sheet, numbers, countries, own)
        return list(_of_rows(file, sheet, numbers, countries, own))
    lines = [Row(sheet.header, number=sheet.header_row), *sheet.rows]
    form = _NUMBER if len(sheet.header) == 1 else _KEY
    for place in range(len(sheet.header)):
        if any(form.search(line.cells[place]) for line in lines):
            return list(_of_lines(file, lines, place))
    return session.fail(f"{file} has no company and no column of registration numbers", Exit.USAGE)


def _once(first: Iterable[int], others: Iterable[int]) -> list[int]:
    return list(dict.fromkeys((*first, *others)))


def _of_lines(file: Path, lines: Sequence[Row], place: int) -> Iterator[_Entry]:
    for line in lines:
        text = term_of(line.cells[place])
        if text and (line is not lines[0] or any(map(str.isdigit, text))):
            yield _Entry(text, str(file), line.number)


def _say_columns(
    session: Session,
    sheet: Sheet,
    numbers: Sequence[int],
    countries: Sequence[int],
    own: Results | None,
) -> None:
    decision = [] if own is None or own.decision is None else [own.decision]
    used = [*numbers, *countries, *decision]
    unused = [name for place, name in enumerate(sheet.header) if place not in used]
    if unused:
        named = ", ".join(sheet.header[place] for place in used)
        session.note(f"Columns: {named}; not used: {', '.join(unused)}")


def _of_rows(
    file: Path,
    sheet: Sheet,
    numbers: Sequence[int],
    countries: Sequence[int],
    own: Results | None,
) -> Iterator[_Entry]:
    for row in sheet.rows:
        # A row that a person has yet to review is no customer.
        if own and not own.is_decided(row.cells):
            continue
        number = text_in(row.cells, "number", numbers)
        country = text_in(row.cells, "country", countries)
        text = f"{country}:{number}" if country and number else number
        yield _Entry(text, str(file), row.number)


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
