"""Number of employees of a Danish company or unit, by its newest count."""

import re

from common.contracts.company import Employees
from lookup.registers.cvr.documents import CvrDocument, Employment

#: `ANTAL_20_49`; an open class is `ANTAL_1000_`, in some extracts `ANTAL_1000_999999`.
_INTERVAL = re.compile(r"ANTAL_(\d+)_(\d*)")
_NO_LIMIT = 999_999


def employees_of(document: CvrDocument) -> Employees | None:
    """Returns the newest count, of the metadata if the history has none; None without any.

    Of counts up to the same month, the one of the shorter period is more precise.
    """
    counts = [
        *document.erst_maanedsbeskaeftigelse,
        *document.maanedsbeskaeftigelse,
        *document.kvartalsbeskaeftigelse,
        *document.aarsbeskaeftigelse,
    ] or document.newest.counts
    for count in sorted(counts, key=_last_month, reverse=True):
        employees = _employees(count)
        if employees is not None:
            return employees
    return None


def _last_month(count: Employment) -> tuple[int, int]:
    if count.maaned is not None:
        return count.aar or 0, count.maaned
    return count.aar or 0, 12 if count.kvartal is None else count.kvartal * 3


def _employees(count: Employment) -> Employees | None:
    interval = _INTERVAL.fullmatch(count.interval_kode_antal_ansatte or "")
    exact = count.antal_ansatte
    if interval is None:
        return None if exact is None else Employees(min=exact, max=exact, exact=exact)
    most = int(interval[2]) if interval[2] else _NO_LIMIT
    return Employees(min=int(interval[1]), max=None if most >= _NO_LIMIT else most, exact=exact)
