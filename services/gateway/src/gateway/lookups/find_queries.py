"""Parsing of requests for companies that fit filters."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import date
from enum import StrEnum
from typing import Any, Final, TypeVar

import orjson

from common.contracts.company import CompanyKey, Country, Status
from common.contracts.find import (
    MAX_FOUND,
    Between,
    Facet,
    FindPosition,
    FindRequest,
    FindSort,
    Has,
)
from common.contracts.lookup import SearchType
from common.domain.countries import FORMATS
from common.domain.known_values import digits, forms_named, is_known, nearest_values
from common.domain.nearest import nearest
from common.domain.written import plain_name, read_country, read_postal_code
from gateway.http.parameters import COUNTRY, Parameters, Reading
from gateway.lookups.codes import WORDS_OF, Stored, codes_meant, is_words, near_words
from gateway.lookups.terms import NAME_LENGTH, InvalidTerm, normalise

#: Companies of a page, unless another number is requested.
DEFAULT_FOUND: Final = 20
#: Maximum number of values of one filter, and characters of each.
MAX_VALUES: Final = 50
_MAX_LENGTH: Final = 100
_ANY: Final = "any"

_INDUSTRY: Final = re.compile(r"[0-9]{1,2}|[0-9]{2}\.?[0-9]{1,4}")
_RANGE: Final = re.compile(r"[0-9]+-[0-9]+")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,7}")
CURSOR: Final = r"^[A-Za-z0-9_-]{4,400}$"

#: Without filters in words.
NO_CODES: Final[Stored] = {}

E = TypeVar("E", bound=StrEnum)

#: The countries whose registers state it.
_STATED_IN: Final = {"vat_registered": Country.NO, "advertising_protected": Country.DK}


def parse_find(parameters: Parameters, stored: Stored = NO_CODES) -> tuple[FindRequest, ...]:
    """Returns the requested page of a list, for each country; raises InvalidParameter.

    `stored` has the texts of codes, if a filter has words.
    """
    reading = FindReading(parameters, stored)
    owner = reading.owner()
    countries = reading.countries(owner)
    fields = reading.filters(countries, owner)
    sort = reading.choice("sort", FindSort, f"must be {', '.join(FindSort)}") or (
        FindSort.RELEVANCE if fields["words"] else FindSort.NAME
    )
    if sort is FindSort.RELEVANCE and "q" not in parameters:
        reading.invalid("sort", "relevance needs q")
    fields |= {
        "statuses": reading.statuses(fields["ended"]),
        "sort": sort,
        "limit": reading.number("limit", 1, MAX_FOUND, DEFAULT_FOUND),
        "after": reading.after(sort),
        "facets": reading.members("facets", Facet),
    }
    reading.check()
    return tuple(FindRequest(country=country, **fields) for country in countries)


class FindReading(Reading):
    """The filters of a list or a copy."""

    def __init__(self, parameters: Parameters, stored: Stored = NO_CODES) -> None:
        super().__init__(parameters)
        self._stored = stored

    def filters(self, countries: Iterable[Country], owner: CompanyKey | None) -> dict[str, Any]:
        """Returns the fields of a request that select companies, but the statuses."""
        least, most = self.employees()
        return {
            "words": self.words(),
            "industries": tuple(digits(each) for each in self.known("industry", countries)),
            "municipalities": self.known("municipality", countries),
            "cities": self.values("city"),
            "postal_codes": self.postal_codes(countries),
            "forms": self.known("form", countries),
            "min_employees": least,
            "max_employees": most,
            "founded": self.days("founded"),
            "ended": self.days("ended"),
            "has": self.members("has", Has),
            "owned_by": owner and owner.vat,
            **{name: self.stated(name, countries) for name in _STATED_IN},
        }

    def values(self, name: str) -> tuple[str, ...]:
        """Returns the different values of a parameter, repeated or separated by commas."""
        given = self.parameters.get(name, ())
        values = tuple(dict.fromkeys(part.strip() for text in given for part in text.split(",")))
        if "" in values:
            self.invalid(name, "must not be empty")
        elif len(values) > MAX_VALUES:
            self.invalid(name, f"must have at most {MAX_VALUES} values")
        elif any(len(each) > _MAX_LENGTH or "\ufffd" in each for each in values):
            self.invalid(name, f"must be UTF-8, of at most {_MAX_LENGTH} characters each")
        else:
            return values
        return ()

    def members(self, name: str, members: type[E]) -> tuple[E, ...]:
        """Returns the members that a parameter lists."""
        values = self.values(name)
        if strange := [each for each in values if each not in tuple(members)]:
            self._unknown(name, strange[0], f"must be of {', '.join(members)}", members)
            return ()
        return tuple(members(each) for each in values)

    def countries(self, owner: CompanyKey | None) -> tuple[Country, ...]:
        """Returns the countries: without the parameter both, or that of the owner."""
        chosen = [read_country(each) for each in self.values(COUNTRY)]
        if None in chosen:
            self.invalid(COUNTRY, "must be dk, no or both")
        if owner is None:
            return tuple(each for each in Country if each in chosen) or tuple(Country)
        if chosen and owner.country not in chosen:
            self.invalid("owned_by", f"needs country={owner.country}, the register of both")
        return (owner.country,)

    def words(self) -> str | None:
        """Returns the words of a name; None if absent, or if invalid with the error noted."""
        text = plain_name(self.single("q") or "")
        shortest, longest = NAME_LENGTH
        if text and not shortest <= len(text) <= longest:
            self.invalid("q", f"must be {shortest} to {longest} characters")
        return text or None

    def known(self, name: str, countries: Iterable[Country]) -> tuple[str, ...]:
        """Returns the values of a filter, each of which some company of the countries may have."""
        found: list[str] = []
        for value in self.values(name):
            meant = self._meant(name, value, tuple(countries))
            if not meant:
                return ()
            found += meant
        return tuple(dict.fromkeys(found))

    def _meant(self, name: str, value: str, countries: tuple[Country, ...]) -> Sequence[str]:
        """Returns the values that one of a filter means; none with the error noted."""
        part = _PARTS[name]
        is_code = name != "industry" or _INDUSTRY.fullmatch(value) is not None
        if name == "form" and (forms := forms_named(value, countries)):
            return forms
        if is_code and is_known(part, value, countries):
            return (value,)
        if is_code and is_known(part, value):
            self.invalid(name, f"no company in {', '.join(countries)} has {value}")
            return ()
        if name in WORDS_OF and is_words(value):
            if codes := codes_meant(name, value, self._stored):
                return codes
            near = near_words(name, value, self._stored) or nearest_values(part, value)
            self._say(name, f"{_HINTS[name]}; GET /api/codes/{WORDS_OF[name]} lists them", near)
        else:
            self._say(name, _HINTS[name], nearest_values(part, value))
        return ()

    def _unknown(self, name: str, value: str, hint: str, known: Iterable[str]) -> None:
        self._say(name, hint, nearest(value, list(known), count=3))

    def _say(self, name: str, hint: str, near: Sequence[str]) -> None:
        self.invalid(name, hint + (f"; did you mean {' or '.join(near)}?" if near else ""))

    def postal_codes(self, countries: Iterable[Country]) -> tuple[Between, ...]:
        """Returns the postal codes, each as an interval: those of some country."""
        found = []
        for value in self.values("postal_code"):
            ends = value.split("-") if _RANGE.fullmatch(value) else [value]
            codes = [
                next((code for each in countries if (code := read_postal_code(end, each))), "")
                for end in ends
            ]
            if not all(codes) or codes[-1] < codes[0]:
                self.invalid("postal_code", "must be four digits, or a range such as 1000-1499")
                return ()
            found.append(Between(first=codes[0], last=codes[-1]))
        return tuple(found)

    def statuses(self, ended: Between | None) -> tuple[Status, ...]:
        """Returns the statuses; by default `active`, or `ended` if `ended_…` is given."""
        if "status" not in self.parameters:
            return (Status.ENDED if ended else Status.ACTIVE,)
        values = self.values("status")
        if values == (_ANY,):
            return ()
        if strange := [each for each in values if each not in tuple(Status)]:
            hint = f"must be {_ANY} or of {', '.join(Status)}"
            self._unknown("status", strange[0], hint, Status)
            return ()
        return tuple(Status(each) for each in values)

    def employees(self) -> tuple[int | None, int | None]:
        """Returns the fewest and the most employees."""
        least, most = (self._count(f"employees_{end}") for end in ("min", "max"))
        if least is not None and most is not None and least > most:
            self.invalid("employees_max", "must not be less than employees_min")
        return least, most

    def _count(self, name: str) -> int | None:
        value = self.single(name)
        if value is None:
            return None
        if _NUMBER.fullmatch(value):
            return int(value)
        self.invalid(name, "must be a whole number of at most 8 digits")
        return None

    def days(self, name: str) -> Between | None:
        """Returns the first and the last day of `<name>_from` and `<name>_to`; None without any."""
        first, last = (self._day(f"{name}_{end}") for end in ("from", "to"))
        if first and last and first > last:
            self.invalid(f"{name}_to", f"must not be before {name}_from")
        return Between(first=first, last=last) if first or last else None

    def _day(self, name: str) -> str | None:
        value = self.single(name)
        if value is None:
            return None
        try:
            if len(value) == len("2026-01-31"):
                return date.fromisoformat(value).isoformat()
        except ValueError:
            pass
        self.invalid(name, "must be a day such as 2026-01-31")
        return None

    def stated(self, name: str, countries: Iterable[Country]) -> bool | None:
        """Returns the value of a filter that only one register states."""
        value = self.boolean(name)
        if value is not None and _STATED_IN[name] not in countries:
            self.invalid(name, f"only the {FORMATS[_STATED_IN[name]].nation} register says it")
        return value

    def owner(self) -> CompanyKey | None:
        """Returns the owner, whose companies are in its own register alone."""
        value = self.single("owned_by")
        if value is None:
            return None
        code, _, number = value.partition(":")
        country = read_country(code)
        if country is None or not number:
            self.invalid("owned_by", "must be a company such as dk:12345678")
        else:
            try:
                return CompanyKey(country, normalise(SearchType.VAT, number, country))
            except InvalidTerm as invalid:
                self.invalid("owned_by", str(invalid))
        return None

    def after(self, sort: FindSort) -> FindPosition | None:
        """Returns the position that a cursor encodes."""
        value = self.single("after")
        if value is None:
            return None
        position = read_cursor(value, sort)
        if position is None:
            self.invalid("after", "must be the cursor of an earlier answer with the same sort")
        return position


_PARTS: Final = {"industry": "industries", "municipality": "municipalities", "form": "forms"}
_HINTS: Final = {
    "industry": "must be an industry code or its beginning, such as 62 or 62.010",
    "municipality": "must be the name or the code of a municipality as addresses have it",
    "form": "must be the code of a legal form as companies have it, such as 80 or AS",
}


def cursor_of(position: FindPosition, sort: FindSort) -> str:
    """Returns the cursor of the page after a company."""
    parts = [sort, position.key, position.country, position.number]
    return urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def read_cursor(text: str, sort: FindSort) -> FindPosition | None:
    """Returns the position of a cursor; None if it is of another sort, or no cursor."""
    if not re.fullmatch(CURSOR, text):
        return None
    try:
        parts = orjson.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        its_sort, key, country, number = parts
        is_key = isinstance(key, str if sort is FindSort.NAME else int)
        if its_sort != sort or not is_key or number not in range(1 << 32):
            return None
        is_relevance = sort is FindSort.RELEVANCE
        if isinstance(key, int) and not (0 if is_relevance else -(1 << 63)) <= key < 1 << 64:
            return None
        return FindPosition(key=key, country=Country(country), number=number)
    except (ValueError, TypeError):
        return None
