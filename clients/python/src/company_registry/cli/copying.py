"""`export` and `mirror`."""

import inspect
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from company_registry.cli.companies import Included
from company_registry.cli.events import say_outage, until_interrupted
from company_registry.cli.finding import find, write_csv
from company_registry.cli.session import Country, Exit, Session
from company_registry.mirror_store import MirrorStore
from company_registry.mirrors import Mirror, verify
from company_registry.models import CompanyFilter
from company_registry.streams import FileCursor

_Country = Annotated[Country, typer.Option(help="The register.")]
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
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    **filters: Any,
) -> None:
    """Print every company of a register that fits the filters, in the order of their numbers.

    One JSON document on each line, unless --csv is given.
    """
    filter_ = CompanyFilter.model_validate(filters)
    options: Any = {
        "include": [each.value for each in include],
        "after": after,
        "cursor": None if cursor is None else FileCursor(cursor),
    }
    with session.client() as client:
        if as_csv:
            with closing(client.export(country.value, filter_, **options)) as companies:
                write_csv(companies)
            return
        with closing(client.export_lines(country.value, filter_, **options)) as lines:
            for line in lines:
                sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def _with_filters(command: Any) -> None:
    """Gives the command the options of `find` that filter."""
    own = inspect.signature(command, eval_str=True)
    theirs = inspect.signature(find, eval_str=True).parameters
    filters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
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
    start_over: Annotated[
        bool, typer.Option("--start-over", help="Copy again, as after an upgrade that says so.")
    ] = False,
) -> None:
    """Keep a copy of a register in an SQLite file.

    The first run copies the register, later ones apply the changes since. A run that was ended at
    any point is resumed by the next.
    """
    with session.client() as client, _readable(session, to):
        if check:
            _verify(session, verify(client, to, country.value))
            return
        with closing(MirrorStore(to, country.value)) as store, until_interrupted():
            if start_over:
                store.start_over()
            Mirror(
                client,
                store,
                on_copied=partial(_say_copied, session),
                on_outage=partial(say_outage, session),
            ).run(follow=follow)
            session.note(f"{store.counted().rows} companies")


def _verify(session: Session, verified: Any) -> None:
    rows = {"mirror": verified.mirror, "register": verified.register}
    session.show(
        {name: each._asdict() for name, each in rows.items()} | {"equal": verified.is_equal},
        lambda: session.table(
            "", "Companies", "Digest", rows=[(name, *each) for name, each in rows.items()]
        ),
    )
    if not verified.is_equal:
        session.fail("they differ; mirror --start-over copies the register again", Exit.FAILED)


def _say_copied(session: Session, count: int) -> None:
    if count % _NOTICE == 0:
        session.note(f"{count} companies")


@contextmanager
def _readable(session: Session, path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        session.fail(f"{path}: {error}", Exit.USAGE)
