"""Reading of query parameters.

All errors are collected before any is reported, so that a client can fix them together.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import TypeVar

from common.contracts.company import Country
from common.contracts.failures import FieldError
from common.domain.nearest import unknown_names
from gateway.problems import InvalidParameter, MissingParameter, MultipleSearchParameters, Problem

E = TypeVar("E", bound=StrEnum)

#: A decoded query string: each parameter with all its values, in order.
Parameters = Mapping[str, Sequence[str]]

COUNTRY = "country"

_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")

#: Matches the surrogates left by decoding bytes that are not UTF-8.
_UNDECODABLE = "\ufffd"


def unknown_parameters(given: Iterable[str], known: Sequence[str]) -> Problem | None:
    """The problem with the parameters that an operation does not have; None without any."""
    found = unknown_names("parameter", given, known)
    return invalid_parameters(found) if found else None


def invalid_parameters(faults: Sequence[tuple[str, str]]) -> InvalidParameter:
    """The problem with parameters and their messages; there must be at least one."""
    errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
    return InvalidParameter(f"{errors[0].parameter}: {errors[0].message}", errors=errors)


def read_country(text: str) -> Country | None:
    """The country with a code in upper or lower case; None without such a country."""
    return next((country for country in Country if country == text.lower()), None)


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


class Reading:
    """Query parameters, and the errors found in them so far."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.faults: list[Fault] = []

    def country(self) -> Country | None:
        """Returns the required country; None when it is absent or invalid, with the error noted."""
        if COUNTRY not in self.parameters:
            self.fault(Rank.MISSING_COUNTRY, COUNTRY, "required; give dk or no")
            return None
        value = self.single(COUNTRY)
        country = None if value is None else read_country(value)
        if value is not None and country is None:
            self.invalid(COUNTRY, "must be dk or no")
        return country

    def single(self, name: str) -> str | None:
        """The parameter's single value; None when it is absent, or invalid with the error noted."""
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
        """The member that the parameter names; None when it is absent, or invalid as `message`."""
        value = self.single(name)
        if value is None:
            return None
        if value in tuple(members):
            return members(value)
        self.invalid(name, message)
        return None

    def number(self, name: str, least: int, most: int, default: int) -> int:
        """The whole number of a parameter; the default when it is absent or invalid."""
        value = self.single(name)
        if value is None:
            return default
        if _NUMBER.fullmatch(value) and least <= int(value) <= most:
            return int(value)
        self.invalid(name, f"must be a whole number from {least} to {most}")
        return default

    def invalid(self, parameter: str, message: str) -> None:
        """Notes that a parameter has an invalid value; reading goes on."""
        self.fault(Rank.INVALID_VALUE, parameter, message)

    def fault(self, rank: Rank, parameter: str, message: str) -> None:
        """Notes an error, whose rank decides which error gives the problem its code."""
        self.faults.append(Fault(rank, parameter, message))

    def problem(self) -> Problem:
        """The problem with all errors; there must be at least one."""
        ranked = sorted(self.faults, key=attrgetter("rank"))
        first = ranked[0]
        return _PROBLEM[first.rank](
            f"{first.parameter}: {first.message}",
            errors=tuple(FieldError(parameter=f.parameter, message=f.message) for f in ranked),
        )
