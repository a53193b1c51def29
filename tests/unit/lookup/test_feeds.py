"""What is decided about feeds: which entries count, when files are due, what an end leaves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Status, UnitKey
from lookup.ingest.digests import Part
from lookup.ingest.feeds import (
    BEGINNING,
    ChangeNotice,
    Cursor,
    Ended,
    FeedPage,
    Position,
    after_page,
    download_is_due,
    ended_record,
    is_over,
    sorted_out,
)
from lookup.ingest.planning.states import CompanyState, Known, UnitState
from lookup.ingest.records import CompanyRecord, UnitRecord
from lookup.store.canonical_json import dump
from tests.builders.companies import a_company, a_company_record, a_unit

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
COMPANY, UNIT = CompanyKey("no:987654321"), UnitKey("no:912345678")


def a_cursor(**fields: Any) -> Cursor:
    return Cursor(**{"position": Position(BEGINNING), "until": BEGINNING, **fields})


def known(*, status: Status = Status.ACTIVE, unit_ended: str | None = None) -> Known:
    company = a_company(country=Country.NO, vat="987654321", status=status)
    unit = a_unit(
        number="912345678",
        status=Status.ENDED if unit_ended else Status.ACTIVE,
        ended=unit_ended,
    )
    return Known(
        companies={COMPANY: CompanyState(3, core=dump(company), phones=("22334455",))},
        units={UNIT: UnitState(2, dump(unit), COMPANY, ("33445566",))},
    )


def test_a_number_that_is_mentioned_often_is_fetched_once_for_its_last_mention() -> None:
    notices = [
        ChangeNotice("1", 5),
        ChangeNotice("2", 6),
        ChangeNotice("1", 9),
        ChangeNotice("1", 7),
    ]

    assert sorted_out(notices) == ([], [ChangeNotice("1", 9), ChangeNotice("2", 6)])


def test_a_number_that_is_removed_is_not_fetched_whatever_else_is_told_of_it() -> None:
    notices = [ChangeNotice("1", 5), ChangeNotice("1", 6, removed=True), ChangeNotice("1", 7)]

    assert sorted_out(notices) == (["1"], [])


def test_an_ended_company_keeps_all_that_was_known() -> None:
    record = ended_record(Part.COMPANY, COMPANY, Ended("2026-11-01"), known())

    assert isinstance(record, CompanyRecord)
    before = a_company(country=Country.NO, vat="987654321")
    assert orjson.loads(dump(record.company)) == {
        **before.model_dump(mode="json"),
        "status": "ended",
        "status_text": "Slettet",
        "ended": "2026-11-01",
    }
    assert record.phones == ("22334455",)


def test_an_ended_unit_keeps_its_company_and_the_day_on_which_it_closed() -> None:
    ended = Ended("2026-11-01")

    open_until_then = ended_record(Part.UNIT, UNIT, ended, known())
    closed_before = ended_record(Part.UNIT, UNIT, ended, known(unit_ended="2020-01-01"))

    assert isinstance(open_until_then, UnitRecord)
    assert isinstance(closed_before, UnitRecord)
    assert open_until_then.company == COMPANY
    assert open_until_then.unit.ended == "2026-11-01"
    assert closed_before.unit.ended == "2020-01-01"


def test_of_an_unknown_company_that_ended_there_is_what_the_register_still_tells() -> None:
    told = a_company_record()

    assert ended_record(Part.COMPANY, COMPANY, Ended("2026-11-01"), Known()) is None
    assert ended_record(Part.COMPANY, COMPANY, Ended("2026-11-01", told), Known()) == told


def test_owners_alone_are_not_a_company_that_could_end() -> None:
    stub = Known(companies={COMPANY: CompanyState(0, owners=b"[]")})

    assert ended_record(Part.COMPANY, COMPANY, Ended("2026-11-01"), stub) is None


def test_what_has_ended_need_not_be_in_a_file() -> None:
    assert is_over(COMPANY, known(status=Status.ENDED))
    assert is_over(UNIT, known(unit_ended="2020-01-01"))
    assert not is_over(COMPANY, known(status=Status.BANKRUPT))
    assert not is_over(UNIT, known())
    assert not is_over(UNIT, Known())


def test_a_cursor_tells_up_to_when_all_is_stored() -> None:
    read_to = Position(NOON - HOUR, 17)
    some = FeedPage((), read_to, is_last=False)

    on_the_way = after_page(a_cursor(), some, NOON)
    at_the_end = after_page(a_cursor(), replace(some, is_last=True), NOON)

    assert (on_the_way.position, on_the_way.until) == (read_to, NOON - HOUR)
    assert (at_the_end.position, at_the_end.until) == (read_to, NOON)


@pytest.mark.parametrize(
    "read,downloads,due",
    [
        (None, (), True),
        (NOON - 25 * HOUR, (NOON - 25 * HOUR,), True),
        (NOON - 23 * HOUR, (NOON - 23 * HOUR,), False),
        # The last download came to nothing.
        (NOON - 30 * HOUR, (NOON - 2 * HOUR,), False),
        (NOON - 30 * HOUR, (NOON - 9 * HOUR,), True),
        (NOON - 30 * HOUR, (NOON - 23 * HOUR, NOON - 16 * HOUR, NOON - 9 * HOUR), False),
        (NOON - 50 * HOUR, (NOON - 26 * HOUR, NOON - 16 * HOUR, NOON - 9 * HOUR), True),
    ],
)
def test_a_file_is_downloaded_once_a_day_and_never_oftener_than_its_directory_allows(
    read: datetime | None, downloads: tuple[datetime, ...], *, due: bool
) -> None:
    cursor = a_cursor(reconciled_at=read, downloads=downloads)

    assert download_is_due(cursor, NOON, every=DAY, most=3) is due


def test_a_feed_that_ends_with_unreadable_entries_was_not_read_to_its_end() -> None:
    cursor = a_cursor(until=NOON - HOUR)
    standing = FeedPage((), Position(NOON - DAY), is_last=True, standing=1)
    dated_ahead = FeedPage((), Position(NOON + DAY), is_last=False)

    assert after_page(cursor, standing, NOON).until == NOON - HOUR
    assert after_page(cursor, dated_ahead, NOON).until == NOON
