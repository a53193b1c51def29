"""`lookup`, `search` and `suggest`."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from company_registry import models
from company_registry.cli.session import Session
from company_registry.models import Company, CompanySummary, Share


class Include(StrEnum):
    """Typer takes a list of an enumeration, and not of a Literal."""

    OWNERS = "owners"
    ROLES = "roles"
    PRODUCTION_UNITS = "production_units"
    EINVOICING = "einvoicing"
    ALTERNATIVES = "alternatives"


CountryArgument = Annotated[models.Country, typer.Argument(help="The register.", show_choices=True)]
Included = Annotated[
    list[Include], typer.Option("--include", "-i", help="Show more; may be repeated.")
]


def lookup(
    context: typer.Context,
    country: CountryArgument,
    term: Annotated[str, typer.Argument(help="A registration number, or a term of --by.")],
    by: Annotated[models.SearchType, typer.Option(help="The type of the term.")] = "vat",
    include: Included = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Show the company with a registration number, or another identifier."""
    session: Session = context.obj
    with session.client() as client:
        company = client.lookup(
            country,
            term,
            by=by,
            include=[each.value for each in include],
        )
    session.show(company, lambda: _show(session, company))


def search(
    context: typer.Context,
    country: CountryArgument,
    text: Annotated[list[str], typer.Argument(help="A number, name, address or identifier.")],
    include: Included = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Find a company by anything, and show other companies that match."""
    session: Session = context.obj
    with session.client() as client:
        company = client.search(
            country,
            " ".join(text),
            include=[each.value for each in include],
        )
    session.show(company, lambda: _show(session, company))


def suggest(
    context: typer.Context,
    country: CountryArgument,
    text: Annotated[list[str], typer.Argument(help="A partly typed name.")],
    limit: Annotated[int, typer.Option(min=1, max=20)] = 10,
) -> None:
    """List the companies that a partly typed name may mean."""
    session: Session = context.obj
    with session.client() as client:
        found = client.suggest(country, " ".join(text), limit=limit)
    session.show(found, lambda: _show_summaries(session, found))


def _show(session: Session, company: Company) -> None:
    session.table("Field", "Value", rows=_facts(company))
    _show_people(session, company)
    if company.production_units is not None:
        rows = [
            (unit.number, unit.name, unit.status, unit.address and unit.address.text)
            for unit in company.production_units
        ]
        session.table("Number", "Name", "Status", "Address", rows=rows, title="\nProduction units")
    if company.einvoicing is not None:
        entries = [(each.identifier, len(each.document_types)) for each in company.einvoicing]
        session.table("Identifier", "Document types", rows=entries, title="\nE-invoicing")
    if company.alternatives:
        _show_summaries(session, company.alternatives, title="\nOther companies that match")


def _show_summaries(
    session: Session, companies: tuple[CompanySummary, ...], *, title: str = ""
) -> None:
    rows = [(each.vat, each.name, each.city, each.status, each.score) for each in companies]
    session.table("Number", "Name", "City", "Status", "Score", rows=rows, title=title)


def _show_people(session: Session, company: Company) -> None:
    if company.owners is not None:
        owners = [
            (each.name, each.vat, each.role_text, _percent(each.share), _percent(each.votes))
            for each in company.owners
        ]
        session.table("Name", "Number", "Role", "Share", "Votes", rows=owners, title="\nOwners")
    if company.roles is not None:
        roles = [(each.name, each.role_text or each.role, each.since) for each in company.roles]
        session.table("Name", "Role", "Since", rows=roles, title="\nRoles")


def _percent(share: Share | None) -> str | None:
    if share is None:
        return None
    return f"{share.min} %" if share.min == share.max else f"{share.min}–{share.max} %"


def _facts(company: Company) -> Iterator[tuple[str, object]]:
    """The facts that are known."""
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
        ("Employees", _employees(company)),
        ("Founded", company.founded),
        ("Ended", company.ended),
        ("Capital", company.capital and f"{company.capital.amount} {company.capital.currency}"),
        ("Match", f"{company.match.type}, {company.match.score:g}"),
        ("Updated", company.source.updated_at),
    ]
    return ((name, value) for name, value in facts if value)


def _employees(company: Company) -> str | None:
    count = company.employees
    if count is None:
        return None
    if count.exact is not None:
        return str(count.exact)
    return f"{count.min}–{count.max}" if count.max is not None else f"{count.min} or more"
