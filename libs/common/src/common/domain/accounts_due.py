"""The day until which a company's next annual accounts are not late."""

from collections.abc import Mapping
from typing import Any, Final

from common.domain.countries import Country

#: Legal forms that must file accounts.
FILING_FORMS: Final[Mapping[str, frozenset[str]]] = {
    Country.DK: frozenset({"60", "70", "80", "81", "90", "290"}),
    Country.NO: frozenset({"AS", "ASA", "SE", "BRL", "BBL", "SPA", "GFS", "STI", "SF"}),
}
#: A first year may have 18 months.
_FIRST_YEAR: Final = 18
#: Accounts are late a year after the year that follows the newest ones.
_LATE: Final = 12


def accounts_due(company: Mapping[str, Any], end: str) -> str:
    """Returns the day after which accounts are late; empty if none must be filed, or unknown.

    `company` is its JSON, and `end` the last day of its newest accounts, or empty. A company that
    is bankrupt or has ended files none. Whether a Danish company without accounts has never filed
    some is not known of it alone.
    """
    country = company.get("country", "")
    form = (company.get("form") or {"code": ""})["code"]
    must_file = form in FILING_FORMS.get(country, ())
    if not must_file or company["status"] in ("ended", "bankrupt"):
        return ""
    told = f"{year}-12-31" if (year := company.get("accounts")) else ""
    if last := end if end[:4] >= told[:4] else told:
        return _months_after(last, 12 + _LATE)
    founded = company.get("founded") or company.get("registered")
    is_told = country == Country.NO
    return _months_after(founded, _FIRST_YEAR + _LATE) if founded and is_told else ""


def _months_after(day: str, months: int) -> str:
    years, month = divmod(int(day[5:7]) - 1 + months, 12)
    # Days are compared as texts, so that the 31st of a month that has 30 days is none too early.
    return f"{int(day[:4]) + years:04d}-{month + 1:02d}{day[7:10]}"
