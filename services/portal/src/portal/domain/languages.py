"""Dates and numbers as the browser's language has them, in one time zone; the words are English."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import UnknownLocaleError
from babel.dates import format_date, format_datetime, format_skeleton, format_time
from babel.numbers import format_decimal, format_percent

_ENGLISH: Final = Locale("en", "GB")

_LANGUAGE = re.compile(
    r"\s*([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\s*(?:;\s*q=([01](?:\.\d{1,3})?))?\s*"
)

_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){1,2}")

#: A browser sends a handful; a longer header is not read to its end.
_MAX_LANGUAGES: Final = 20


Day = date


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats of dates and numbers in one language and time zone. Unknown values are a dash."""

    locale: Locale
    zone: tzinfo = UTC

    @property
    def zone_name(self) -> str:
        """Such as `Europe/Copenhagen`."""
        return str(self.zone).replace("_", " ")

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

    def day(self, text: str | None) -> str:
        """RFC 3339 as the date in the time zone, such as `2 Mar 2026`."""
        try:
            moment = None if text is None else datetime.fromisoformat(text).astimezone(self.zone)
        except (ValueError, OverflowError):
            return text or "–"
        return "–" if moment is None else str(format_date(moment, "medium", self.locale))

    def weekday(self, day: Day) -> str:
        """Such as `Mon 2`."""
        return str(format_date(day, "EEE d", self.locale))

    def moment(self, text: str | None) -> str:
        """RFC 3339 as a date and a time, such as `2 Mar 2026, 12:00:00 CET`."""
        try:
            moment = None if text is None else datetime.fromisoformat(text).astimezone(self.zone)
        except (ValueError, OverflowError):
            return text or "–"
        if moment is None:
            return "–"
        shown = format_datetime(moment, "medium", tzinfo=self.zone, locale=self.locale)
        return f"{shown} {moment.tzname()}"

    def minute(self, text: str | None) -> str:
        """RFC 3339 as a day of the year and a time, such as `2 Mar, 12:00`."""
        try:
            moment = None if text is None else datetime.fromisoformat(text).astimezone(self.zone)
        except (ValueError, OverflowError):
            return text or "–"
        if moment is None:
            return "–"
        day = format_skeleton("MMMd", moment, tzinfo=self.zone, locale=self.locale)
        return f"{day}, {format_time(moment, 'short', tzinfo=self.zone, locale=self.locale)}"

    def ago(self, moment: str | datetime, now: datetime) -> str:
        """RFC 3339 as an age, such as `5 minutes ago`; after a day, the date."""
        try:
            at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
            age = now - at
            local = at.astimezone(self.zone)
        except (ValueError, TypeError, OverflowError):
            return str(moment)
        if age < timedelta(minutes=1):
            return "just now"
        if age < timedelta(days=1):
            # Whole units: nothing is said to be older than it is.
            hours, minutes = divmod(age // timedelta(minutes=1), 60)
            count, unit = (hours, "hour") if hours else (minutes, "minute")
            return f"{count} {unit}{'s'[: count > 1]} ago"
        return str(format_date(local, "medium", self.locale))

    def read(self, text: str) -> datetime:
        """Returns a value of `datetime-local`; raises ValueError for another form."""
        try:
            return datetime.fromisoformat(text).replace(tzinfo=self.zone).astimezone(UTC)
        except OverflowError:
            raise ValueError("a time outside of the calendar") from None

    def number(self, value: float | str | None) -> str:
        """Returns a number in the reader's format; a text that is none is left as it is."""
        try:
            return "–" if value is None else str(format_decimal(value, locale=self.locale))
        except (ValueError, ArithmeticError):
            return str(value)

    def percent(self, share: float | None) -> str:
        """Returns a share of 1 as a percentage with at most one decimal."""
        return "–" if share is None else str(format_percent(share, "#,##0.# %", locale=self.locale))

    def read_all(self, given: Mapping[str, str]) -> tuple[dict[str, datetime], dict[str, str]]:
        """Returns the times of fields that are not empty, and what is wrong with others."""
        times: dict[str, datetime] = {}
        wrong: dict[str, str] = {}
        for name, text in given.items():
            try:
                if text:
                    times[name] = self.read(text)
            except ValueError:
                wrong[name] = "Enter a date and a time."
        return times, wrong


def formats_for(accept_language: str, zone: str = "") -> Formats:
    """The formats of the first language that is known; British English and UTC without one."""
    return Formats(_locale(accept_language), _zone(zone))


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if _ZONE.fullmatch(name) else UTC
    except (ValueError, LookupError, OSError):
        return UTC


def _locale(accept_language: str) -> Locale:
    ranked = []
    for part in accept_language.split(",")[:_MAX_LANGUAGES]:
        match = _LANGUAGE.fullmatch(part)
        if match is not None and float(match[2] or 1) > 0:
            ranked.append((float(match[2] or 1), match[1]))
    for _, tag in sorted(ranked, key=lambda one: -one[0]):
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return _ENGLISH
