"""Query parameters, and the format of the response that they select.

All errors are collected before any is reported, so that a client can fix them together.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Final, TypeVar

from common.contracts.company import Country
from common.contracts.failures import FieldError
from common.domain.nearest import did_you_mean, unknown_names
from common.domain.written import read_country
from gateway.problems import InvalidParameter, MissingParameter, MultipleSearchParameters, Problem

E = TypeVar("E", bound=StrEnum)

#: Behind the fault of a search without a country.
OF_BOTH = "; GET /api/companies?q= searches the names of both registers"

#: A decoded query string: each parameter with all its values, in order.
Parameters = Mapping[str, Sequence[str]]

COUNTRY = "country"

_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")

#: Matches the surrogates left by decoding bytes that are not UTF-8.
_UNDECODABLE = "\ufffd"


def unknown_parameters(given: Iterable[str], known: Sequence[str]) -> InvalidParameter:
    """Returns the problem with unknown parameters, of which there is at least one."""
    return invalid_parameters(unknown_names("parameter", given, known))


def invalid_parameters(faults: Sequence[tuple[str, str]]) -> InvalidParameter:
    """Returns the problem with parameters and their messages; there must be at least one."""
    errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
    return InvalidParameter(f"{errors[0].parameter}: {errors[0].message}", errors=errors)


class Rank(IntEnum):
    """Precedence of errors: the first gives the problem's code."""

    MISSING_COUNTRY = 1
    SEVERAL_SEARCHES = 2
    MISSING_SEARCH = 3
    INVALID_VALUE = 4


_PROBLEM: dict[Rank, type[Problem]] = {
    Rank.MISSING_COUNTRY: MissingParameter,
    Rank.SEVERAL_SEARCHES: MultipleSearchParameters,
    Rank.MISSING_SEARCH: MissingParameter,
    Rank.INVALID_VALUE: InvalidParameter,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in one parameter; `message` states the expected value."""

    rank: Rank
    parameter: str
    message: str


_BOOLEANS: Final = {"true": True, "false": False}


class Reading:
    """Query parameters, and the errors found in them so far."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.faults: list[Fault] = []

    def country(self, hint: str = "") -> Country | None:
        """Returns the required country; None when it is absent or invalid, with the error noted."""
        if COUNTRY not in self.parameters:
            self.fault(Rank.MISSING_COUNTRY, COUNTRY, f"required; give dk or no{hint}")
            return None
        value = self.single(COUNTRY)
        country = None if value is None else read_country(value)
        if value is not None and country is None:
            self.invalid(COUNTRY, "must be dk or no")
        return country

    def single(self, name: str) -> str | None:
        """Returns the single value; None if absent, or if invalid with the error noted."""
        values = self.parameters.get(name, ())
        if not values:
            return None
        if len(values) > 1:
            self.invalid(name, "must be given once")
        elif not values[0].strip():
            self.invalid(name, "must not be empty")
        elif _UNDECODABLE in values[0]:
            self.invalid(name, "must be UTF-8, percent-encoded in a URL")
        else:
            return values[0]
        return None

    def choice(self, name: str, members: type[E], message: str) -> E | None:
        """Returns the member that the parameter names in any case; None if absent or invalid."""
        value = self.single(name)
        if value is None:
            return None
        found = next((each for each in members if each == value.casefold()), None)
        if found is None:
            self.invalid(name, message + did_you_mean(value, tuple(members)))
        return found

    def number(self, name: str, least: int, most: int, default: int) -> int:
        """Returns the whole number of a parameter; the default when it is absent or invalid."""
        value = self.single(name)
        if value is None:
            return default
        if _NUMBER.fullmatch(value) and least <= int(value) <= most:
            return int(value)
        self.invalid(name, f"must be a whole number from {least} to {most}")
        return default

    def boolean(self, name: str) -> bool | None:
        """Returns the value of a parameter that is true or false; None if absent or invalid."""
        value = self.single(name)
        if value is None or value in _BOOLEANS:
            return None if value is None else _BOOLEANS[value]
        self.invalid(name, "must be true or false")
        return None

    def invalid(self, parameter: str, message: str) -> None:
        """Notes that a parameter has an invalid value; reading goes on."""
        self.fault(Rank.INVALID_VALUE, parameter, message)

    def fault(self, rank: Rank, parameter: str, message: str) -> None:
        """Notes an error, whose rank decides which error gives the problem its code."""
        self.faults.append(Fault(rank, parameter, message))

    def check(self) -> None:
        """Raises the problem with all errors, if there are any."""
        if self.faults:
            raise self.problem()

    def problem(self) -> Problem:
        """Returns the problem with all errors; there must be at least one."""
        ranked = sorted(self.faults, key=attrgetter("rank"))
        first = ranked[0]
        return _PROBLEM[first.rank](
            f"{first.parameter}: {first.message}",
            errors=tuple(FieldError(parameter=f.parameter, message=f.message) for f in ranked),
        )


FORMAT = "format"

JSON, HTML = "application/json", "text/html"
#: The second is an older name of the first.
XML = ("application/xml", "text/xml")

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


class Format(StrEnum):
    """The formats of lookups and of their problems, by the value of the parameter `format`."""

    JSON = "json"
    XML = "xml"


def wanted_format(parameters: Parameters, *, accept: str) -> Format:
    """Returns the format of an error's body, even when the rest of the query is invalid."""
    if FORMAT not in parameters:
        return negotiated(accept)
    given = [value.casefold() for value in parameters[FORMAT]]
    return Format.XML if given == [Format.XML] else Format.JSON


def negotiated(accept: str) -> Format:
    """Returns the format that an `Accept` header selects (RFC 9110, 12.5.1)."""
    return Format.XML if prefers_xml(accept) else Format.JSON


def prefers_xml(accept: str) -> bool:
    """Returns True if a client prefers XML to both JSON and pages; the default is JSON.

    Browsers accept XML before any other type, but want pages; a link to a lookup shows them JSON.
    """
    ranges = _ranges(accept.lower())
    xml = max(_quality(each, ranges) for each in XML)
    return xml > _quality(JSON, ranges) and xml >= _quality(HTML, ranges)


def _quality(media_type: str, ranges: dict[str, float]) -> float:
    """Returns a media type's quality by the most specific range that covers it; 0 if none does."""
    family = media_type.partition("/")[0]
    for covering in (media_type, f"{family}/*", "*/*"):
        if covering in ranges:
            return ranges[covering]
    return 0.0


def _ranges(accept: str) -> dict[str, float]:
    """Returns media ranges with their qualities; one with an invalid quality is not accepted."""
    ranges = {}
    for element in accept.split(","):
        media_range, *parameters = (part.strip() for part in element.split(";"))
        given = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        quality = given[0] if given else "1"
        ranges[media_range] = float(quality) if _QUALITY.fullmatch(quality) else 0.0
    return ranges


def entity_tag(tag: str, format_: Format) -> str:
    """Returns the tag of a company in one format; weak, because it is the same in each coding."""
    # RFC 9110, 8.8.3
    return f'W/"{tag}.{format_}"'
