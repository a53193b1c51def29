"""Cells of workbooks as text: numbers as their formats show them, days, and errors."""

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

#: Errors of Excel, LibreOffice and Google Sheets in any language, also those of later releases.
_ERROR: Final = re.compile(r"#[^\W\d_][\w/ ]*[!?]|#(N/A|I/T)|#GETTING_DATA|Err:[0-9]{3}", re.I)

#: Parts of a format that stand for themselves, and those in brackets: colours and conditions.
_LITERAL: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.I)
_DATE: Final = re.compile(r"[dmyhs]", re.I)
#: Formats of days and times that a workbook names by number alone.
_DATES: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})

#: The day before the first one, which counts a 29th of February 1900 that was none.
_DAY_0: Final = datetime(1899, 12, 30)  # noqa: DTZ001 (a workbook has no time zone)
#: Days between the two calendars of Excel.
_FROM_1904: Final = 1462
#: A number of more days, after the year 2199, is no day, whatever its format.
_MAX_DAYS: Final = 109_574


class Format(NamedTuple):
    """The text that the format of a number adds to it."""

    #: The fewest digits before the decimal point.
    digits: int = 1
    is_date: bool = False


GENERAL: Final = Format()


def format_of(code: str, number: int = 0) -> Format:
    """Returns a format by its code, or by its number if a workbook does not write it."""
    if not code:
        return Format(is_date=number in _DATES)
    positive = _LITERAL.sub("", code).partition(";")[0]
    if positive.lower() != "general" and _DATE.search(positive):
        return Format(is_date=True)
    return Format(max(1, positive.partition(".")[0].count("0")))


def number_text(text: str, given: Format = GENERAL, *, from_1904: bool = False) -> str:
    """Returns a number as people read it: with its leading zeros, and never rounded."""
    if text.isdecimal() and text.isascii() and not given.is_date:
        return text.lstrip("0").zfill(given.digits)
    try:
        value = float(text)
    except ValueError:
        return text
    if given.is_date and 0 < value <= _MAX_DAYS:
        return _day(value + (_FROM_1904 if from_1904 else 0))
    if not value.is_integer():
        return repr(value)
    return str(int(value)) if value < 0 else str(int(value)).zfill(given.digits)


def _day(days: float) -> str:
    moment = _DAY_0 + timedelta(seconds=round(days * 86_400))
    return str(moment) if days % 1 else str(moment.date())


def without_error(text: str) -> str:
    """Returns the text of a cell, empty if it is the error of a formula."""
    is_error = text[:1] in ("#", "E", "e") and _ERROR.fullmatch(text.strip())
    return "" if is_error else text
