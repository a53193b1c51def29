"""The last day of a webhook as a plot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from statistics import median
from typing import Final

from company_registry.webhook_models import Attempt

HOURS: Final = 24
_HOUR: Final = timedelta(hours=1)
#: Pixels of the plot.
WIDTH: Final = 720
HEIGHT: Final = 180
_PLOT_LEFT: Final = 40
_PLOT_TOP: Final = 12
_PLOT_BOTTOM: Final = 150
_BAR: Final = 18


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the plot; lengths are in pixels."""

    begins: datetime
    succeeded: int
    failed: int
    #: Milliseconds; None without a response.
    median_ms: int | None
    x: int
    succeeded_height: int
    failed_height: int
    y_median: int | None

    @property
    def y_succeeded(self) -> int:
        """The top of the bar of successful attempts."""
        return _PLOT_BOTTOM - self.succeeded_height

    @property
    def y_failed(self) -> int:
        """The top of the bar of failed attempts, which stands on the other."""
        return self.y_succeeded - self.failed_height


@dataclass(frozen=True, slots=True)
class Plot:
    """The attempts of 24 hours, as counts, durations and lines."""

    hours: tuple[Hour, ...]
    succeeded: int
    failed: int
    #: Milliseconds: half of the attempts were faster, and 95 % of them.
    median_ms: int | None
    p95_ms: int | None
    #: Of the attempts' axis and of the durations' axis.
    top_count: int
    top_ms: int
    #: Points of the line of medians, as SVG writes them, in unbroken runs of hours.
    lines: tuple[str, ...]

    @property
    def success_rate(self) -> float | None:
        """The share of successful attempts, 0 to 1; None without attempts."""
        total = self.succeeded + self.failed
        return self.succeeded / total if total else None


def plot(attempts: Sequence[Attempt], *, now: datetime) -> Plot:
    """Returns the plot of the 24 hours before `now`, in its time zone.

    Older and cancelled attempts are omitted.
    """
    # Hours are counted in UTC: clocks may change among them.
    latest = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    first = latest - (HOURS - 1) * _HOUR
    by_hour = _by_hour(attempts, first)
    durations = [
        [one.duration_ms for one in hour if one.duration_ms is not None] for hour in by_hour
    ]
    medians = [round(median(found)) if found else None for found in durations]
    top_count = max(1, *map(len, by_hour))
    top_ms = max(1, *(value or 0 for value in medians))
    height = _PLOT_BOTTOM - _PLOT_TOP
    hours = []
    for place, (found, median_ms) in enumerate(zip(by_hour, medians, strict=True)):
        succeeded = sum(one.status == "succeeded" for one in found)
        failed = len(found) - succeeded
        hours.append(
            Hour(
                begins=(first + place * _HOUR).astimezone(now.tzinfo),
                succeeded=succeeded,
                failed=failed,
                median_ms=median_ms,
                x=_PLOT_LEFT + place * (WIDTH - 2 * _PLOT_LEFT) // HOURS,
                succeeded_height=round(height * succeeded / top_count),
                failed_height=round(height * failed / top_count),
                y_median=None
                if median_ms is None
                else _PLOT_BOTTOM - round(height * median_ms / top_ms),
            )
        )
    ranked = sorted(chain.from_iterable(durations))
    return Plot(
        hours=tuple(hours),
        succeeded=sum(hour.succeeded for hour in hours),
        failed=sum(hour.failed for hour in hours),
        median_ms=round(median(ranked)) if ranked else None,
        p95_ms=ranked[max(0, -(-len(ranked) * 95 // 100) - 1)] if ranked else None,
        top_count=top_count,
        top_ms=top_ms,
        lines=tuple(
            " ".join(f"{hour.x + _BAR // 2},{hour.y_median}" for hour in run)
            for has_median, run in groupby(hours, lambda hour: hour.y_median is not None)
            if has_median
        ),
    )


def _by_hour(attempts: Sequence[Attempt], first: datetime) -> list[list[Attempt]]:
    hours: list[list[Attempt]] = [[] for _ in range(HOURS)]
    for attempt in attempts:
        if attempt.attempted_at is not None and attempt.status != "cancelled":
            place = (datetime.fromisoformat(attempt.attempted_at) - first) // _HOUR
            if 0 <= place < HOURS:
                hours[place].append(attempt)
    return hours
