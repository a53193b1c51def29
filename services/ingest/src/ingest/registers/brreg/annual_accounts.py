"""Annual accounts of one company as Regnskapsregisteret answers; pure.

An answer has up to three years of a company and of its group, in any order. Amounts are in whole
units of the currency. An absent figure is no zero, and whole parents may be absent. Nothing is
repaired: what looks wrong is a warning.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, NoReturn

from common.contracts.accounts import (
    AccountingStandard,
    AccountsFigures,
    AccountsPeriod,
    AccountsScope,
    AccountsSource,
    AnnualAccounts,
    Audit,
    AuditType,
)
from common.domain.times import read_day
from ingest.records.records import Raw, RecordRejected

_RESULT: Final = "resultatregnskapResultat"
_OPERATIONS: Final = f"{_RESULT}.driftsresultat"
_DEBTS: Final = "egenkapitalGjeld.gjeldOversikt"
#: Of each figure the path of its number. `gross_profit` and `employees` are not in the answer.
PATHS: Final[Mapping[str, str]] = {
    "revenue": f"{_OPERATIONS}.driftsinntekter.sumDriftsinntekter",
    "employee_expense": f"{_OPERATIONS}.driftskostnad.loennskostnad",
    # A number named as its parent.
    "operating_profit": f"{_OPERATIONS}.driftsresultat",
    "profit_before_tax": f"{_RESULT}.ordinaertResultatFoerSkattekostnad",
    "tax": f"{_RESULT}.ordinaertResultatSkattekostnad",
    "profit": f"{_RESULT}.aarsresultat",
    "non_current_assets": "eiendeler.anleggsmidler.sumAnleggsmidler",
    "current_assets": "eiendeler.omloepsmidler.sumOmloepsmidler",
    "cash": "eiendeler.sumBankinnskuddOgKontanter",
    "assets": "eiendeler.sumEiendeler",
    "equity": "egenkapitalGjeld.egenkapital.sumEgenkapital",
    "non_current_liabilities": f"{_DEBTS}.langsiktigGjeld.sumLangsiktigGjeld",
    "current_liabilities": f"{_DEBTS}.kortsiktigGjeld.sumKortsiktigGjeld",
    "liabilities": f"{_DEBTS}.sumGjeld",
}
_BALANCE: Final = "egenkapitalGjeld.sumEgenkapitalGjeld"
_SCOPES: Final = {"SELSKAP": AccountsScope.COMPANY, "KONSERN": AccountsScope.GROUP}
#: The field is spelt so.
_PRINCIPLES: Final = "regnkapsprinsipper"
_STANDARDS: Final = {
    "regnskapslovenAlminneligRegler": AccountingStandard.LOCAL_GAAP,
    "forenkletAnvendelseIFRS": AccountingStandard.IFRS_SIMPLIFIED,
    "IFRS": AccountingStandard.IFRS,
}
#: More than three years of both scopes: one company's answer is refused beyond.
_MAX_ELEMENTS: Final = 200
_MAX_DIGITS: Final = 30
#: Sums of rounded numbers differ by as much.
_ROUNDING: Final = 2
_MIN_PERIOD, _MAX_PERIOD = timedelta(days=27), timedelta(days=549)


class TooManyRequests(Exception):
    """An answer with status 200 that asks for fewer requests."""


def decoded(body: bytes) -> Sequence[Any]:
    """Returns the elements of an answer, with decimal numbers.

    Raises TooManyRequests, and RecordRejected for an answer that is no list of accounts.
    """
    try:
        content = json.loads(body, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, list):
        if b"too many requests" in body[:10_000].lower():
            raise TooManyRequests
        raise RecordRejected("the answer is no list of accounts")
    if len(content) > _MAX_ELEMENTS:
        raise RecordRejected(f"more than {_MAX_ELEMENTS} accounts in an answer")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def number_of(raw: Raw) -> str | None:
    """Returns the number of the company that accounts are of."""
    number = _at(raw, "virksomhet.organisasjonsnummer")
    return number if isinstance(number, str) else None


def annual_accounts(raw: Raw, *, base: str) -> AnnualAccounts:
    """Returns the accounts of an element; links begin with the interface's address.

    Raises RecordRejected, naming the field without which accounts cannot be told apart.
    """
    identity, number = raw.get("id"), number_of(raw)
    scope = _SCOPES.get(str(raw.get("regnskapstype")))
    period = _period(raw)
    if isinstance(identity, bool) or not isinstance(identity, int):
        raise RecordRejected("id: not a whole number")
    if scope is None:
        raise RecordRejected("regnskapstype: neither SELSKAP nor KONSERN")
    figures = {name: _text(_number(raw, path)) for name, path in PATHS.items()}
    rules = _at(raw, f"{_PRINCIPLES}.regnskapsregler")
    is_small = _at(raw, f"{_PRINCIPLES}.smaaForetak")
    return AnnualAccounts(
        period=period,
        scope=scope,
        currency=_currency(raw),
        standard=_STANDARDS.get(rules) if isinstance(rules, str) else None,
        size_class="small" if is_small is True else None,
        liquidation=raw.get("avviklingsregnskap") is True,
        audit=Audit(type=_audit(raw)),
        figures=AccountsFigures(**figures),
        source=AccountsSource(
            id=str(identity),
            journal=_string(raw.get("journalnr")),
            document=f"{base}/{number}/{identity}",
            pdf=f"{base}/aarsregnskap/kopi/{number}/{period.end[:4]}",
        ),
        warnings=tuple(_warnings(raw, period)),
    )


def _at(raw: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(raw, Mapping):
            return None
        raw = raw.get(name)
    return raw


def _number(raw: Raw, path: str) -> Decimal | None:
    value = _at(raw, path)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    # A float has the digits that it is written with: of a file that was read otherwise.
    number = Decimal(str(value))
    return number if abs(number.adjusted()) < _MAX_DIGITS else None


def _text(number: Decimal | None) -> str | None:
    if number is None:
        return None
    if not number:
        return "0"
    whole = number.to_integral_value()
    return f"{whole:f}" if whole == number else f"{number:f}".rstrip("0")


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _currency(raw: Raw) -> str | None:
    code = raw.get("valuta")
    is_code = isinstance(code, str) and len(code) == len("NOK") and code.isascii()
    return code.upper() if is_code and isinstance(code, str) else None


def _period(raw: Raw) -> AccountsPeriod:
    start, end = (_at(raw, f"regnskapsperiode.{name}") for name in ("fraDato", "tilDato"))
    days = [read_day(day) if isinstance(day, str) else None for day in (start, end)]
    if None in days or start > end:
        raise RecordRejected("regnskapsperiode: not two days in their order")
    return AccountsPeriod(start=start, end=end)


def _audit(raw: Raw) -> AuditType | None:
    opted_out, not_delivered = (
        _at(raw, f"revisjon.{name}") for name in ("fravalgRevisjon", "ikkeRevidertAarsregnskap")
    )
    if opted_out is True:
        return AuditType.NONE
    if not_delivered is True:
        return AuditType.MISSING
    return AuditType.AUDIT if opted_out is not_delivered is False else None


def _warnings(raw: Raw, period: AccountsPeriod) -> Sequence[str]:
    found = []
    assets, balance = _number(raw, PATHS["assets"]), _number(raw, _BALANCE)
    if assets is not None and balance is not None and abs(assets - balance) > _ROUNDING:
        found.append("unbalanced")
    expense = _number(raw, PATHS["employee_expense"])
    if expense is not None and expense < 0:
        found.append("negative_costs")
    length = date.fromisoformat(period.end) - date.fromisoformat(period.start)
    if not _MIN_PERIOD <= length <= _MAX_PERIOD:
        found.append("period")
    return found
