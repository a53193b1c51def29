"""Rules of feeds: which entries count, when files are due, and the records of ended entities."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from common.contracts.company import CompanyKey, Status, UnitKey
from ingest.changes.states import CompanyState, StoredState, UnitState
from ingest.changes.unit_plans import Ended, ended_record, has_ended
from ingest.loading.stores import Cursor, Position
from ingest.records.fields import read_document
from ingest.records.records import CompanyRecord
from ingest.registers.brreg.api import ChangeNotice, End, FeedPage, after_page, split_notices
from ingest.registers.peppol.sync import download_is_due
from register_store.documents import BEGINNING, dump
from tests.builders.companies import (
    MONDAY,
    TODAY,
    a_company_record,
    a_norwegian_company,
    a_unit,
    company_in,
    contents,
)

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
COMPANY, UNIT = CompanyKey.parse("no:987654321"), UnitKey.parse("no:912345678")


def a_cursor(**fields: Any) -> Cursor:
    return Cursor(**{"position": Position(BEGINNING), "until": BEGINNING, **fields})


def known(*, status: Status = Status.ACTIVE, unit_ended: str | None = None) -> StoredState:
    company = a_norwegian_company(status=status)
    unit_status = Status.ENDED if unit_ended else Status.ACTIVE
    unit = a_unit(number="912345678", status=unit_status, ended=unit_ended)
    return StoredState(
        companies={COMPANY: CompanyState(3, core=dump(company), phones=("22334455",))},
        units={UNIT: UnitState(2, dump(unit), COMPANY, ("33445566",), MONDAY)},
    )


def test_a_number_with_several_notices_is_fetched_once_for_the_last() -> None:
    notices = [ChangeNotice(*given) for given in (("1", 5), ("2", 6), ("1", 9), ("1", 7))]

    assert split_notices(notices) == ([], [ChangeNotice("1", 9), ChangeNotice("2", 6)])


def test_a_removed_number_is_not_fetched() -> None:
    notices = [ChangeNotice("1", 5), ChangeNotice("1", 6, removed=True), ChangeNotice("1", 7)]

    assert split_notices(notices) == (["1"], [])


def test_an_ended_company_keeps_its_stored_fields() -> None:
    record = ended_record(COMPANY, Ended("2026-11-01"), known())

    assert isinstance(record, CompanyRecord)
    end = {
        "status": "ended",
        "status_text": "Slettet",
        "status_since": "2026-11-01",
        "ended": "2026-11-01",
    }
    assert company_in(record) == a_norwegian_company().model_copy(update=end)
    assert record.phones == ("22334455",)


def test_an_ended_unit_keeps_its_company_and_the_day_on_which_it_closed() -> None:
    ended = Ended("2026-11-01")

    for closed_on, day in ((None, "2026-11-01"), ("2020-01-01", "2020-01-01")):
        record = ended_record(UNIT, ended, known(unit_ended=closed_on))

        assert record is not None
        assert (contents(record).company, contents(record).ended) == (COMPANY, day)


def test_an_unknown_ended_company_has_the_fields_of_the_answer() -> None:
    ended, told = Ended("2026-11-01"), a_company_record()
    owners_alone = StoredState(companies={COMPANY: CompanyState(0, owners=b"[]")})

    assert ended_record(COMPANY, ended, StoredState()) is None
    assert ended_record(COMPANY, ended, owners_alone) is None
    assert ended_record(COMPANY, Ended("2026-11-01", told), StoredState()) == told


def test_ended_companies_and_units_may_be_absent_from_a_file() -> None:
    assert has_ended(COMPANY, known(status=Status.ENDED))
    assert has_ended(UNIT, known(unit_ended="2020-01-01"))
    assert not has_ended(COMPANY, known(status=Status.BANKRUPT))
    assert not has_ended(UNIT, known())
    assert not has_ended(UNIT, StoredState())


def test_a_cursor_has_the_time_up_to_which_changes_are_stored() -> None:
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
def test_a_download_is_due_once_a_day_within_the_directorys_limit(
    read: datetime | None, downloads: tuple[datetime, ...], *, due: bool
) -> None:
    cursor = a_cursor(reconciled_at=read, downloads=downloads)

    assert download_is_due(cursor, NOON, every=DAY, max_per_day=3) is due


def test_a_feed_that_ends_with_unreadable_entries_is_not_read_to_its_end() -> None:
    cursor = a_cursor(until=NOON - HOUR)
    unreadable_tail = FeedPage((), Position(NOON - DAY), is_last=True, unreadable_tail=1)
    dated_ahead = FeedPage((), Position(NOON + DAY), is_last=False)

    assert after_page(cursor, unreadable_tail, NOON).until == NOON - HOUR
    assert after_page(cursor, dated_ahead, NOON).until == NOON


@pytest.mark.parametrize(
    "document,is_past",
    [
        ({}, False),
        ({"respons_klasse": "Enhet"}, False),
        ({"respons_klasse": "Enhet", "slettedato": "2026-03-04"}, True),
        ({"respons_klasse": "Enhet", "slettedato": "2026-03-05"}, False),
        ({"respons_klasse": "SlettetEnhet"}, True),
        ({"respons_klasse": "SlettetUnderEnhet", "slettedato": "2026-03-05"}, True),
    ],
)
def test_an_answer_tells_whether_its_subject_was_deleted(
    document: dict[str, str], *, is_past: bool
) -> None:
    assert read_document(End, document).is_past(TODAY) is is_past
