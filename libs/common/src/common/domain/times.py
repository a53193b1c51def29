"""Days and times as clients write them (RFC 3339); every parameter and field reads them with this.

ISO 8601's other forms, such as the week date `2026-W10-1`, are days and times nowhere.
"""

import re
from datetime import UTC, date, datetime
from typing import Final

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
)


def read_day(text: str) -> str | None:
    """Returns a day such as 2026-01-31; None for a text that is none."""
    try:
        return date.fromisoformat(text).isoformat() if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def read_time(text: str) -> datetime | None:
    """Returns a time with its offset in UTC; None for a text that is none.

    `t` and `z` may be lower case.
    """
    upper = text.upper()
    if not _TIME.fullmatch(upper):
        return None
    try:
        return datetime.fromisoformat(upper).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
