"""The rank of companies that match a lookup equally well (docs/decisions.md)."""

from datetime import date
from typing import NamedTuple

from common.contracts.company import Company, Status


class Rank(NamedTuple):
    """The order of companies that match equally well.

    Active before ended; a foreign company's own record after that of its branch; then larger,
    older, and the lower number.
    """

    status: Status
    #: According to the register; the lower end of a class.
    employees: int
    founded: date | None
    number: int
    #: True for the record of a foreign company (UTLA), whose branch (NUF) has its own.
    is_foreign: bool = False


#: The Norwegian form of a foreign company's own record.
FOREIGN_FORM = "UTLA"


def rank_of(company: Company) -> Rank:
    """Returns the rank of a company among those that match equally well."""
    employees = company.employees
    return Rank(
        status=company.status,
        employees=known_employees(employees.exact, employees.min) if employees else 0,
        founded=day_of(company.founded or company.registered),
        number=int(company.vat),
        is_foreign=company.form is not None and company.form.code == FOREIGN_FORM,
    )


def known_employees(exact: int | None, least: int | None) -> int:
    """Returns the exact number of employees, or else the lower end of a class, or 0."""
    return exact if exact is not None else least or 0


def day_of(text: str | None) -> date | None:
    """Returns the day, or none for a date that does not exist."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


#: Eight digits, more than the employees of any company.
_MAX_EMPLOYEES = 99_999_999
_NEVER = "9999-12-31"
_LIFE = {Status.ACTIVE: "0", Status.ENDED: "2"}
_BETWEEN_ACTIVE_AND_ENDED = "1"


def sort_text(company: Company) -> str:
    """Returns a company's rank as a text that sorts the better company first.

    MongoDB keeps it in an index, so that a lookup by phone is one indexed read.
    """
    rank = rank_of(company)
    life = _LIFE.get(rank.status, _BETWEEN_ACTIVE_AND_ENDED)
    employees = min(rank.employees, _MAX_EMPLOYEES)
    founded = rank.founded.isoformat() if rank.founded else _NEVER
    return f"{life}|{_MAX_EMPLOYEES - employees:08d}|{founded}|{rank.number:09d}"
