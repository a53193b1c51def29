"""The number of employees that CVR counts by month, quarter and year."""

import re
from calendar import monthrange
from datetime import MAXYEAR, MINYEAR
from math import ceil

from common.contracts.company import Employees, FullTimeEquivalents, WithOwners
from ingest.registers.cvr.documents import CvrDocument, Employment

#: `ANTAL_20_49`; an open class is `ANTAL_1000_`, in some extracts `ANTAL_1000_999999`.
_INTERVAL = re.compile(r"ANTAL_(\d+)_(\d*)")
_NO_LIMIT = 999_999


def employees_of(document: CvrDocument) -> Employees | None:
    """Returns the employees of the newest count; None without any."""
    found = counted(document)
    with_owners = None if found is None else _with_owners(document)
    if found is None or with_owners is None:
        return None if found is None else found[1]
    return found[1].model_copy(update={"including_owners": with_owners})


def counted(document: CvrDocument) -> tuple[Employment, Employees] | None:
    """Returns the newest count, of the metadata if the history has none, and what it says.

    Of counts up to the same month, the one of the shorter period is more precise.
    """
    counts = [
        *document.erst_maanedsbeskaeftigelse,
        *document.maanedsbeskaeftigelse,
        *document.kvartalsbeskaeftigelse,
        *document.erst_aarsbeskaeftigelse,
        *document.aarsbeskaeftigelse,
    ] or document.newest.counts
    for count in sorted(counts, key=_last_month, reverse=True):
        employees = _employees(count)
        if employees is not None:
            return count, employees
    return None


def _with_owners(document: CvrDocument) -> WithOwners | None:
    """Returns the employees with the owners who work in it, of the newest year that has them."""
    newest = document.newest.nyeste_aarsbeskaeftigelse
    years = document.aarsbeskaeftigelse or (() if newest is None else (newest,))
    for year in sorted(years, key=lambda one: one.aar or 0, reverse=True):
        code = year.interval_kode_antal_inklusiv_ejere
        number = _number(code, year.antal_inklusiv_ejere)
        if number is not None:
            return WithOwners(**number)
    return None


def _last_month(count: Employment) -> tuple[int, int]:
    if count.maaned is not None:
        return count.aar or 0, count.maaned
    return count.aar or 0, 12 if count.kvartal is None else count.kvartal * 3


def _employees(count: Employment) -> Employees | None:
    number = _number(count.interval_kode_antal_ansatte, count.antal_ansatte)
    if number is None:
        return None
    full_time = _number(count.interval_kode_antal_aarsvaerk, count.antal_aarsvaerk)
    return Employees(
        **number,
        full_time_equivalents=None if full_time is None else FullTimeEquivalents(**full_time),
        as_of=_last_day(count),
    )


def _number(code: str | None, given: float | None) -> dict[str, int | None] | None:
    """Returns the bounds of a class and the number in whole ones: 1.98 is not 2.

    None without either.
    """
    exact = None if given is None else int(given)
    interval = _INTERVAL.fullmatch(code or "")
    if interval is None:
        return None if given is None else {"min": exact, "max": ceil(given), "exact": exact}
    most = int(interval[2]) if interval[2] else _NO_LIMIT
    bounds = {"min": int(interval[1]), "max": None if most >= _NO_LIMIT else most}
    return {**bounds, "exact": exact}


def _last_day(count: Employment) -> str | None:
    """Returns the last day of the month, quarter or year that was counted."""
    year, month = _last_month(count)
    if not MINYEAR <= year <= MAXYEAR or not 1 <= month <= 12:
        return None
    return f"{year:04}-{month:02}-{monthrange(year, month)[1]:02}"
