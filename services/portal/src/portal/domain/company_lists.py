"""Lists of companies: the form of their filters, their facets, and the cells of a download."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args

from multidict import MultiMapping

from common.domain import code_texts
from company_registry.models import Company, CompanyFilter, Employees, Facet, FacetCount, FindSort
from company_registry.spreadsheets import harmless
from portal.domain import facts

#: Fields that are always open; the others are unfolded.
ALWAYS_OPEN: Final = ("q", "country", "industry", "municipality", "employees_min", "employees_max")
#: Every filter of the API, in the order of the page.
FIELDS: Final = (
    *ALWAYS_OPEN,
    *("city", "postal_code", "form", "status", "min_revenue", "max_equity", "accounts_year"),
    *("accounts_late", "founded_from", "founded_to"),
    *("ended_from", "ended_to", "status_since_from", "status_since_to", "has"),
    *("advertising_protected", "vat_registered", "owned_by"),
)
LABELS: Final = {
    "q": "Words of the name",
    "country": "Register",
    "industry": "Industry",
    "municipality": "Municipality",
    "city": "Town",
    "postal_code": "Postal code",
    "form": "Legal form",
    "status": "Status",
    "employees_min": "Employees from",
    "employees_max": "Employees to",
    "min_revenue": "Revenue from",
    "max_equity": "Equity to",
    "accounts_year": "Year of the accounts",
    "accounts_late": "Accounts",
    "founded_from": "Founded from",
    "founded_to": "Founded to",
    "ended_from": "Ended from",
    "ended_to": "Ended to",
    "status_since_from": "Status since, from",
    "status_since_to": "Status since, to",
    "has": "Has",
    "vat_registered": "VAT",
    "advertising_protected": "Advertising",
    "owned_by": "Owned by",
}
#: Fields of several values, which people separate with commas.
_SETS: Final = frozenset(
    {
        *("country", "industry", "municipality", "city", "postal_code", "form", "status", "has"),
        "accounts_year",
    }
)
_COUNT: Final = re.compile(r"[0-9]{1,8}")
#: As people write amounts: `10 000 000`, `10.000.000`, `−1`.
_AMOUNT: Final = re.compile(r"[-−]?(?:[0-9]{1,15}|[0-9]{1,3}(?:[ .\u00a0\u202f][0-9]{3}){1,4})")
_NUMBERS: Final = {
    "employees_min": _COUNT,
    "employees_max": _COUNT,
    "min_revenue": _AMOUNT,
    "max_equity": _AMOUNT,
}
_CHOICES: Final = ("vat_registered", "advertising_protected", "accounts_late")

#: Divisions of industries in words, by the first two digits of a code.
DIVISIONS: Final = {code: division.text for code, division in code_texts.DIVISIONS.items()}

_SINCE: Final = frozenset({"status_since_from", "status_since_to"})

_BOOLEANS: Final = {"true": True, "false": False}
_SEPARATORS: Final = re.compile(r"[,;\n]+")


@dataclass(frozen=True, slots=True)
class CompanyForm:
    """The values of the fields, of which none is empty, and the place in the list."""

    values: Mapping[str, tuple[str, ...]]
    sort: FindSort | None = None
    #: The cursor of the page before; empty for the first page.
    after: str = ""

    def text(self, name: str) -> str:
        """Returns the content of a field."""
        return ", ".join(self.values.get(name, ()))

    @property
    def filter(self) -> CompanyFilter:
        """The filter of the API; a number or a choice that is none is left out."""
        found: dict[str, Any] = {}
        for name, values in self.values.items():
            if name in _SETS:
                found[name] = values
            elif name in _NUMBERS:
                found[name] = _number(name, values[0])
            else:
                found[name] = _BOOLEANS.get(values[0]) if name in _CHOICES else values[0]
        # Not validated: the API refuses a country that is none, with the other values.
        return CompanyFilter.model_construct(**found)

    @property
    def faults(self) -> dict[str, str]:
        """Messages by field, for values that no filter can have."""
        return {
            name: "Enter a whole number."
            for name in _NUMBERS
            if any(_number(name, each) is None for each in self.values.get(name, ()))
        }

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query that leads here."""
        found = [(name, self.text(name)) for name in FIELDS if name in self.values]
        found += [("sort", self.sort)] if self.sort else []
        return found + ([("after", self.after)] if self.after else [])

    def chooses(self, name: str, value: str) -> bool:
        """Returns True if a field has the value."""
        return value in self.values.get(name, ())

    def without(self, name: str, value: str) -> "CompanyForm":
        """Returns the form without a value of a field, on its first page."""
        return self._with(name, tuple(each for each in self.values.get(name, ()) if each != value))

    def only(self, name: str, value: str) -> "CompanyForm":
        """Returns the form with one value of a field, on its first page."""
        return self._with(name, (value,))

    def instead(self, name: str, value: str, other: str) -> "CompanyForm":
        """Returns the form with another value in place of one, on its first page."""
        given = self.values.get(name, ())
        return self._with(name, tuple(other if each == value else each for each in given))

    def _with(self, name: str, values: tuple[str, ...]) -> "CompanyForm":
        others = {each: given for each, given in self.values.items() if each != name}
        changed = {**others, name: values} if values else others
        return replace(self, values=changed, after="", sort=_sort(self.sort, changed))

    def sorted_by(self, sort: FindSort) -> "CompanyForm":
        """Returns the form in an order, or in its opposite if it has that, on its first page."""
        return replace(self, sort=_opposite(sort) if self._order == sort else sort, after="")

    def direction(self, sort: FindSort) -> str:
        """Returns `ascending` or `descending` if the list is sorted by the value of an order."""
        if self._order.removeprefix("-") != sort.removeprefix("-"):
            return ""
        return "descending" if self._order.startswith("-") else "ascending"

    @property
    def _order(self) -> FindSort:
        return self.sort or ("relevance" if "q" in self.values else "name")

    @property
    def default_status(self) -> str | None:
        """The status that the other filters bring with them."""
        names = self.values.keys()
        if names & {"ended_from", "ended_to"}:
            return "ended"
        return "any" if names & _SINCE else None

    @property
    def is_since(self) -> bool:
        """True if the list is about the days since which companies have their status."""
        return bool(self.values.keys() & _SINCE or self.direction("status_since"))

    def following(self, cursor: str | None) -> "CompanyForm":
        """Returns the form of the page after a cursor; of the first page without one."""
        return replace(self, after=cursor or "")


def read_company_form(query: MultiMapping[str]) -> CompanyForm:
    """Returns the form as it was sent, without the fields that are empty."""
    values: dict[str, tuple[str, ...]] = {}
    for name in FIELDS:
        given = [text.strip() for text in query.getall(name, [])]
        if name in _SETS:
            given = [part.strip() for text in given for part in _SEPARATORS.split(text)]
        words = tuple(dict.fromkeys(word for word in given if word))
        if words:
            values[name] = words if name in _SETS else words[-1:]
    sort = query.getall("sort", [""])[-1]
    after = query.getall("after", [""])[-1]
    return CompanyForm(values, _sort(sort, values), after)


def _sort(sort: str | None, values: Mapping[str, object]) -> FindSort | None:
    # An order by relevance needs words.
    known = sort in get_args(FindSort) and (sort != "relevance" or "q" in values)
    return cast(FindSort, sort) if known else None


def _opposite(sort: FindSort) -> FindSort:
    return cast(FindSort, sort[1:] if sort.startswith("-") else f"-{sort}")


def _number(name: str, text: str) -> int | None:
    if not _NUMBERS[name].fullmatch(text):
        return None
    return int(re.sub(r"[^0-9-]", "", text.replace("−", "-")))


# Facets

#: The facets in the order of the page, with their headings.
TITLES: Final[dict[Facet, str]] = {
    "industry": "Industry",
    "municipality": "Municipality",
    "form": "Legal form",
    "status": "Status",
}
_MAX_VALUES: Final = 60


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value with its count."""

    label: str
    count: int
    is_chosen: bool
    #: The form without it if it is chosen, else with it alone.
    form: CompanyForm


def facets(
    counts: Mapping[str, Sequence[FacetCount]], form: CompanyForm
) -> dict[str, list[FacetValue]]:
    """Returns the values by which the list can be narrowed down, the most frequent first.

    Industries are counted by their divisions until one is chosen.
    """
    found: dict[str, list[FacetValue]] = {}
    for name in TITLES:
        given = counts.get(name, ())
        if name == "industry" and name not in form.values:
            given = _divisions(given)
        values = [_value(name, each, form) for each in given[:_MAX_VALUES]]
        if len(values) > 1 or any(each.is_chosen for each in values):
            found[name] = values
    return found


def _divisions(counts: Sequence[FacetCount]) -> list[FacetCount]:
    sums = Counter[str]()
    for each in counts:
        sums[each.value[:2]] += each.count
    ranked = sorted(sums.items(), key=lambda one: (-one[1], one[0]))
    return [
        FacetCount(value=value, count=count, text=DIVISIONS.get(value)) for value, count in ranked
    ]


def _value(name: str, each: FacetCount, form: CompanyForm) -> FacetValue:
    is_chosen = form.chooses(name, each.value)
    # The English words of an industry are only its division's.
    words = each.text or each.text_en if name == "industry" else each.text_en or each.text
    return FacetValue(
        label=_label(name, each.value, words),
        count=each.count,
        is_chosen=is_chosen,
        form=form.without(name, each.value) if is_chosen else form.only(name, each.value),
    )


def _label(name: str, value: str, words: str | None) -> str:
    if name == "municipality":
        return facts.place(value)
    if words and name == "form":
        # Danish codes are numbers: one form has another code in each register.
        return f"{words} ({'Denmark' if value.isdecimal() else 'Norway'}, {value})"
    return f"{words} ({value})" if words and name == "industry" else words or value


# Downloads

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
