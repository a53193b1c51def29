"""Which of several companies that fit equally well is the answer (spec/decisions.md section 3)."""

from datetime import date
from typing import NamedTuple

from common.contracts.company import Company, Status


class Rank(NamedTuple):
    """Who comes first of companies that match equally well.

    Active before ended, and last of those that have not ended a foreign company's own record, whose
    branch here is the one that is meant; then larger, older, lower number.
    """

    status: Status
    #: As far as the register tells; of a class its lower end.
    employees: int
    founded: date | None
    number: int
    #: Whether it is the record of a foreign company (UTLA) beside that of its branch (NUF).
    is_foreign: bool = False


#: The Norwegian form of a foreign company's own record.
FOREIGN_FORM = "UTLA"


def rank_of(company: Company) -> Rank:
    employees = company.employees
    return Rank(
        status=company.status,
        employees=known_employees(employees.exact, employees.min) if employees else 0,
        founded=day_of(company.founded or company.registered),
        number=int(company.vat),
        is_foreign=company.form is not None and company.form.code == FOREIGN_FORM,
    )


def known_employees(exact: int | None, least: int | None) -> int:
    return exact if exact is not None else least or 0


def day_of(text: str | None) -> date | None:
    """A day of the contract; a register's impossible one ranks as none."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


#: Eight digits hold more employees than any country has.
_MOST = 99_999_999
_NEVER = "9999-12-31"
_LIFE = {Status.ACTIVE: "0", Status.ENDED: "2"}
_BETWEEN_ACTIVE_AND_ENDED = "1"


def sort_text(company: Company) -> str:
    """A company's rank as a text that sorts the better company first.

    MongoDB keeps it in an index, so that a phone number's answer is one indexed read.
    """
    rank = rank_of(company)
    life = _LIFE.get(rank.status, _BETWEEN_ACTIVE_AND_ENDED)
    employees = min(rank.employees, _MOST)
    founded = rank.founded.isoformat() if rank.founded else _NEVER
    return f"{life}|{_MOST - employees:08d}|{founded}|{rank.number:09d}"
