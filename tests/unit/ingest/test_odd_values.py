"""Odd values of records are counted and logged, and refuse nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from ingest.changes.states import Verdict
from ingest.following.passes import PassTelemetry
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position
from tests.builders.companies import a_company, a_company_record

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def test_very_many_kinds_of_a_source_are_counted_together_from_the_two_hundred_and_first_on() -> (
    None
):
    telemetry = PassTelemetry("dk-many", lambda: NOW)

    for first in (0, 150):
        tally = Tally()
        for number in range(first, first + 150):
            tally.odd.count(f"path{number}", "dk:12345674")
        telemetry.done(tally, Cursor(Position(NOW), until=NOW), timedelta(), moved=True)

    def counted(field: str) -> float | None:
        return REGISTRY.get_sample_value(
            "sync_odd_values_total", {"source": "dk-many", "field": field}
        )

    assert [counted(f"path{number}") for number in (0, 199, 200)] == [1, 1, None]
    assert counted("(others)") == 100


def test_a_pass_counts_the_odd_values_of_its_records_and_files_by_field_in_one_line() -> None:
    tally = Tally()
    odd = [
        replace(a_company_record(a_company(vat=vat)), odd=paths)
        for vat, paths in (("12345674", ("navne", "capital")), ("87654321", ("capital",)))
    ]
    tally.judged(odd, [Verdict.NEW, Verdict.NEW])
    tally.odd.noticed(odd[:1])

    with capture_logs() as lines:
        PassTelemetry("dk-odd", lambda: NOW).done(
            tally, Cursor(Position(NOW), until=NOW), timedelta(), moved=True
        )

    counted = {
        field: REGISTRY.get_sample_value(
            "sync_odd_values_total", {"source": "dk-odd", "field": field}
        )
        for field in ("navne", "capital", "other")
    }
    assert counted == {"navne": 2, "capital": 3, "other": None}
    [line] = [line for line in lines if line["event"] == "sync.odd_values"]
    assert line["fields"] == {
        "capital": "3, as in dk:12345674",
        "navne": "2, as in dk:12345674",
    }
