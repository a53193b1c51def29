"""Values of CVR with their periods, read as of a day.

A document has the whole history, and what is to come: a value is current from its first to its
last day.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

from ingest.records.fields import Day, Document, LastDay


class Period(Document):
    """The first and the last day of a value; a current one may have no last day."""

    gyldig_fra: Day = None
    gyldig_til: LastDay = None


class Dated(Document):
    """A value with the period in which it holds."""

    periode: Period | None = None

    @property
    def since(self) -> str | None:
        """The first day of the value; None if unknown."""
        return None if self.periode is None else self.periode.gyldig_fra

    @property
    def until(self) -> str | None:
        """The last day of the value; None if it has none."""
        return None if self.periode is None else self.periode.gyldig_til


Value = TypeVar("Value", bound=Dated)


class AsOf:
    """The day as of which a document is read, and the next day on which it reads differently.

    Each value that is looked at may bring that day nearer.
    """

    def __init__(self, today: date) -> None:
        self.today = today.isoformat()
        self._next: str | None = None

    @property
    def next_day(self) -> date | None:
        """The first later day on which a value that was looked at begins or is over."""
        return None if self._next is None else date.fromisoformat(self._next)

    def has_begun(self, value: Dated) -> bool:
        """Returns True unless the value begins later."""
        since = value.since
        if since is None or since <= self.today:
            return True
        self._notice(since)
        return False

    def is_current(self, value: Dated) -> bool:
        """Returns True if the value has begun and is not over."""
        period = value.periode
        if period is None:
            return True
        since, until = period.gyldig_fra, period.gyldig_til
        if since is not None and since > self.today:
            self._notice(since)
            return False
        if until is None:
            return True
        if until < self.today:
            return False
        self._notice(_day_after(until))
        return True

    def is_alive(self, life: Dated) -> bool:
        """Returns True if a life has begun and has not ended: its last day is its end."""
        until = life.until
        if not self.has_begun(life) or (until is not None and until <= self.today):
            return False
        if until is not None:
            self._notice(until)
        return True

    def current(self, values: Sequence[Value]) -> list[Value]:
        """Returns the current values, the newest first."""
        is_current = self.is_current
        found = [value for value in values if is_current(value)]
        if len(found) > 1:
            found.sort(key=lambda value: value.since or "", reverse=True)
        return found

    def past(self, values: Sequence[Value]) -> list[Value]:
        """Returns the values that are over, the last ones first."""
        found = [value for value in values if value.until is not None and value.until < self.today]
        found.sort(key=lambda value: (value.until or "", value.since or ""), reverse=True)
        return found

    def latest(self, values: Sequence[Value]) -> Value | None:
        """Returns the current value, or else the last one, or else the first to come."""
        if not values:
            return None
        found = self.current(values) or self.past(values)
        return found[0] if found else min(values, key=lambda value: value.since or "")

    def _notice(self, day: str | None) -> None:
        if day is not None and (self._next is None or day < self._next):
            self._next = day


def _day_after(day: str) -> str | None:
    """Returns the day after; None after the last day of the calendar."""
    given = date.fromisoformat(day)
    return None if given == date.max else (given + timedelta(days=1)).isoformat()
