"""`lookup`, `search`, `suggest`, and the lists of a company."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer

from company_registry import models
from company_registry.change_words import Line, heading_of, lines_of
from company_registry.cli.accounts import show_accounts
from company_registry.cli.output import YES_OR_NO, Column, plain
from company_registry.cli.session import READ_COUNTRY, TIMES, Exit, Session
from company_registry.group_models import Group, GroupLink
from company_registry.mirror_history import mirrored_history
from company_registry.models import (
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
    ANNUAL_ACCOUNTS = "annual_accounts"


CountryArgument = Annotated[
    models.Country, typer.Argument(help="The register: dk or no.", **READ_COUNTRY)
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


def suggest(  # noqa: PLR0913 (the command's options)
    session: Session,
    country: CountryArgument,
    text: Annotated[list[str], typer.Argument(help="A partly typed name.")],
    limit: Annotated[int, typer.Option(min=1, max=20)] = 10,
    *,
    status: Annotated[
        list[str], typer.Option(help="Of this status, such as active; may be repeated.")
    ] = [],  # noqa: B006 (Typer copies it)
    all_: Annotated[bool, typer.Option("--all", help="List them all.")] = False,
) -> None:
    """List the companies that a partly typed name may mean."""
    found: list[Suggestion] = []
    after: str | None = None
    with session.client() as client:
        while True:
            page = client.suggestion_page(
                country, " ".join(text), after=after, limit=20 if all_ else limit, status=status
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


#: Where shareholders are that the open data of a register does not have.
_KEPT: Final = {
    "no": " Norway's open data has no shareholders outside groups: they are in the company's own "
    "register (aksjeeierbok), and in the Tax Administration's (aksjonærregisteret).",
}


def owners(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List all owners of a company."""
    with session.client() as client:
        found = list(client.owners(country, vat))
        is_unknown = not found and client.owner_page(country, vat, limit=1).owners is None
    if is_unknown:
        session.note(f"The register does not say who owns this company.{_KEPT.get(country, '')}")
    session.show(None if is_unknown else found, lambda: _show_owners(session, found))


def roles(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
) -> None:
    """List the direction, the board and the other roles of a company."""
    with session.client() as client:
        found = list(client.roles(country, vat))
        is_unknown = not found and client.role_page(country, vat, limit=1).roles is None
    if is_unknown:
        session.note("The register does not say who has roles in this company.")
    session.show(None if is_unknown else found, lambda: _show_roles(session, found))


def group(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
    levels: Annotated[int, typer.Option(min=1, max=10, help="Upwards, and downwards.")] = 5,
) -> None:
    """Show the owners and subsidiaries of a company over several levels."""
    with session.client() as client:
        found = client.group(country, vat, levels=levels)
    session.show(found, lambda: _show_group(session, found))
    if found.truncated:
        session.note("The group goes on beyond what is shown.")
    if not found.shareholders_known:
        session.note(f"Shareholders are unknown.{_KEPT.get(country, '')}")


def _show_group(session: Session, found: Group) -> None:
    owners: dict[str, list[GroupLink]] = {}
    for link in found.links:
        owners.setdefault(link.owned, []).append(link)
    names = {each.vat: each.name for each in found.companies}
    names |= {each.id: each.name for each in found.holders}
    rows = [
        (
            each.level,
            each.vat,
            each.country or found.country,
            ", ".join(f"{one.country} {one.vat}" for one in each.other_records),
            each.name,
            each.city,
            each.status,
            _held(owners, names, each.vat),
        )
        for each in sorted(found.companies, key=lambda one: (one.level, one.name))
    ]
    places = (Column("Country", rank=4), Column("Also", rank=5))
    columns = ("Name", Column("City", rank=3), Column("Status", rank=2))
    session.table("Level", _NUMBER, *places, *columns, Column("Owned by", rank=1), rows=rows)
    if found.ultimate_owners is None:
        session.note("Ultimate owners are unknown: not every owner could be followed.")
        return
    ultimate = [
        (each.name, each.vat, each.share and each.share.text) for each in found.ultimate_owners
    ]
    if ultimate:
        session.table("Name", _NUMBER, "Share", rows=ultimate, title="Ultimate owners")


def _held(owners: Mapping[str, Sequence[GroupLink]], names: Mapping[str, str], vat: str) -> str:
    held = (
        f"{names.get(link.owner, link.owner)}" + (f" ({link.share.text})" if link.share else "")
        for link in owners.get(vat, ())
    )
    return ", ".join(held)


def registers(session: Session) -> None:
    """Show how fresh each source of the registers is."""
    with session.client() as client:
        found = client.registers()
    rows = [
        (
            each.source,
            *(at and f"{at:%Y-%m-%d %H:%M} UTC" for at in (each.current_until, each.loaded_at)),
        )
        for each in found
    ]
    columns = (Column("Source", whole=True), "Current until", Column("Loaded", rank=1))
    session.show(found, lambda: session.table(*columns, rows=rows))


def history(
    session: Session,
    country: CountryArgument,
    vat: Annotated[str, typer.Argument(help="The registration number.")],
    since: Annotated[
        datetime | None,
        typer.Option(formats=TIMES, help="Only what happened then or later."),
    ] = None,
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
            found = list(client.history(country, vat, since=since))
    elif since is not None:
        session.fail("--since is of the service, not of a mirror", Exit.USAGE)
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
    if company.annual_accounts is not None:
        show_accounts(session, company.annual_accounts, company.accounts_state, title="Accounts")


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
        (unit.number, unit.name, unit.status, unit.address and unit.address.text, _further(unit))
        for unit in units
    ]
    columns = (_NUMBER, "Name", Column("Status", rank=1), "Address", Column("Further", rank=2))
    session.table(*columns, rows=rows, title=title)


def _vat_words(since: str | None) -> str:
    """Returns that something is registered for VAT, and since when."""
    return f"registered for VAT since {since}" if since else "registered for VAT"


def _further(unit: ProductionUnit) -> str:
    """Returns what the registers say of few units."""
    vat = unit.voluntary_vat
    said = (
        unit.fax and f"fax {unit.fax}",
        unit.owner_changed and f"taken over {unit.owner_changed}",
        _vat_words(unit.vat_registered_since) if unit.vat_registered else None,
        f"voluntary VAT: {vat.text}" if vat else None,
    )
    return "; ".join(filter(None, said))


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
            each.country,
            each.since,
            each.source,
            _terms(each),
        )
        for each in owners
    ]
    columns = ("Name", _NUMBER, Column("Role", rank=2), "Share", Column("Votes", rank=1))
    more = (Column("Country", rank=5), Column("Since", rank=3), Column("Source", rank=4))
    session.table(*columns, *more, Column("Terms", rank=6), rows=rows, title=title)


def _terms(owner: Owner) -> str:
    """Returns the terms of an ownership that the register has of few owners."""
    contribution = owner.contribution
    said = (
        owner.share_class and f"class {owner.share_class}",
        owner.conditions,
        f"contribution {contribution.amount} {contribution.currency}" if contribution else None,
        owner.reported_on and f"reported {owner.reported_on}",
    )
    return "; ".join(filter(None, said))


def _show_roles(session: Session, roles: Sequence[Role], *, title: str = "") -> None:
    rows = [
        (
            each.name,
            each.role_text or each.role,
            each.since,
            each.elected_by_text or each.elected_by,
            each.approval,
            each.group_changed,
        )
        for each in roles
    ]
    columns = ("Name", "Role", Column("Since", whole=True))
    more = (Column("Elected by", rank=2), Column("Approval", rank=1), Column("Changed", rank=3))
    session.table(*columns, *more, rows=rows, title=title)


def _show_history(session: Session, entries: Sequence[HistoryEntry]) -> None:
    rows = [
        (entry.time, entry.production_unit, line.label, line.old, line.new)
        for entry in entries
        for line in _lines(entry)
    ]
    columns = (Column("Time", whole=True), Column("Unit", rank=2), "Change", "Old", "New")
    session.table(*columns, rows=rows)


def _lines(entry: HistoryEntry) -> Sequence[Line]:
    lines = lines_of([plain(change) for change in entry.changes])
    return lines or [Line("", heading_of(entry.type))]


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
        ("Fax", company.fax),
        ("E-mail", company.email),
        ("Website", company.website),
        ("Industry", company.industry and company.industry.description),
        ("Employees", company.employees and company.employees.text),
        ("With owners", with_owners(company)),
        ("Founded", company.founded),
        ("Ended", company.ended),
        ("Capital", company.capital and f"{company.capital.amount} {company.capital.currency}"),
        *_facts_of_law(company),
        ("Match", f"{company.match.type}, {company.match.score:g}"),
        ("Updated", company.source.updated_at),
    ]
    return ((name, value) for name, value in facts if value)


def _facts_of_law(company: Company) -> Iterator[tuple[str, object]]:
    """Yields what the registers say about capital, financial year, dissolution and duties."""
    if capital := company.capital:
        yield "Kind of capital", capital.type
        yield "Capital since", capital.since
        yield "Paid in", capital.paid_in
        yield "Fully paid", YES_OR_NO.get(capital.fully_paid)
        yield "Classes of shares", YES_OR_NO.get(capital.has_classes)
    if year := company.financial_year:
        yield "Financial year", f"{year.start} to {year.end}"
        yield "First period", year.first and year.first.text
        yield "Adjusted period", year.adjusted and year.adjusted.text
    if dissolution := company.dissolution:
        yield "Dissolved for", dissolution.text
        yield "Warned", dissolution.warned
        yield "Resumed", dissolution.resumed
    yield "Owners below 5 %", YES_OR_NO.get(company.minor_owners)
    yield "State-owned", YES_OR_NO.get(company.state_owned)
    yield "Money laundering act", "obliged" if company.aml_obliged else None
    yield "Social enterprise", YES_OR_NO.get(company.social_enterprise)
    if vat := company.voluntary_vat:
        yield "Voluntary VAT", vat.text
    yield "In a group", YES_OR_NO.get(company.in_group)
    if home := company.home_register:
        yield "Home register", home.text
    yield "Remarks", "; ".join(remark.text for remark in company.remarks)


def with_owners(company: Company) -> str | None:
    """Returns the number of employees and owners who work in a company, or its bounds."""
    counted = company.employees and company.employees.including_owners
    return counted.text if counted else None
