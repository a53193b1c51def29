"""`lookup`, `search`, `suggest`, and the lists of a company."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from company_registry import models
from company_registry.cli.output import Column
from company_registry.cli.session import Exit, Session
from company_registry.mirror_history import mirrored_history
from company_registry.models import (
    Change,
    Company,
    CompanySummary,
    EinvoicingEntry,
    HistoryEntry,
    Owner,
    ProductionUnit,
    Role,
    Subsidiary,
    Suggestion,
)


class Include(StrEnum):
    """Typer takes a list of an enumeration, and not of a Literal."""

    OWNERS = "owners"
    ROLES = "roles"
    PRODUCTION_UNITS = "production_units"
    EINVOICING = "einvoicing"
    ALTERNATIVES = "alternatives"
    SUBSIDIARIES = "subsidiaries"


CountryArgument = Annotated[
    models.Country,
    typer.Argument(help="The register.", show_choices=True, case_sensitive=False),
]


def _parts(text: str) -> list[Include]:
    names = [name.strip().lower() for name in text.split(",")]
    if strange := [name for name in names if name not in tuple(Include)]:
        raise typer.BadParameter(f"{strange[0]!r} is not one of {', '.join(Include)}.")
    return [Include(name) for name in names]


def _joined(given: list[list[Include]]) -> list[Include]:
    return list(dict.fromkeys(chain.from_iterable(given)))


Included = Annotated[
    list[Include],
    typer.Option(
        "--include",
        "-i",
        parser=_parts,
        callback=_joined,
        autocompletion=lambda: list(Include),
        metavar="PARTS",
        help=f"Show more: {', '.join(Include)}; several with commas, or one each time.",
    ),
]


def lookup(  # noqa: PLR0913 (the options of a command)
    session: Session,
    country: CountryArgument,
    term: Annotated[str, typer.Argument(help="A registration number, or a term of --by.")],
    by: Annotated[models.SearchType, typer.Option(help="The type of the term.")] = "vat",
    include: Included = [],  # noqa: B006 (Typer copies it)
    as_of: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="As it was at the end of a day."),
    ] = None,
) -> None:
    """Show the company with a registration number, or another identifier."""
    with session.client() as client:
        company = client.lookup(
            country,
            term,
            by=by,
            include=[each.value for each in include],
            as_of=as_of and as_of.date(),
        )
    session.show(company, lambda: _show(session, company))
    _note_others(session, company)


def search(
    session: Session,
    country: CountryArgument,
    text: Annotated[list[str], typer.Argument(help="A number, name, address or identifier.")],
    include: Included = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Find a company by anything, and show other companies that match."""
    with session.client() as client:
        company = client.search(
            country,
            " ".join(text),
            include=[each.value for each in include],
        )
    session.show(company, lambda: _show(session, company))
    _note_others(session, company)


def _note_others(session: Session, company: Company) -> None:
    several = company.match.of_several
    if several is not None:
        rest = "" if company.alternatives else " --include alternatives lists others."
        session.note(f"{several}; this is one of them.{rest}")


def suggest(
    session: Session,
    country: CountryArgument,
    text: Annotated[list[str], typer.Argument(help="A partly typed name.")],
    limit: Annotated[int, typer.Option(min=1, max=20)] = 10,
    *,
    all_: Annotated[bool, typer.Option("--all", help="List them all.")] = False,
) -> None:
    """List the companies that a partly typed name may mean."""
    found: list[Suggestion] = []
    after: str | None = None
    with session.client() as client:
        while True:
            page = client.suggestion_page(
                country, " ".join(text), after=after, limit=20 if all_ else limit
            )
            found += page.suggestions
            after = page.cursor
            if after is None or not all_:
                break
    session.show(found, lambda: _show_suggestions(session, found))


def units(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List all production units of a company, the main one first."""
    with session.client() as client:
        found = list(client.production_units(country, vat))
    session.show(found, lambda: _show_units(session, found))


def einvoicing(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List all e-invoicing identifiers of a company, its own before those of its units."""
    with session.client() as client:
        found = list(client.einvoicing(country, vat))
    session.show(found, lambda: _show_einvoicing(session, found))


def owners(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List all owners of a company."""
    with session.client() as client:
        found = list(client.owners(country, vat))
    session.show(found, lambda: _show_owners(session, found))


def roles(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List the direction, the board and the other roles of a company."""
    with session.client() as client:
        found = list(client.roles(country, vat))
    session.show(found, lambda: _show_roles(session, found))


def history(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
    mirror: Annotated[
        Path | None,
        typer.Option(help="Read it from a file of mirror instead.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """List what a company did, newest first: changes that were seen, then days of its register.

    A mirror has the changes that it applied.
    """
    if mirror is None:
        with session.client() as client:
            found = list(client.history(country, vat))
    else:
        found = _mirrored(session, mirror, country, vat)
    session.show(found, lambda: _show_history(session, found))


def _mirrored(
    session: Session, path: Path, country: models.Country, vat: str
) -> list[HistoryEntry]:
    with readable(session, path):
        page = mirrored_history(path, country, vat)
    if page is None:
        session.fail(f"{path} has no company {country}:{vat}", Exit.NOT_FOUND)
    if page.known_from is None:
        session.note(f"{path} has no history yet: run mirror once.")
    else:
        session.note(f"Changes since {page.known_from:%Y-%m-%d %H:%M} UTC.")
    return list(page.history)


@contextmanager
def readable(session: Session, path: Path) -> Iterator[None]:
    """Ends the command if a file of SQLite cannot be read."""
    try:
        yield
    except sqlite3.Error as error:
        session.fail(f"{path}: {error}", Exit.USAGE)


#: Identifiers are never wrapped.
_NUMBER = Column("Number", whole=True)


def _show(session: Session, company: Company) -> None:
    session.table(Column("Field", whole=True), "Value", rows=_facts(company))
    if company.owners is not None:
        more = _more(company.owners, company.owners_total, "owners")
        _show_owners(session, company.owners, title=f"Owners{more}")
    if company.roles is not None:
        more = _more(company.roles, company.roles_total, "roles")
        _show_roles(session, company.roles, title=f"Roles{more}")
    if company.production_units is not None:
        more = _more(company.production_units, company.production_units_total, "units")
        _show_units(session, company.production_units, title=f"Production units{more}")
    if company.einvoicing is not None:
        more = _more(company.einvoicing, company.einvoicing_total, "einvoicing")
        _show_einvoicing(session, company.einvoicing, title=f"E-invoicing{more}")
    if company.alternatives:
        _show_summaries(session, company.alternatives, title="Other companies that match")
    if company.subsidiaries is not None:
        _show_subsidiaries(session, company, company.subsidiaries)


def _more(shown: Sequence[object], total: int | None, command: str) -> str:
    if not total or total <= len(shown):
        return ""
    return f" ({len(shown)} of {total}; the command {command} lists all)"


def _show_subsidiaries(session: Session, owner: Company, owned: Sequence[Subsidiary]) -> None:
    total, more = owner.subsidiaries_total, ""
    if total and total > len(owned):
        filters = f"--owned-by {owner.country}:{owner.vat} --status any"
        more = f" ({len(owned)} of {total}; find {filters} lists all)"
    rows = [
        (one.vat, one.name, one.role_text, one.share and one.share.text, one.status)
        for one in owned
    ]
    columns = (_NUMBER, "Name", Column("Role", rank=2), "Share", Column("Status", rank=1))
    session.table(*columns, rows=rows, title=f"Subsidiaries{more}")


def _show_units(session: Session, units: Sequence[ProductionUnit], *, title: str = "") -> None:
    rows = [
        (unit.number, unit.name, unit.status, unit.address and unit.address.text) for unit in units
    ]
    columns = (_NUMBER, "Name", Column("Status", rank=1), "Address")
    session.table(*columns, rows=rows, title=title)


def _show_suggestions(session: Session, companies: Sequence[Suggestion]) -> None:
    rows = [
        (each.vat, each.name, each.city, each.status, each.score, each.matched_name)
        for each in companies
    ]
    columns = (_NUMBER, "Name", Column("City", rank=1), Column("Status", rank=2))
    session.table(*columns, "Score", Column("Found as", rank=1), rows=rows)


def _show_summaries(
    session: Session, companies: tuple[CompanySummary, ...], *, title: str = ""
) -> None:
    rows = [(each.vat, each.name, each.city, each.status, each.score) for each in companies]
    columns = (_NUMBER, "Name", Column("City", rank=1), Column("Status", rank=2), "Score")
    session.table(*columns, rows=rows, title=title)


def _show_einvoicing(
    session: Session, entries: Sequence[EinvoicingEntry], *, title: str = ""
) -> None:
    rows = [(each.identifier, len(each.document_types)) for each in entries]
    columns = (Column("Identifier", whole=True), Column("Document types", rank=1))
    session.table(*columns, rows=rows, title=title)


def _show_owners(session: Session, owners: Sequence[Owner], *, title: str = "") -> None:
    rows = [
        (
            each.name,
            each.vat,
            each.role_text,
            each.share and each.share.text,
            each.votes and each.votes.text,
        )
        for each in owners
    ]
    columns = ("Name", _NUMBER, Column("Role", rank=2), "Share", Column("Votes", rank=1))
    session.table(*columns, rows=rows, title=title)


def _show_roles(session: Session, roles: Sequence[Role], *, title: str = "") -> None:
    rows = [(each.name, each.role_text or each.role, each.since) for each in roles]
    session.table("Name", "Role", Column("Since", whole=True), rows=rows, title=title)


def _show_history(session: Session, entries: Sequence[HistoryEntry]) -> None:
    rows = [
        (entry.time, entry.production_unit, change.field, _value(change.old), _value(change.new))
        for entry in entries
        for change in entry.changes or (Change(field=entry.type),)
    ]
    columns = (Column("Time", whole=True), Column("Unit", rank=2), "Field", "Old", "New")
    session.table(*columns, rows=rows)


def _value(value: object) -> str:
    """Returns a value of a field on a line: of an object its text or name, of a list each."""
    match value:
        case None:
            return ""
        case list():
            return "; ".join(map(_value, value))
        case dict():
            named = (value.get(name) for name in ("text", "name", "description", "code"))
            return next((str(each) for each in named if each), str(value))
        case _:
            return str(value)


def _facts(company: Company) -> Iterator[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        ("Name", company.name),
        ("Number", f"{company.country} {company.vat}"),
        ("Status", company.status),
        ("Form", company.form and company.form.description),
        ("Trade names", ", ".join(company.trade_names)),
        ("Former names", ", ".join(company.former_names)),
        ("Address", company.address and company.address.text),
        ("Postal address", company.postal_address and company.postal_address.text),
        ("Phone", company.phone),
        ("E-mail", company.email),
        ("Website", company.website),
        ("Industry", company.industry and company.industry.description),
        ("Employees", company.employees and company.employees.text),
        ("Founded", company.founded),
        ("Ended", company.ended),
        ("Capital", company.capital and f"{company.capital.amount} {company.capital.currency}"),
        ("Match", f"{company.match.type}, {company.match.score:g}"),
        ("Updated", company.source.updated_at),
    ]
    return ((name, value) for name, value in facts if value)
