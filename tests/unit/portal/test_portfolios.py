"""A portfolio's counts, and its changes by day."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from company_registry.models import Event, FacetCount
from portal.domain.portfolios import bars, first_moment, last_changes, status_counts, week

OSLO = ZoneInfo("Europe/Oslo")
NOW = datetime(2026, 3, 8, 12, tzinfo=OSLO)


def an_event(id_: str, at: str, vat: str | None = "1") -> Event:
    return Event(id=id_, type="company.updated", occurred_at=at, country="dk", vat=vat)


def test_changes_are_counted_by_days_of_the_time_zone_and_each_once() -> None:
    events = [
        an_event("e0", "2026-03-01T22:59:59Z"),
        an_event("e1", "2026-03-01T23:00:00Z"),
        an_event("e2", "2026-03-08T09:00:00Z"),
        an_event("e2", "2026-03-08T09:00:00Z"),
        an_event("e3", "2026-03-08T10:00:00Z", vat="2"),
        an_event("e4", "2026-03-08T10:00:00Z", vat=None),
    ]

    found = week(events, now=NOW, is_complete=True)

    assert first_moment(NOW).isoformat() == "2026-03-02T00:00:00+01:00"
    assert [each.count for each in found.days] == [1, 0, 0, 0, 0, 0, 2]
    assert (found.changes, found.companies) == (3, 2)
    assert [found.days[0].day, found.days[-1].day] == [date(2026, 3, 2), date(2026, 3, 8)]
    assert (found.days[0].height, found.days[-1].height) == (44, 88)
    assert found.days[-1].y == 20


def test_a_week_without_changes_has_no_bars() -> None:
    assert {each.height for each in week([], now=NOW, is_complete=True).days} == {0}


def test_the_newest_event_of_a_company_is_the_last() -> None:
    events = [an_event("e1", "2026-03-01T23:00:00Z"), an_event("e2", "2026-03-02T23:00:00Z")]

    assert {key: event.id for key, event in last_changes(events).items()} == {"dk:1": "e2"}


def test_statuses_without_companies_are_told_if_a_portfolio_is_about_them() -> None:
    counts = [FacetCount(value=value, count=7) for value in ("under_liquidation", "active")]

    assert status_counts(counts) == [
        *(("active", 7), ("under_liquidation", 7), ("bankrupt", 0), ("ended", 0))
    ]


def test_bars_are_as_long_as_their_shares_of_the_largest() -> None:
    counts = [FacetCount(value=f"{size}", count=size) for size in (1000, 500, 1)]

    assert bars(counts) == [("1000", 1000, 100), ("500", 500, 50), ("1", 1, 1)]
    assert len(bars([*counts] * 3)) == 6
    assert bars([]) == []
