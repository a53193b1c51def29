"""The results of a batch, as cells of a spreadsheet or as JSON."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from company_registry.cli.companies import Include, percent
from company_registry.cli.output import plain
from company_registry.errors import ApiError
from company_registry.models import Company

_Read = Callable[[Company], object]

#: Columns of each result, after those of the input.
_COLUMNS: Final[dict[str, _Read]] = {
    "company_vat": lambda company: company.vat,
    "company_name": lambda company: company.name,
    "company_status": lambda company: company.status,
    "company_status_since": lambda company: company.status_since,
    "company_form": lambda company: company.form and company.form.code,
    "company_form_short": lambda company: company.form and company.form.short,
    "company_address": lambda company: company.address and company.address.text,
    "company_municipality_code": lambda company: (
        company.address and company.address.municipality_code
    ),
    "company_phone": lambda company: company.phone,
    "company_email": lambda company: company.email,
    "company_industry": lambda company: company.industry and company.industry.code,
    "company_activity": lambda company: company.activity,
    "match_type": lambda company: company.match.type,
    "score": lambda company: f"{company.match.score:g}",
    "ambiguous": lambda company: "yes" if is_ambiguous(company) else "",
    "others": lambda company: company.match.others or "",
    "alternatives": lambda company: _joined(
        f"{each.vat} {each.name} ({each.score:g})" for each in company.alternatives or ()
    ),
}

#: Columns of what --include adds; `alternatives` is always there.
_INCLUDED: Final[dict[str, _Read]] = {
    "owners": lambda company: _first(
        company.owners_total,
        (
            _words(each.name, each.vat, f"({percent(each.share)})" if each.share else None)
            for each in company.owners or ()
        ),
    ),
    "roles": lambda company: _first(
        company.roles_total,
        (f"{each.role_text or each.role}: {each.name}" for each in company.roles or ()),
    ),
    "production_units": lambda company: _first(
        company.production_units_total,
        (_words(each.number, each.name) for each in company.production_units or ()),
    ),
    "einvoicing": lambda company: _first(
        company.einvoicing_total, (each.identifier for each in company.einvoicing or ())
    ),
    "subsidiaries": lambda company: _first(
        company.subsidiaries_total,
        (
            _words(each.vat, each.name, f"({percent(each.share)})" if each.share else None)
            for each in company.subsidiaries or ()
        ),
    ),
}
_ERRORS: Final = ("error", "error_detail")


@dataclass(frozen=True, slots=True)
class Result:
    """A company, or the error of its row."""

    company: Company | None
    error: ApiError | None

    @property
    def is_ambiguous(self) -> bool:
        """True if other companies match about as well as the one found."""
        return self.company is not None and is_ambiguous(self.company)


def is_ambiguous(company: Company) -> bool:
    """True if another company matches as well as this one."""
    as_good = any(each.score >= company.match.score for each in company.alternatives or ())
    # A service of an earlier release does not count the others.
    return company.match.others > 0 or as_good


def columns(include: Sequence[Include]) -> dict[str, _Read]:
    """The columns of a company."""
    return _COLUMNS | {name: read for name, read in _INCLUDED.items() if name in include}


def header(include: Sequence[Include]) -> list[str]:
    """Returns the names of the columns that a batch adds to a spreadsheet."""
    return [*columns(include), *_ERRORS]


def cells(result: Result, include: Sequence[Include]) -> list[str]:
    """The cells of a result, under the header."""
    reads = columns(include)
    if result.company is None:
        error = result.error
        return [*[""] * len(reads), *(("", "") if error is None else (error.code, error.detail))]
    found = (read(result.company) for read in reads.values())
    return [*("" if value is None else str(value) for value in found), "", ""]


def document(row: dict[str, str], result: Result) -> dict[str, Any]:
    """The result as JSON."""
    if result.error is not None:
        return {"input": row, "problem": result.error.problem}
    return {
        "input": row,
        "company": plain(result.company),
        "ambiguous": result.is_ambiguous,
    }


#: Columns of a company that filters found: nothing about how it matched.
FOUND: Final = {
    name.removeprefix("company_"): read
    for name, read in _COLUMNS.items()
    if name.startswith("company_")
}


def _first(total: int | None, parts: Iterable[str]) -> str:
    """Returns the first entries of a list, and the number of all if there are more."""
    shown = list(parts)
    more = [f"… ({total} in all)"] if total and total > len(shown) else []
    return _joined([*shown, *more])


def _joined(parts: Any) -> str:
    return " | ".join(parts)


def _words(*words: str | None) -> str:
    return " ".join(word for word in words if word)
