"""The last day of a webhook: attempts and their durations per hour, as geometry of a plot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

from company_registry.webhook_models import Attempt

HOURS: Final = 24
_HOUR: Final = timedelta(hours=1)
#: Pixels of the drawing.
WIDTH: Final = 720
HEIGHT: Final = 180
_PLOT_LEFT: Final = 40
_PLOT_TOP: Final = 12
_PLOT_BOTTOM: Final = 150
_BAR: Final = 18


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the plot; heights are pixels from the bottom."""

    begins: datetime
    succeeded: int
    failed: int
    #: Milliseconds; None without a response.
    median_ms: int | None
    x: int
    succeeded_height: int
    failed_height: int
    y_succeeded: int
    y_failed: int
    y_median: int | None


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
    begins = _beginnings(now)
    hours = _by_hour(attempts, begins[0])
    durations = sorted(_durations([one for hour in hours for one in hour]))
    medians = [round(median(found)) if (found := _durations(hour)) else None for hour in hours]
    top_count = max(1, *map(len, hours))
    top_ms = max(1, *(value or 0 for value in medians))
    drawn = tuple(
        _hour(place, begins[place], hour, medians[place], top_count, top_ms)
        for place, hour in enumerate(hours)
    )
    return Plot(
        hours=drawn,
        succeeded=sum(hour.succeeded for hour in drawn),
        failed=sum(hour.failed for hour in drawn),
        median_ms=round(median(durations)) if durations else None,
        p95_ms=durations[max(0, -(-len(durations) * 95 // 100) - 1)] if durations else None,
        top_count=top_count,
        top_ms=top_ms,
        lines=_lines(drawn),
    )


def _beginnings(now: datetime) -> list[datetime]:
    """Returns the beginnings of the hours, counted in UTC: clocks may change among them."""
    latest = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    ago = range(HOURS - 1, -1, -1)
    return [(latest - hours * _HOUR).astimezone(now.tzinfo) for hours in ago]


def _by_hour(attempts: Sequence[Attempt], first: datetime) -> list[list[Attempt]]:
    hours: list[list[Attempt]] = [[] for _ in range(HOURS)]
    for attempt in attempts:
        if attempt.attempted_at is None or attempt.status == "cancelled":
            continue
        place = (datetime.fromisoformat(attempt.attempted_at) - first) // timedelta(hours=1)
        if 0 <= place < HOURS:
            hours[place].append(attempt)
    return hours


def _durations(attempts: Sequence[Attempt]) -> list[int]:
    return [one.duration_ms for one in attempts if one.duration_ms is not None]


def _hour(  # noqa: PLR0913 (the parts of one bar)
    place: int,
    begins: datetime,
    attempts: Sequence[Attempt],
    median_ms: int | None,
    top_count: int,
    top_ms: int,
) -> Hour:
    height = _PLOT_BOTTOM - _PLOT_TOP
    succeeded = sum(one.status == "succeeded" for one in attempts)
    failed = len(attempts) - succeeded
    succeeded_height = round(height * succeeded / top_count)
    failed_height = round(height * failed / top_count)
    return Hour(
        begins=begins,
        succeeded=succeeded,
        failed=failed,
        median_ms=median_ms,
        x=_PLOT_LEFT + place * (WIDTH - 2 * _PLOT_LEFT) // HOURS,
        succeeded_height=succeeded_height,
        failed_height=failed_height,
        y_succeeded=_PLOT_BOTTOM - succeeded_height,
        y_failed=_PLOT_BOTTOM - succeeded_height - failed_height,
        y_median=None if median_ms is None else _PLOT_BOTTOM - round(height * median_ms / top_ms),
    )


def _lines(hours: Sequence[Hour]) -> tuple[str, ...]:
    runs: list[list[str]] = [[]]
    for hour in hours:
        if hour.y_median is None:
            runs.append([])
        else:
            runs[-1].append(f"{hour.x + _BAR // 2},{hour.y_median}")
    return tuple(" ".join(run) for run in runs if run)
