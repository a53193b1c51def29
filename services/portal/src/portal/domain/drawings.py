"""The attempts of a webhook as a plot: of the last day, week or month."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from statistics import median
from typing import Final

from company_registry.webhook_models import Attempt


@dataclass(frozen=True, slots=True)
class Span:
    """A time before now, in steps with a bar each."""

    name: str
    step: timedelta
    steps: int
    #: How the time of a bar is written.
    label: str
    #: Every so many bars have their time below.
    labelled: int

    @property
    def length(self) -> timedelta:
        """All of it."""
        return self.step * self.steps


SPANS: Final = {
    "day": Span("The last 24 hours", timedelta(hours=1), 24, "%H:00", 6),
    "week": Span("The last 7 days", timedelta(hours=8), 21, "%d/%m %H:00", 6),
    "month": Span("The last 30 days", timedelta(days=1), 30, "%d/%m", 7),
}
HOURS: Final = SPANS["day"].steps
#: Pixels of the plot.
WIDTH: Final = 720
HEIGHT: Final = 180
_PLOT_LEFT: Final = 40
_PLOT_TOP: Final = 12
_PLOT_BOTTOM: Final = 150
_BAR: Final = 18


@dataclass(frozen=True, slots=True)
class Hour:
    """One step of the plot, such as an hour; lengths are in pixels."""

    begins: datetime
    ends: datetime
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
    """The attempts of a span, as counts, durations and lines."""

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


def plot(attempts: Sequence[Attempt], *, now: datetime, span: Span = SPANS["day"]) -> Plot:
    """Returns the plot of the span before `now`, in its time zone.

    Older and cancelled attempts are omitted.
    """
    # Steps are counted in UTC: clocks may change among them. The last one is not over.
    latest = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    first = latest - span.step * span.steps + timedelta(hours=1)
    by_hour = _by_step(attempts, first, span)
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
                begins=(first + place * span.step).astimezone(now.tzinfo),
                ends=(first + (place + 1) * span.step).astimezone(now.tzinfo),
                succeeded=succeeded,
                failed=failed,
                median_ms=median_ms,
                x=_PLOT_LEFT + place * (WIDTH - 2 * _PLOT_LEFT) // span.steps,
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


def _by_step(attempts: Sequence[Attempt], first: datetime, span: Span) -> list[list[Attempt]]:
    steps: list[list[Attempt]] = [[] for _ in range(span.steps)]
    for attempt in attempts:
        if attempt.attempted_at is not None and attempt.status != "cancelled":
            place = (datetime.fromisoformat(attempt.attempted_at) - first) // span.step
            if 0 <= place < span.steps:
                steps[place].append(attempt)
    return steps
