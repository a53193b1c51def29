"""The plot of a webhook's last day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from company_registry import Attempt
from portal.domain.plot import HOURS, plot

NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)


def an_attempt(
    *, ago: timedelta = timedelta(), status: str = "succeeded", ms: int | None = 100
) -> Attempt:
    return Attempt(
        delivery_id="d",
        event_id="e",
        event_type="company.updated",
        attempt=1,
        status=status,
        duration_ms=ms,
        attempted_at=(NOW - ago).isoformat(),
    )


def test_attempts_are_counted_in_their_hour() -> None:
    hour = timedelta(hours=1)
    shown = plot(
        [an_attempt(), an_attempt(ago=hour, status="failed"), an_attempt(ago=hour)], now=NOW
    )

    assert [(each.succeeded, each.failed) for each in shown.hours[-3:]] == [(0, 0), (1, 1), (1, 0)]
    assert len(shown.hours) == HOURS
    assert shown.success_rate == 2 / 3


def test_cancelled_and_older_attempts_are_left_out() -> None:
    old = an_attempt(ago=timedelta(hours=25))

    shown = plot([old, an_attempt(status="cancelled")], now=NOW)

    assert shown.success_rate is None
    assert shown.median_ms is None
    assert shown.lines == ()


def test_durations_have_a_median_and_a_95th_percentile() -> None:
    shown = plot([an_attempt(ms=ms) for ms in range(1, 101)], now=NOW)

    assert shown.p95_ms == 95
    assert shown.median_ms == 50


def test_the_line_of_medians_has_a_gap_where_nothing_was_attempted() -> None:
    shown = plot([an_attempt(), an_attempt(ago=timedelta(hours=2))], now=NOW)

    assert len(shown.lines) == 2


def test_the_highest_bar_fills_the_plot() -> None:
    shown = plot([an_attempt(status="failed")] * 4, now=NOW)

    assert shown.top_count == 4
    assert shown.hours[-1].y_failed == 12


def test_hours_are_of_the_readers_zone_and_follow_each_other_over_a_change_of_clocks() -> None:
    # At 01:00 UTC clocks went from 02:00 to 03:00.
    now = datetime(2026, 3, 29, 4, 30, tzinfo=ZoneInfo("Europe/Oslo"))

    hours = plot([], now=now).hours

    assert [each.begins.hour for each in hours[-4:]] == [0, 1, 3, 4]
