"""Parsing of the fields of a register's document.

A document is declared as a model with the register's own names and only the fields in use. Each
declared field has its declared type; otherwise the document is refused, naming the field.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from common.contracts.company import CodedText, Country, LegalForm
from common.domain.numbers import is_digits, registered_phone
from lookup.records.records import Raw, RecordRejected

#: The range of integers that MongoDB and API clients can hold.
MAX_INT64: Final = 2**63 - 1
#: More than any number of people or years.
_MAX_COUNT: Final = 2**31 - 1
#: Digits of an amount of money, before and after the decimal point.
_MAX_DIGITS: Final = 24

_BREAKS = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
#: Control characters, surrogates, and other characters that XML does not allow.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


class Document(BaseModel):
    """A document; `antall_ansatte` is the register's field `antallAnsatte`."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


AnyDocument = TypeVar("AnyDocument", bound=Document)
Item = TypeVar("Item")


def read_document(model: type[AnyDocument], raw: Raw) -> AnyDocument:
    """Returns the parsed document; raises RecordRejected with the first invalid field."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise RecordRejected(_reason(error.errors(include_url=False)[0])) from None


def _reason(error: ErrorDetails) -> str:
    field = ""
    for step in error["loc"]:
        field += f"[{step}]" if isinstance(step, int) else f".{step}"
    return f"{field[1:]}: {'missing' if error['type'] == 'missing' else error['msg']}"


def first(values: Sequence[Item]) -> Item | None:
    """Returns the first of the values; None if there is none."""
    return values[0] if values else None


def each_once(values: Iterable[Item | None]) -> tuple[Item, ...]:
    """Returns the values that are not None in their order, each once."""
    return tuple(dict.fromkeys(value for value in values if value is not None))


def coded(code: str | None, description: str | None) -> CodedText | None:
    """Returns a code of the register with its description; None without a code."""
    return None if code is None else CodedText(code=code, description=description)


def legal_form(code: str | None, description: str | None, short: str | None) -> LegalForm | None:
    """Returns a legal form with its abbreviation; None without a code."""
    return None if code is None else LegalForm(code=code, description=description, short=short)


def country_code(code: str | None) -> str | None:
    """Returns the ISO 3166 code of a country in upper case; None for another text."""
    return code.upper() if code and len(code) == 2 else None


def phones(texts: Iterable[str | None], country: Country) -> tuple[str, ...]:
    """Returns the phone numbers in a register's texts, each once."""
    return each_once(registered_phone(text, country) for text in texts if text)


def required(value: str | None, field: str) -> str:
    """Returns a required field; raises RecordRejected if it is empty after cleaning."""
    if value is None:
        raise RecordRejected(f"{field}: missing")
    return value


def _line(value: object, *, breaks: re.Pattern[str] = _BREAKS, kept: str = " ") -> object:
    if not isinstance(value, str):
        return value
    if not value.isprintable():
        value = _UNSAFE.sub("", breaks.sub(kept, value))
    return value.strip() or None


def _lines(value: object) -> object:
    return _line(value, breaks=_LINE_BREAK, kept="\n")


def _day(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value[:10]).isoformat() if value else None
    except ValueError:
        raise PydanticCustomError("day", "not a date") from None


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


def _word(value: object) -> object:
    return str(value) if type(value) is int else _line(value)


def _flag(value: object) -> object:
    return {"J": True, "N": False}.get(value, value) if isinstance(value, str) else value


def none_as_empty(value: object) -> object:
    """Returns an empty tuple for null, before a list is validated."""
    return () if value is None else value


def amount_of(value: object) -> str | None:
    """Returns the amount of a text; raises ValueError."""
    if value is None:
        return None
    try:
        amount = Decimal(str(value))
        rounded = amount.quantize(Decimal("0.01"))
    except InvalidOperation:
        rounded = amount = Decimal("NaN")
    if not amount.is_finite() or abs(int(amount.as_tuple().exponent)) > _MAX_DIGITS:
        raise PydanticCustomError("amount", "not an amount of money")
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


#: On one line, trimmed, without control characters; None if nothing is left.
Text = Annotated[str | None, BeforeValidator(_line)]
#: The same from a text or a number.
Word = Annotated[str | None, BeforeValidator(_word)]
#: A text that keeps its line breaks.
Lines = Annotated[str | None, BeforeValidator(_lines)]
#: `2017-02-05`, also if the register adds a time.
Day = Annotated[str | None, BeforeValidator(_day)]
#: In UTC; a time without an offset is taken as UTC.
Moment = Annotated[datetime | None, BeforeValidator(_moment)]
Flag = Annotated[bool | None, BeforeValidator(_flag)]
Count = Annotated[int | None, Field(ge=0, le=_MAX_COUNT)]
#: A decimal number as text, with two decimals or as many as it needs.
Amount = Annotated[str | None, BeforeValidator(amount_of)]
#: A list that may also be null.
Many = Annotated[tuple[Item, ...], BeforeValidator(none_as_empty)]
