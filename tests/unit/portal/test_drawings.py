"""The drawing of a company's owners and their owners, and the plot of a webhook's last day."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from company_registry import Attempt, Company
from portal.domain.drawings import BOX_HEIGHT, HOURS, MAX_BOXES, Drawing, Plot, drawing, plot
from tests.builders.answers import a_found_company, an_attempt

NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_company(vat: str, *owners: dict[str, Any]) -> Company:
    return Company.model_validate(a_found_company(vat=vat, owners=list(owners)))


def owner(vat: str | None = None, **fields: Any) -> dict[str, Any]:
    type_ = "person" if vat is None else "company"
    return {"name": f"Owner {vat}", "type": type_, "vat": vat, **fields}


def drawn(company: Company, *owners: Company) -> Drawing:
    """The drawing of a company, of whose owners these are known."""
    shown = drawing(company, {each.vat: each for each in owners})
    assert shown is not None
    return shown


def test_a_company_without_owners_has_no_drawing() -> None:
    assert drawing(a_company("1"), {}) is None


def test_owners_stand_to_the_right_each_joined_by_a_line() -> None:
    shown = drawn(a_company("1", owner("2"), owner()), a_company("2", owner("3")))

    own, *others = shown.boxes
    assert [box.vat for box in shown.boxes] == ["1", "2", "3", None]
    assert all(box.x > own.x for box in others)
    assert len(shown.lines) == 3
    assert (shown.lines[0].x2, shown.lines[0].y2) == (others[1].x, others[1].middle)


def test_boxes_of_a_column_do_not_overlap() -> None:
    shown = drawn(a_company("1", *(owner(str(number)) for number in range(2, 12))))

    tops = sorted(box.y for box in shown.boxes[1:])
    assert all(below - above >= BOX_HEIGHT for above, below in itertools.pairwise(tops))
    assert shown.height >= tops[-1] + BOX_HEIGHT


def test_companies_that_own_one_another_are_drawn_once() -> None:
    first, second = a_company("1", owner("2")), a_company("2", owner("1"))

    assert [box.vat for box in drawn(first, first, second).boxes] == ["1", "2", "1"]


def test_a_drawing_has_an_upper_bound() -> None:
    shown = drawn(a_company("1", *(owner() for _ in range(500))))

    assert len(shown.boxes) == MAX_BOXES


def test_a_share_is_an_interval_unless_it_is_known_exactly() -> None:
    interval, exact = {"min": "25", "max": "33.33"}, {"min": "50", "max": "50"}

    shown = drawn(a_company("1", owner(share=interval), owner(share=exact)))

    assert [box.share for box in shown.boxes] == ["", "25–33.33 %", "50 %"]


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


def test_hours_are_of_the_readers_zone_and_follow_each_other_over_a_change_of_clocks() -> None:
    # At 01:00 UTC clocks went from 02:00 to 03:00.
    now = datetime(2026, 3, 29, 4, 30, tzinfo=ZoneInfo("Europe/Oslo"))

    assert [each.begins.hour for each in plot([], now=now).hours[-4:]] == [0, 1, 3, 4]
