"""The form of the list of companies: its fields are the filters of the API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast, get_args

from company_registry.models import CompanyFilter, FindSort

#: Fields of several values, which people separate with commas.
SETS: Final = (
    "country",
    "industry",
    "municipality",
    "city",
    "postal_code",
    "form",
    "status",
    "has",
)
_TEXTS: Final = ("q", "owned_by", "founded_from", "founded_to", "ended_from", "ended_to")
_NUMBERS: Final = ("employees_min", "employees_max")
_CHOICES: Final = ("vat_registered", "advertising_protected")

#: Every filter, in the order of the page.
FIELDS: Final = (
    "q",
    "country",
    "industry",
    "municipality",
    "employees_min",
    "employees_max",
    "city",
    "postal_code",
    "form",
    "status",
    "founded_from",
    "founded_to",
    "ended_from",
    "ended_to",
    "has",
    "advertising_protected",
    "vat_registered",
    "owned_by",
)

#: Fields that are always open; the others are unfolded.
ALWAYS_OPEN: Final = ("q", "country", "industry", "municipality", "employees_min", "employees_max")

_BOOLEANS: Final = {"true": True, "false": False}
_SEPARATORS: Final = re.compile(r"[,;\n]+")
_MAX_NUMBER: Final = 8


class Query(Protocol):
    """A query with repeated keys."""

    def getall(self, key: str, default: list[str]) -> list[str]:
        """Returns all values of a key."""


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
            if name in SETS:
                found[name] = values
            elif name in _NUMBERS:
                found[name] = int(values[0]) if _is_number(values[0]) else None
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
            if not all(map(_is_number, self.values.get(name, ())))
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
        rest = tuple(each for each in self.values.get(name, ()) if each != value)
        return self._with(name, rest)

    def only(self, name: str, value: str) -> "CompanyForm":
        """Returns the form with one value of a field, on its first page."""
        return self._with(name, (value,))

    def _with(self, name: str, values: tuple[str, ...]) -> "CompanyForm":
        others = {each: given for each, given in self.values.items() if each != name}
        changed = {**others, name: values} if values else others
        return replace(self, values=changed, after="", sort=_sort(self.sort, changed))

    def sorted_by(self, sort: FindSort) -> "CompanyForm":
        """Returns the form with another order, on its first page."""
        return replace(self, sort=sort, after="")

    def following(self, cursor: str | None) -> "CompanyForm":
        """Returns the form of the page after a cursor; of the first page without one."""
        return replace(self, after=cursor or "")


def read_company_form(query: Query) -> CompanyForm:
    """Returns the form as it was sent, without the fields that are empty."""
    values: dict[str, tuple[str, ...]] = {}
    for name in FIELDS:
        given = [text.strip() for text in query.getall(name, [])]
        if name in SETS:
            given = [part.strip() for text in given for part in _SEPARATORS.split(text)]
        words = tuple(dict.fromkeys(word for word in given if word))
        if words:
            values[name] = words if name in SETS else words[-1:]
    sort = query.getall("sort", [""])[-1]
    after = query.getall("after", [""])[-1]
    return CompanyForm(values, _sort(sort, values), after)


def _sort(sort: str | None, values: Mapping[str, object]) -> FindSort | None:
    """Returns the order; none if it is unknown, or by relevance to words that are not given."""
    known = sort in get_args(FindSort) and (sort != "relevance" or "q" in values)
    return cast(FindSort, sort) if known else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_NUMBER
