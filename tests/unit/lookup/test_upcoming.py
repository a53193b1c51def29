"""The records as which a document will read on later days."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from common.contracts.company import Status
from lookup.loading.stores import day_of
from lookup.records.records import CompanyRecord, Raw, UnitRecord
from lookup.records.source import MAX_UPCOMING, parse
from tests.builders.companies import (
    TODAY,
    a_company,
    a_company_record,
    a_unit,
    a_unit_record,
    company_in,
    unit_in,
)


def day(number: int) -> date:
    return TODAY + timedelta(days=number)


def named(raw: Raw, today: date) -> CompanyRecord:
    """Reads a document of names, each with the number of days until it begins."""
    begun = [name for name, days in raw.items() if day(days) <= today]
    later = [day(days) for days in raw.values() if day(days) > today]
    record = a_company_record(a_company(name=begun[-1]))
    return CompanyRecord.of(
        company_in(record),
        phones=(),
        units=(),
        owners=(),
        version=record.version,
        next_day=min(later, default=None),
    )


def ending(raw: Raw, today: date) -> UnitRecord:
    """Reads a document of a unit that ends after a number of days."""
    has_ended = day(raw["days"]) <= today
    record = a_unit_record(a_unit(status=Status.ENDED if has_ended else Status.ACTIVE))
    return UnitRecord.of(
        unit_in(record),
        record.key.country,
        company="12345674",
        phones=(),
        version=record.version,
        next_day=None if has_ended else day(raw["days"]),
    )


def names(record: Any) -> list[tuple[date, str]]:
    return [(day, company_in(later).name) for day, later in record.upcoming]


def test_a_record_has_those_of_each_later_day() -> None:
    record = parse(named, {"Nu": -30, "Snart": 3, "Siden": 40}, TODAY)

    assert company_in(record).name == "Nu"  # type: ignore[arg-type]
    assert names(record) == [(day(3), "Snart"), (day(40), "Siden")]


def test_a_record_that_stays_has_none() -> None:
    record = parse(named, {"Nu": -30}, TODAY)

    assert isinstance(record, CompanyRecord)
    assert record.upcoming == ()


def test_a_unit_has_its_later_days_too() -> None:
    record = parse(ending, {"days": 5}, TODAY)

    assert isinstance(record, UnitRecord)
    assert [(day, unit_in(later).status) for day, later in record.upcoming] == [
        (day(5), Status.ENDED)
    ]


def test_the_later_days_of_a_document_are_bounded() -> None:
    record = parse(named, {f"Navn {days}": days for days in range(3 * MAX_UPCOMING)}, TODAY)

    assert [when for when, _ in names(record)] == [day(n + 1) for n in range(MAX_UPCOMING)]


@pytest.mark.parametrize(
    "moment, expected",
    [
        (datetime(2026, 1, 1, 22, 59, tzinfo=UTC), date(2026, 1, 1)),
        (datetime(2026, 1, 1, 23, 0, tzinfo=UTC), date(2026, 1, 2)),
        (datetime(2026, 7, 1, 22, 0, tzinfo=UTC), date(2026, 7, 2)),
    ],
)
def test_a_day_begins_at_midnight_in_copenhagen_and_oslo(moment: datetime, expected: date) -> None:
    assert day_of(moment) == expected
