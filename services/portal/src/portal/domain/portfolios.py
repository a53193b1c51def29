"""A watchlist as a portfolio: its counts, and the changes of the last days as a plot."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

from company_registry.models import Event, FacetCount

DAYS: Final = 7
#: Pixels of the plot.
WIDTH: Final = 336
HEIGHT: Final = 132
_TOP: Final = 20
_BOTTOM: Final = 108
_BAR: Final = 32

#: Statuses that have a tile if no company has them, too.
_ALWAYS: Final = ("active", "bankrupt", "ended")
_STATUSES: Final = ("active", "under_liquidation", "under_reconstruction", "bankrupt", "ended")

#: Municipalities that have a bar.
_MAX_BARS: Final = 6


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the plot; lengths are in pixels."""

    day: date
    count: int
    x: int
    height: int
    width: int = _BAR

    @property
    def y(self) -> int:
        """The top of the bar."""
        return _BOTTOM - self.height

    @property
    def middle(self) -> int:
        """The middle of the bar."""
        return self.x + self.width // 2


@dataclass(frozen=True, slots=True)
class Week:
    """The changes of the last seven days, today included."""

    days: tuple[Day, ...]
    #: The number of changes, and of the companies that have them.
    changes: int
    companies: int
    #: False if more changes were made than were read: days and numbers may be larger.
    is_complete: bool


def first_moment(now: datetime) -> datetime:
    """Returns the beginning of the first of the seven days, in the time zone of `now`."""
    return datetime.combine(now.date() - timedelta(days=DAYS - 1), time(), now.tzinfo)


def week(events: Iterable[Event], *, now: datetime, is_complete: bool) -> Week:
    """Returns the plot of the seven days up to `now`, in its time zone.

    Earlier events are omitted, and each is counted once.
    """
    first = first_moment(now)
    moments = {
        event.id: (datetime.fromisoformat(event.occurred_at), f"{event.country}:{event.vat}")
        for event in events
        if event.vat is not None
    }
    changed = [(at, company) for at, company in moments.values() if at >= first]
    by_day = Counter(at.astimezone(now.tzinfo).date() for at, _ in changed)
    highest = max(by_day.values(), default=1)
    between = WIDTH // DAYS
    return Week(
        days=tuple(
            Day(
                day=(day := first.date() + timedelta(days=place)),
                count=by_day[day],
                x=place * between + (between - _BAR) // 2,
                height=round((_BOTTOM - _TOP) * by_day[day] / highest),
            )
            for place in range(DAYS)
        ),
        changes=len(changed),
        companies=len({company for _, company in changed}),
        is_complete=is_complete,
    )


def last_changes(events: Iterable[Event]) -> Mapping[str, Event]:
    """Returns the newest event of each company, of events in their order."""
    return {f"{event.country}:{event.vat}": event for event in events}


def status_counts(counts: Sequence[FacetCount]) -> list[tuple[str, int]]:
    """Returns the statuses of a portfolio with their numbers of companies."""
    found = {each.value: each.count for each in counts}
    shown = [each for each in _STATUSES if each in found or each in _ALWAYS]
    return [(status, found.get(status, 0)) for status in shown]


def bars(counts: Sequence[FacetCount]) -> list[tuple[str, int, int]]:
    """Returns the most frequent values with their counts and the lengths of their bars, of 100."""
    shown = counts[:_MAX_BARS]
    highest = max((each.count for each in shown), default=1)
    return [(each.value, each.count, max(1, round(100 * each.count / highest))) for each in shown]
