"""Parsing of the fields of a register's document.

A document is declared as a model with the register's own names and only the fields in use. A value
that is not of its field's type is odd: it is left out, and the document tells its path. A document
is refused only without a field that it must have, such as its number.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from common.contracts.company import CodedText, Country, LegalForm
from common.domain.numbers import is_digits, registered_phones
from ingest.records.records import Raw, RecordRejected

#: The range of integers that MongoDB and API clients can hold.
MAX_INT64: Final = 2**63 - 1
#: More than any number of people or years.
_MAX_COUNT: Final = 2**31 - 1
#: Digits of an amount of money, before and after the decimal point.
_MAX_DIGITS: Final = 24
#: More than the codes of a register, of which each becomes one object.
_MAX_CODES: Final = 8192
#: `1.250.000,00`, `1250,5` and `1.250.000`: numbers as Danes and Norwegians write them.
_COMMA_DECIMAL: Final = re.compile(r"-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+|-?\d{1,3}(?:\.\d{3}){2,}")

#: How many steps above the value at fault is left out. A missing field takes along what cannot be
#: without it; a value whose last day is unreadable may have ended.
_LEFT_OUT: Final = {"missing": 1, "last_day": 2}
_Path = tuple[int | str, ...]

_BREAKS = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
#: Control characters, surrogates, and other characters that XML does not allow.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


Item = TypeVar("Item")


class cached_property(functools.cached_property[Item]):  # noqa: N801 (as that of functools)
    """As that of Python 3.12, without the lock, which takes longer than most properties."""

    def __get__(self, instance: object, owner: object = None) -> Item:  # type: ignore[override]
        value: Item = self.func(instance)
        vars(instance)[self.attrname or ""] = value
        return value


class Document(BaseModel):
    """A document; `antall_ansatte` is the register's field `antallAnsatte`."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, alias_generator=to_camel, ignored_types=(cached_property,)
    )

    @cached_property
    def odd(self) -> list[str]:
        """The paths of values that were left out, and of words that nobody knows."""
        return []


AnyDocument = TypeVar("AnyDocument", bound=Document)


def read_document(model: type[AnyDocument], raw: Raw) -> AnyDocument:
    """Returns the parsed document without its odd values, whose paths it tells.

    Raises RecordRejected, naming a field that must not be missing.
    """
    odd: dict[str, str] = {}
    while True:
        try:
            document = model.model_validate(raw)
        except ValidationError as error:
            raw = _without_errors(raw, error.errors(include_url=False), odd)
        else:
            if odd:
                document.odd.extend(odd)
            return document


def _without_errors(raw: Any, errors: Sequence[ErrorDetails], odd: dict[str, str]) -> Any:
    """Returns the document without what is at fault, and adds the path and fault of each."""
    left_out = {error["loc"][: -_LEFT_OUT.get(error["type"], 0) or None]: error for error in errors}
    for path, error in left_out.items():
        name = ".".join(step for step in error["loc"] if isinstance(step, str))
        odd.setdefault(name, "missing" if error["type"] == "missing" else error["msg"])
        if not path:
            raise RecordRejected(f"{name}: {odd[name]}")
    # The last items of a list first, so that the places of the others hold.
    for path in reversed(left_out):
        if not any(path[:count] in left_out for count in range(1, len(path))):
            raw = _without(raw, path)
    return raw


def _without(value: Any, path: _Path) -> Any:
    step, rest = path[0], path[1:]
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    if rest and isinstance(copy[step], Mapping | list):
        copy[step] = _without(copy[step], rest)
    else:
        del copy[step]
    return copy


def first(values: Sequence[Item]) -> Item | None:
    """Returns the first of the values; None if there is none."""
    return values[0] if values else None


def each_once(values: Iterable[Item | None]) -> tuple[Item, ...]:
    """Returns the values that are not None in their order, each once."""
    return tuple(dict.fromkeys(value for value in values if value is not None))


@lru_cache(_MAX_CODES)
def coded(code: str | None, description: str | None) -> CodedText | None:
    """Returns a code of the register with its description; None without a code."""
    return None if code is None else CodedText(code=code, description=description)


@lru_cache(_MAX_CODES)
def legal_form(code: str | None, description: str | None, short: str | None) -> LegalForm | None:
    """Returns a legal form with its abbreviation; None without a code."""
    return None if code is None else LegalForm(code=code, description=description, short=short)


def country_code(code: str | None) -> str | None:
    """Returns the ISO 3166 code of a country in upper case; None for another text."""
    return code.upper() if code and len(code) == 2 else None


def phones(texts: Iterable[str | None], country: Country) -> tuple[str, ...]:
    """Returns the phone numbers in a register's texts, each once."""
    return each_once(phone for text in texts if text for phone in registered_phones(text, country))


def required(value: str | None, field: str) -> str:
    """Returns a required field; raises RecordRejected if it is empty after cleaning."""
    if value is None:
        raise RecordRejected(f"{field}: missing")
    return value


def _line(value: object, *, breaks: re.Pattern[str] = _BREAKS, kept: str = " ") -> object:
    if not isinstance(value, str):
        return str(value) if type(value) is int else value
    if not value.isprintable():
        value = _UNSAFE.sub("", breaks.sub(kept, value))
    return value.strip() or None


def _lines(value: object) -> object:
    return _line(value, breaks=_LINE_BREAK, kept="\n")


@lru_cache(maxsize=1 << 15)
def iso_day(text: str) -> str | None:
    """Returns the day that a text begins with; None if it has none. A register repeats its days."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return None


def _day(value: object) -> object:
    if not isinstance(value, str):
        return value
    if not value:
        return None
    if (day := iso_day(value)) is None:
        raise PydanticCustomError("day", "not a date")
    return day


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        # In UTC it may be before the first year or after the last.
        moment = moment and moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise PydanticCustomError("moment", "not a time")
    return moment


def _flag(value: object) -> object:
    return {"J": True, "N": False}.get(value, value) if isinstance(value, str) else value


def none_as_empty(value: object) -> object:
    """Returns an empty tuple for null, before a list is validated."""
    return () if value is None else value


def decimal_of(text: str) -> Decimal:
    """Returns the number of `0.25`, `0,25`, `1 250 000` or `1.250.000,00`; raises ValueError."""
    bare = "".join(text.split())
    if _COMMA_DECIMAL.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    try:
        number = Decimal(bare)
    except InvalidOperation:
        raise ValueError("not a number") from None
    if not number.is_finite() or abs(int(number.as_tuple().exponent)) > _MAX_DIGITS:
        raise ValueError("not a number")
    return number


def amount_of(value: object) -> str | None:
    """Returns the amount of a text; raises ValueError."""
    if value is None:
        return None
    if type(value) is int or (type(value) is float and value.is_integer()):
        return f"{Decimal(value):.2f}"
    try:
        amount = decimal_of(str(value))
        rounded = amount.quantize(Decimal("0.01"))
    except (InvalidOperation, ValueError):
        raise PydanticCustomError("amount", "not an amount of money") from None
    return f"{rounded:f}" if rounded == amount else f"{amount.normalize():f}"


def digits(count: int) -> BeforeValidator:
    """Reads a number of `count` digits; as a JSON number it has lost its leading zeros."""

    def read(value: object) -> str:
        text = str(value).zfill(count) if type(value) is int else value
        text = text.replace(" ", "") if isinstance(text, str) else ""
        if not is_digits(text, count):
            raise PydanticCustomError("digits", "not a number of {count} digits", {"count": count})
        return text

    return BeforeValidator(read)


@dataclass(frozen=True, slots=True)
class _Usual:
    """Keeps a text of the usual form as it is, without a call of Python; reads any other value."""

    form: str
    read: Callable[[object], object]
    error: Any
    message: str | None = None

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        others = core_schema.nullable_schema(core_schema.str_schema())
        return core_schema.nullable_schema(
            core_schema.union_schema(
                [
                    core_schema.str_schema(strict=True, pattern=self.form),
                    core_schema.no_info_before_validator_function(self.read, others),
                ],
                mode="left_to_right",
                custom_error_type=self.error,
                custom_error_message=self.message,
            )
        )


#: Printable characters of Latin scripts, neither the first nor the last a space.
_USUAL_LINE: Final = r"\A[{0}](?:[{0} ]*[{0}])?\z".format(r"!-~\xa1-\xac\xae-\u024f")
#: A day that every month has.
_USUAL_DAY: Final = r"\A[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])\z"

#: On one line, trimmed, without control characters; None if nothing is left. A number is a text.
Text = Annotated[str | None, _Usual(_USUAL_LINE, _line, "string_type")]
Word = Text
#: A text that keeps its line breaks.
Lines = Annotated[str | None, _Usual(_USUAL_LINE, _lines, "string_type")]
#: `2017-02-05`, also if the register adds a time.
Day = Annotated[str | None, _Usual(_USUAL_DAY, _day, "day", "not a date")]
#: The last day of a value: an unreadable one leaves out the value with its period.
LastDay = Annotated[str | None, _Usual(_USUAL_DAY, _day, "last_day", "not a date")]
#: In UTC; a time without an offset is taken as UTC.
Moment = Annotated[datetime | None, BeforeValidator(_moment)] | None
Flag = Annotated[bool | None, BeforeValidator(_flag)] | None
Count = Annotated[int | None, Field(ge=0, le=_MAX_COUNT)]
#: A decimal number as text, with two decimals or as many as it needs.
Amount = Annotated[str | None, BeforeValidator(amount_of)] | None
#: A list that may also be null.
Many = Annotated[tuple[Item, ...], BeforeValidator(none_as_empty)]
