"""`accounts`: the annual accounts of a company, years side by side."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated, Final

import typer

from company_registry import models
from company_registry.cli.output import Column
from company_registry.cli.session import Session
from company_registry.models import AccountsFigures, AnnualAccounts

#: Years in a table; a terminal has no room for more.
_YEARS: Final = 5
_SCOPES: Final = {"company": "Company", "group": "Group", "unknown": "Company or group, not told"}
#: The meaning of an empty list.
_STATES: Final = {
    "none": "The register has no accounts of it.",
    "unavailable": "No accounts of this kind of company are available.",
    "unknown": "Whether there are accounts is not known: the register was not asked yet.",
}


def accounts(
    session: Session,
    country: Annotated[
        models.Country,
        typer.Argument(help="The register.", show_choices=True, case_sensitive=False),
    ],
    vat: Annotated[str, typer.Argument(help="The registration number.")],
    years: Annotated[int, typer.Option(min=1, max=50, help="The last years alone.")] = _YEARS,
) -> None:
    """Show the annual accounts of a company, years side by side."""
    with session.client() as client:
        # A year has accounts of the company, of its group, and of an unknown one of these.
        page = client.accounts_page(country, vat, limit=min(3 * years, 100))
    found = _last(page.annual_accounts, years)
    session.show(found, lambda: show_accounts(session, found, page.accounts_state))


def _last(accounts: Sequence[AnnualAccounts], years: int) -> list[AnnualAccounts]:
    ends = sorted({one.period.end for one in accounts}, reverse=True)[:years]
    return [one for one in accounts if one.period.end in ends]


def show_accounts(
    session: Session, accounts: Sequence[AnnualAccounts], state: str | None, *, title: str = ""
) -> None:
    """Shows a table of each scope and currency, the oldest year first; or why there is none."""
    if not accounts:
        session.note(_STATES.get(state or "", _STATES["unknown"]))

    def table(one: AnnualAccounts) -> tuple[str, str]:
        return one.scope, one.currency or ""

    for (scope, currency), some in groupby(sorted(accounts, key=table), key=table):
        of_years = sorted(some, key=lambda one: one.period.end)[-_YEARS:]
        head = ", ".join(filter(None, (title, _SCOPES.get(scope, scope), currency)))
        columns = (Column("", whole=True), *(Column(_year(one), whole=True) for one in of_years))
        session.table(*columns, rows=_rows(of_years), title=head)
        for note in _notes(of_years):
            session.note(note)


def _year(accounts: AnnualAccounts) -> str:
    """Returns the year of a calendar year, and the last day of another period."""
    start, end = accounts.period.start, accounts.period.end
    is_calendar = (start.month, start.day, end.month, end.day) == (1, 1, 12, 31)
    return str(end.year) if is_calendar and start.year == end.year else str(end)


def _rows(accounts: Sequence[AnnualAccounts]) -> Iterable[tuple[str, ...]]:
    """Yields the figures that some year has; a missing one is a dash."""
    for name in AccountsFigures.model_fields:
        figures = [getattr(one.figures, name) for one in accounts]
        if any(figure is not None for figure in figures):
            yield name.replace("_", " ").capitalize(), *map(_grouped, figures)


def _grouped(figure: str | None) -> str:
    if figure is None:
        return "–"
    whole, point, rest = figure.partition(".")
    return f"{int(whole):,}{point}{rest}"


def _notes(accounts: Iterable[AnnualAccounts]) -> Iterable[str]:
    for one in accounts:
        facts = [
            "on liquidation" if one.liquidation else "",
            "from the accounts of the year after" if one.basis == "comparative" else "",
            "a correction" if one.correction else "",
            "going concern uncertain" if one.audit.going_concern else "",
            f"opinion {one.audit.opinion}" if one.audit.opinion not in (None, "unmodified") else "",
            "auditor's report missing" if one.audit.type == "missing" else "",
            *one.warnings,
        ]
        if any(facts):
            yield f"{_year(one)}: {', '.join(filter(None, facts))}"
