"""The plot of a webhook's last day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from company_registry import Attempt
from portal.domain.drawings import HOURS, SPANS, Plot, plot
from tests.builders.answers import an_attempt

NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def attempted(*, ago: timedelta = timedelta(), status: str = "succeeded", ms: int = 100) -> Attempt:
    at = (NOW - ago).isoformat()
    return Attempt.model_validate(an_attempt(status=status, duration_ms=ms, attempted_at=at))


def plotted(*attempts: Attempt) -> Plot:
    return plot(attempts, now=NOW)


def test_attempts_are_counted_in_their_hour() -> None:
    shown = plotted(attempted(), attempted(ago=HOUR, status="failed"), attempted(ago=HOUR))

    assert [(each.succeeded, each.failed) for each in shown.hours[-3:]] == [(0, 0), (1, 1), (1, 0)]
    assert len(shown.hours) == HOURS
    assert shown.success_rate == 2 / 3


def test_cancelled_and_older_attempts_are_left_out() -> None:
    shown = plotted(attempted(ago=25 * HOUR), attempted(status="cancelled"))

    assert (shown.success_rate, shown.median_ms, shown.lines) == (None, None, ())


def test_durations_have_a_median_and_a_95th_percentile() -> None:
    shown = plotted(*(attempted(ms=ms) for ms in range(1, 101)))

    assert (shown.p95_ms, shown.median_ms) == (95, 50)


def test_the_line_of_medians_has_a_gap_where_nothing_was_attempted() -> None:
    assert len(plotted(attempted(), attempted(ago=2 * HOUR)).lines) == 2


def test_the_highest_bar_fills_the_plot() -> None:
    shown = plotted(*[attempted(status="failed")] * 4)

    assert (shown.top_count, shown.hours[-1].y_failed) == (4, 12)


def test_a_week_and_a_month_have_steps_up_to_now() -> None:
    for name in ("week", "month"):
        span = SPANS[name]
        attempts = [attempted(), attempted(ago=span.length - 2 * HOUR, status="failed")]
        shown = plot(attempts, now=NOW, span=span)

        assert len(shown.hours) == span.steps
        assert shown.hours[-1].ends >= NOW
        assert [(each.succeeded, each.failed) for each in shown.hours[:: span.steps - 1]] == [
            (0, 1),
            (1, 0),
        ]
        assert all(each.x + 18 <= 680 for each in shown.hours)


def test_hours_are_of_the_readers_zone_and_follow_each_other_over_a_change_of_clocks() -> None:
    # At 01:00 UTC clocks went from 02:00 to 03:00.
    now = datetime(2026, 3, 29, 4, 30, tzinfo=ZoneInfo("Europe/Oslo"))

    assert [each.begins.hour for each in plot([], now=now).hours[-4:]] == [0, 1, 3, 4]
