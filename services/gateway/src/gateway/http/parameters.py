"""Query strings as pydantic models, whose errors become problems in words of this API.

All errors are collected before any is reported, so that a client can fix them together. The
parameter `format` or the header `Accept` selects the format of a response.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Final, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo

from common.contracts.company import Country
from common.contracts.failures import FieldError
from common.domain.sentences import did_you_mean, unknown_names
from common.domain.times import read_time
from common.domain.written import read_country
from gateway.problems import InvalidParameter, MissingParameter, MultipleSearchParameters, Problem

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

#: A decoded query string: each parameter with all its values, in order.
Parameters = Mapping[str, Sequence[str]]

COUNTRY, FORMAT = "country", "format"
#: Ends the message about a search without a country.
OF_BOTH = "; GET /api/companies?q= searches the names of both registers"

#: Maximum number of values of a list, and characters of each.
MAX_VALUES: Final = 50
MAX_LENGTH: Final = 100

#: Replaces bytes that are not UTF-8.
_UNDECODABLE = "\ufffd"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")

JSON, HTML = "application/json", "text/html"
#: The second is an older name of the first.
XML = ("application/xml", "text/xml")

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


class Rank(IntEnum):
    """Precedence of errors: the first gives the problem's code."""

    MISSING_COUNTRY = 1
    SEVERAL_SEARCHES = 2
    MISSING_SEARCH = 3
    INVALID_VALUE = 4


_PROBLEM: Final[dict[Rank, type[Problem]]] = {
    Rank.MISSING_COUNTRY: MissingParameter,
    Rank.SEVERAL_SEARCHES: MultipleSearchParameters,
    Rank.MISSING_SEARCH: MissingParameter,
    Rank.INVALID_VALUE: InvalidParameter,
}


class Fault(NamedTuple):
    """An error in one parameter; `message` states the expected value."""

    message: str
    rank: Rank = Rank.INVALID_VALUE
    #: None: the parameter of the field whose validator raises it.
    parameter: str | None = None


class Invalid(ValueError):
    """Raised by a validator of a query's field."""

    def __init__(self, *faults: Fault | str) -> None:
        super().__init__()
        self.faults = [Fault(each) if isinstance(each, str) else each for each in faults]


class Query(BaseModel):
    """A query string: each field reads the values of one parameter.

    Errors are reported in the order of the fields. A validator finds the fields before its own in
    `info.data`, unless they are invalid.
    """

    model_config = ConfigDict(frozen=True)

    @classmethod
    def parse(cls, parameters: Mapping[str, Any], **context: Any) -> Self:
        """Returns the query; raises the problem with all of its errors."""
        try:
            return cls.model_validate(parameters, context={"parameters": parameters, **context})
        except ValidationError as invalid:
            raise _problem(invalid) from None


def context_of(info: ValidationInfo) -> Mapping[str, Any]:
    """Returns the context of a query: its `parameters`, and what `Query.parse` was given."""
    context: Mapping[str, Any] = info.context or {}
    return context


def _problem(invalid: ValidationError) -> Problem:
    found = [
        fault._replace(parameter=fault.parameter or str(error["loc"][0]))
        for error in invalid.errors(include_url=False, include_input=False)
        for fault in error["ctx"]["error"].faults
    ]
    ranked = sorted(found, key=lambda fault: fault.rank)
    errors = tuple(FieldError(parameter=f.parameter or "", message=f.message) for f in ranked)
    return _PROBLEM[ranked[0].rank](f"{errors[0].parameter}: {errors[0].message}", errors=errors)


def invalid_parameters(faults: Sequence[tuple[str, str]]) -> InvalidParameter:
    """Returns the problem with parameters and their messages; there must be at least one."""
    errors = tuple(FieldError(parameter=name, message=message) for name, message in faults)
    return InvalidParameter(f"{errors[0].parameter}: {errors[0].message}", errors=errors)


def unknown_parameters(given: Iterable[str], known: Sequence[str]) -> InvalidParameter:
    """Returns the problem with unknown parameters, of which there is at least one."""
    return invalid_parameters(unknown_names("parameter", given, known))


#: The default of a field whose parameter is required: its validator is called with no values.
REQUIRED: Final[Any] = Field(default=(), validate_default=True)


def single(values: Sequence[str]) -> str:
    """Returns the value of a parameter that is given once; raises Invalid."""
    if len(values) > 1:
        raise Invalid("must be given once")
    if not values[0].strip():
        raise Invalid("must not be empty")
    if _UNDECODABLE in values[0]:
        raise Invalid("must be UTF-8, percent-encoded in a URL")
    return values[0]


def listed(values: Sequence[str]) -> tuple[str, ...]:
    """Returns the different values of a parameter, repeated or separated by commas."""
    found = tuple(dict.fromkeys(part.strip() for text in values for part in text.split(",")))
    if "" in found:
        raise Invalid("must not be empty")
    if len(found) > MAX_VALUES:
        raise Invalid(f"must have at most {MAX_VALUES} values")
    if any(len(each) > MAX_LENGTH or _UNDECODABLE in each for each in found):
        raise Invalid(f"must be UTF-8, of at most {MAX_LENGTH} characters each")
    return found


def listed_countries(values: Sequence[str]) -> tuple[Country, ...]:
    """Returns the countries that a parameter lists, in their order."""
    named = [read_country(each) for each in listed(values)]
    if None in named:
        raise Invalid("must be dk, no or both")
    return tuple(each for each in Country if each in named)


def once(read: Callable[[str], T]) -> PlainValidator:
    """Returns the validator of a parameter that is given once."""
    return PlainValidator(lambda values: read(single(values)))


def required(message: str) -> Callable[[Sequence[str]], str]:
    """Returns a reader of a parameter that must be given once."""

    def read(values: Sequence[str]) -> str:
        if not values:
            raise Invalid(Fault(message, Rank.MISSING_SEARCH))
        return single(values)

    return read


def one_country(hint: str = "") -> PlainValidator:
    """Returns the validator of the required country."""

    def read(values: Sequence[str]) -> Country:
        if not values:
            raise Invalid(Fault(f"required; give dk or no{hint}", Rank.MISSING_COUNTRY))
        country = read_country(single(values))
        if country is None:
            raise Invalid("must be dk or no")
        return country

    return PlainValidator(read)


def choice(members: type[E], message: str) -> Callable[[str], E]:
    """Returns the reader of a member's name, in any case."""

    def read(value: str) -> E:
        for each in members:
            if each == value.casefold():
                return each
        raise Invalid(message + did_you_mean(value, tuple(members)))

    return read


def number(least: int, most: int) -> PlainValidator:
    """Returns the validator of a whole number."""

    def read(value: str) -> int:
        if _NUMBER.fullmatch(value) and least <= int(value) <= most:
            return int(value)
        raise Invalid(f"must be a whole number from {least} to {most}")

    return once(read)


def boolean(values: Sequence[str]) -> bool:
    """Returns the value of a parameter that is given once, true or false; raises Invalid."""
    value = single(values)
    if value not in ("true", "false"):
        raise Invalid("must be true or false")
    return value == "true"


def read_moment(value: str, message: str) -> datetime:
    """Returns a time with its offset in UTC; raises Invalid."""
    # A query decodes + as a space.
    moment = read_time(value[:11] + value[11:].replace(" ", "+"))
    if moment is None:
        raise Invalid(message)
    return moment


Text = Annotated[str, PlainValidator(single)]


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
    family = media_type.partition("/")[0]
    for covering in (media_type, f"{family}/*", "*/*"):
        if covering in ranges:
            return ranges[covering]
    return 0.0


def _ranges(accept: str) -> dict[str, float]:
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
