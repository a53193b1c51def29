"""Arguments as people give them: one text where a list is due, and days and times.

What cannot be meant raises ValueError in a sentence, before a request is made.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime


def texts(given: Iterable[str] | str) -> tuple[str, ...]:
    """Returns the texts; a single text is a list of one, and not its letters."""
    return (given,) if isinstance(given, str) else tuple(given)


def parts(include: Iterable[str] | str) -> tuple[str, ...]:
    """Returns the parts to include; one text is a part, or several with commas."""
    return tuple(part.strip() for text in texts(include) for part in text.split(",") if part)


def day(name: str, given: date | None) -> str:
    """Returns a day as a parameter; empty without one. Raises ValueError for a text."""
    if given is None:
        return ""
    _check(name, given, date)
    return (given.date() if isinstance(given, datetime) else given).isoformat()


def moment(name: str, given: datetime | None) -> str:
    """Returns a time in UTC as a parameter; empty without one. Raises ValueError for a text."""
    if given is None:
        return ""
    _check(name, given, datetime)
    return given.astimezone(UTC).isoformat().replace("+00:00", "Z")


def day_or_moment(name: str, given: date | datetime | None) -> str:
    """Returns a day or a time as a parameter; empty without one. Raises ValueError for a text."""
    return moment(name, given) if isinstance(given, datetime) else day(name, given)


def _check(name: str, given: object, type_: type[date]) -> None:
    if not isinstance(given, type_):
        meant = f"{type_.__name__}.fromisoformat({given!r})" if isinstance(given, str) else ""
        raise ValueError(
            f"{name} must be a datetime.{type_.__name__}, not {type(given).__name__}"
            + (f": {meant}" if meant else "")
        )
