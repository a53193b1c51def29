"""`accounts`: the annual accounts of a company, years side by side; and as rows of an export."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple

import typer

from company_registry import models
from company_registry.cli.output import YES_OR_NO, Column
from company_registry.cli.session import READ_COUNTRY, Session
from company_registry.models import AccountsFigures, AnnualAccounts, Company

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
        models.Country, typer.Argument(help="The register: dk or no.", **READ_COUNTRY)
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


class AccountsRow(NamedTuple):
    """Accounts in an export, with their company."""

    company: Company
    accounts: AnnualAccounts

    @property
    def document(self) -> dict[str, Any]:
        """The accounts as the service sends them, after country, number and name."""
        accounts = self.accounts.model_dump(mode="json", exclude_unset=True)
        return {name: getattr(self.company, name) for name in _OF_COMPANY} | accounts


def rows_of(company: Company) -> list[AccountsRow]:
    """Returns the accounts of a company, newest first."""
    return [AccountsRow(company, one) for one in company.annual_accounts or ()]


_OF_COMPANY: Final = ("country", "vat", "name")


def _words(row: AccountsRow) -> str:
    return " | ".join(row.accounts.warnings)


def _figure(name: str, row: AccountsRow) -> object:
    return getattr(row.accounts.figures, name)


#: The columns of accounts as rows.
ACCOUNTS_COLUMNS: Final[dict[str, Callable[[AccountsRow], object]]] = {
    **{name: attrgetter(f"company.{name}") for name in _OF_COMPANY},
    "period_start": attrgetter("accounts.period.start"),
    "period_end": attrgetter("accounts.period.end"),
    "scope": attrgetter("accounts.scope"),
    "currency": attrgetter("accounts.currency"),
    **{name: partial(_figure, name) for name in AccountsFigures.model_fields},
    "basis": attrgetter("accounts.basis"),
    "standard": attrgetter("accounts.standard"),
    "class": attrgetter("accounts.size_class"),
    "liquidation": lambda row: YES_OR_NO.get(row.accounts.liquidation),
    "audit": attrgetter("accounts.audit.type"),
    "opinion": attrgetter("accounts.audit.opinion"),
    "going_concern": lambda row: YES_OR_NO.get(row.accounts.audit.going_concern),
    "published": lambda row: row.accounts.published and row.accounts.published.isoformat(),
    "correction": lambda row: YES_OR_NO.get(row.accounts.correction),
    "source": attrgetter("accounts.source.id"),
    "document": attrgetter("accounts.source.document"),
    "pdf": attrgetter("accounts.source.pdf"),
    "warnings": _words,
}
