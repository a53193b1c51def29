"""Columns of a company in a spreadsheet."""

from collections.abc import Callable
from typing import Final

from company_registry.models import Company, Employees
from company_registry.spreadsheets import harmless

_ADVERTISING: Final = {True: "not wanted", False: "allowed", None: None}

#: By header. The headers are those that a spreadsheet of customers is recognised by.
COLUMNS: Final[dict[str, Callable[[Company], object]]] = {
    "Country": lambda company: company.country.upper(),
    "Registration number": lambda company: company.vat,
    "Name": lambda company: company.name,
    "Status": lambda company: company.status,
    "Status since": lambda company: company.status_since,
    "Legal form": lambda company: company.form and (company.form.description or company.form.code),
    "Industry code": lambda company: company.industry and company.industry.code,
    "Industry": lambda company: company.industry and company.industry.description,
    "Address": lambda company: company.address and company.address.street,
    "Postal code": lambda company: company.address and company.address.postal_code,
    "City": lambda company: company.address and company.address.city,
    "Municipality": lambda company: company.address and company.address.municipality,
    "Municipality code": lambda company: company.address and company.address.municipality_code,
    "Phone": lambda company: company.phone,
    "E-mail": lambda company: company.email,
    "Website": lambda company: company.website,
    "Activity": lambda company: company.activity,
    "Employees": lambda company: company.employees and _employees(company.employees),
    "Founded": lambda company: company.founded,
    "Ended": lambda company: company.ended,
    "Advertising": lambda company: _ADVERTISING.get(company.advertising_protected),
}


def cells(company: Company) -> list[str]:
    """Returns the cells of a company, of which none acts on the program that shows it."""
    found = (read(company) for read in COLUMNS.values())
    return [harmless("" if value is None else str(value)) for value in found]


def _employees(count: Employees) -> str:
    if count.exact is not None:
        return str(count.exact)
    return f"{count.min}-{count.max}" if count.max is not None else f"{count.min}+"
