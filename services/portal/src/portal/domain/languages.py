"""Dates and numbers as the browser's language has them; the words are English."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from babel import Locale
from babel.core import UnknownLocaleError
from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal, format_percent

_ENGLISH: Final = Locale("en", "GB")

_LANGUAGE = re.compile(
    r"\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\s*(?:;\s*q=([01](?:\.\d{1,3})?))?\s*"
)

#: A browser sends a handful; a longer header is not read to its end.
_MAX_LANGUAGES: Final = 20


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats of dates and numbers in one language. Unknown values are a dash."""

    locale: Locale

    def date(self, text: str | None) -> str:
        """`2026-03-02` as a date."""
        try:
            return (
                "–"
                if text is None
                else format_date(date.fromisoformat(text), "medium", self.locale)
            )
        except ValueError:
            return text or "–"

    def moment(self, text: str | None) -> str:
        """RFC 3339 as a date and a time in UTC."""
        try:
            moment = None if text is None else datetime.fromisoformat(text).astimezone(UTC)
        except ValueError:
            return text or "–"
        if moment is None:
            return "–"
        return f"{format_datetime(moment, 'medium', locale=self.locale)} UTC"

    def number(self, value: float | str | None) -> str:
        try:
            return "–" if value is None else str(format_decimal(value, locale=self.locale))
        except (ValueError, ArithmeticError):
            return str(value)

    def percent(self, share: float | None) -> str:
        """A share of 1 as a percentage with at most one decimal."""
        return "–" if share is None else str(format_percent(share, "#,##0.# %", locale=self.locale))


def formats_for(accept_language: str) -> Formats:
    """The formats of the first language that is known; British English without one."""
    ranked = []
    for part in accept_language.split(",")[:_MAX_LANGUAGES]:
        match = _LANGUAGE.fullmatch(part)
        if match is not None and float(match[2] or 1) > 0:
            ranked.append((float(match[2] or 1), match[1]))
    for _, tag in sorted(ranked, key=lambda one: -one[0]):
        try:
            return Formats(Locale.parse(tag, sep="-"))
        except (UnknownLocaleError, ValueError):
            continue
    return Formats(_ENGLISH)
