"""Annual accounts side by side: a table of each scope, with bars, and notes on the figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from company_registry.change_words import accounts_remarks, day
from company_registry.models import AccountsFigures, AnnualAccounts
from portal.domain.facts import website_link

#: Years of a table.
MAX_YEARS: Final = 5

#: Pixels of the bars of a figure.
BARS_WIDTH: Final = 100
BARS_HEIGHT: Final = 40
_BAR: Final = 14
#: Of a figure that is not zero, however small it is beside the others.
_LEAST: Final = 2

_SCOPES: Final = {"company": "The company alone", "group": "The group"}
_UNKNOWN_SCOPE: Final = "The company or its group: the document does not say which"
_LABELS: Final = {"revenue": "Revenue", "employees": "Employees, on average"}

#: The meaning of an empty list, by the state of the accounts.
STATES: Final = {
    "none": "The register has no annual accounts of this company.",
    "unavailable": "There are no accounts here: the register gives none of companies of this kind, "
    "such as banks and insurers in Norway, or they are a person’s, as a sole proprietor’s are.",
    "unknown": "Whether the company has filed annual accounts is unknown here: its register has "
    "not been read yet, or has not answered.",
}

_STANDARDS: Final = {
    "local_gaap": "national rules",
    "ifrs": "IFRS",
    "ifrs_simplified": "simplified IFRS",
}
_AUDITS: Final = {
    "audit": "audited",
    "extended_review": "extended review",
    "review": "reviewed",
    "other_assurance": "other assurance",
    "no_assurance": "compiled without assurance",
    "none": "not audited: opted out",
    "missing": "auditor’s report not delivered",
}
_WARNINGS: Final = {
    "unbalanced": "assets differ from equity and liabilities",
    "ambiguous_scope": "figures of two kinds cannot be told apart, and are left out",
    "currencies": "figures in another currency are left out",
    "negative_costs": "costs are negative",
    "employees_unit": "the employees are given as an amount of money, and left out",
    "period": "the period is unusually long or short",
    "document_unreadable": "the document could not be read",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A year's figure; a negative one hangs from the line of zero."""

    x: int
    y: int
    height: int
    is_negative: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of each year, None where it was not told."""

    label: str
    figures: tuple[str | None, ...]
    bars: tuple[Bar, ...]
    #: Where zero is.
    y_zero: int


@dataclass(frozen=True, slots=True)
class Year:
    """The head and the foot of a column."""

    #: The year or the period, with the currency if the table has several.
    label: str
    #: The auditor's remarks, and a liquidation.
    remarks: tuple[str, ...]
    #: How the figures came about.
    notes: tuple[str, ...]
    pdf: str | None
    document: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """The accounts of one scope, the oldest year first."""

    title: str
    #: Of all years; empty if they have several, or none.
    currency: str
    years: tuple[Year, ...]
    rows: tuple[Row, ...]

    @property
    def remarks(self) -> list[tuple[str, str]]:
        """Years with remarks, the newest first."""
        return [(one.label, ", ".join(one.remarks)) for one in reversed(self.years) if one.remarks]


def tables(accounts: Sequence[AnnualAccounts]) -> list[Table]:
    """Returns the tables of the last years: of the company first, and of its group apart."""
    found = []
    for scope in ("company", "group", None):
        of_scope = [
            one for one in accounts if (one.scope if one.scope in _SCOPES else None) == scope
        ]
        # The newest come first.
        years = of_scope[:MAX_YEARS][::-1]
        if years:
            title = _SCOPES.get(scope or "", _UNKNOWN_SCOPE)
            currencies = {one.currency for one in years if one.currency}
            heads = tuple(_year(one, has_currency=len(currencies) > 1) for one in years)
            currency = currencies.pop() if len(currencies) == 1 else ""
            found.append(Table(title, currency, heads, tuple(_rows(years))))
    return found


def _year(accounts: AnnualAccounts, *, has_currency: bool) -> Year:
    source = accounts.source
    currency = accounts.currency if has_currency else None
    return Year(
        label=" ".join(filter(None, (_label(accounts), currency))),
        remarks=tuple(accounts_remarks(accounts.model_dump(mode="json"))),
        notes=tuple(_notes(accounts)),
        pdf=website_link(source.pdf) if source.pdf else None,
        document=website_link(source.document) if source.document else None,
    )


def _label(accounts: AnnualAccounts) -> str:
    """Returns `2025`; of a period that is no calendar year both its ends."""
    start, end = accounts.period.start, accounts.period.end
    is_calendar = (start.month, start.day, end.month, end.day) == (1, 1, 12, 31)
    if is_calendar and start.year == end.year:
        return str(end.year)
    return f"{day(str(start))} to {day(str(end))}"


def _notes(accounts: AnnualAccounts) -> Sequence[str]:
    standard, audit = accounts.standard or "", accounts.audit.type or ""
    notes = [
        _STANDARDS.get(standard, standard),
        f"class {accounts.size_class.replace('_', ' ')}" if accounts.size_class else "",
        _AUDITS.get(audit, audit),
        "a correction of earlier accounts" if accounts.correction else "",
        "as told in the accounts of the year after" if accounts.basis == "comparative" else "",
        *map(_warning, accounts.warnings),
    ]
    return [note for note in notes if note]


def _warning(code: str) -> str:
    kind, _, figure = code.partition(":")
    if kind == "conflict":
        return f"{_words(figure)} is given twice and differs, and left out"
    return _WARNINGS.get(code, code.replace("_", " "))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _rows(years: Sequence[AnnualAccounts]) -> Sequence[Row]:
    """Returns the figures that some year tells."""
    found = []
    currency = years[-1].currency
    for name in AccountsFigures.model_fields:
        figures = [getattr(one.figures, name) for one in years]
        if any(figure is not None for figure in figures):
            # Bars of two currencies have no common height.
            drawn = [
                figure if one.currency == currency or name == "employees" else None
                for one, figure in zip(years, figures, strict=True)
            ]
            label = _LABELS.get(name, _words(name).capitalize())
            found.append(Row(label, tuple(figures), *_bars(drawn)))
    return found


def _bars(figures: Sequence[str | None]) -> tuple[tuple[Bar, ...], int]:
    """Returns the bars, and where the line of zero is."""
    values = [None if figure is None else Decimal(figure) for figure in figures]
    known = [value for value in values if value is not None]
    highest, lowest = max([Decimal(0), *known]), min([Decimal(0), *known])
    scale = BARS_HEIGHT / (highest - lowest) if highest != lowest else Decimal(0)
    y_zero = round(highest * scale)
    step = BARS_WIDTH // MAX_YEARS
    # The newest year is always at the same place.
    first = BARS_WIDTH - step * len(values) + (step - _BAR) // 2
    bars = []
    for place, value in enumerate(values):
        if value:
            height = max(_LEAST, round(abs(value) * scale))
            top = y_zero - height if value > 0 else y_zero
            bars.append(Bar(first + place * step, top, height, value < 0))
    return tuple(bars), y_zero
