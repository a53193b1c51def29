"""Filings of the Danish index: which are annual accounts, and which document has their figures."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.records.records import RecordRejected
from ingest.registers.cvr.accounts_sync import Window
from ingest.registers.cvr.filings import filing_of

XML, PDF, XHTML, TIFF = "application/xml", "application/pdf", "application/xhtml+xml", "image/tiff"


def document(kind: str, mime: str = XML, name: str = "a") -> dict[str, str]:
    return {
        "dokumentType": kind,
        "dokumentMimeType": mime,
        "dokumentUrl": f"http://regnskaber.example.com/1/{name}",
    }


def hit(*documents: dict[str, str], **changes: Any) -> dict[str, Any]:
    source = {
        "cvrNummer": 9000004,
        "offentliggoerelsestype": "regnskab",
        "omgoerelse": False,
        "offentliggoerelsesTidspunkt": "2026-05-30T22:00:00.000Z",
        "regnskab": {"regnskabsperiode": {"startDato": "2025-01-01", "slutDato": "2025-12-31"}},
        "dokumenter": list(documents or [document("AARSRAPPORT")]),
        **changes,
    }
    return {"_id": "urn:ofk:oid:1", "_source": source}


def names(found: Sequence[str]) -> list[str]:
    return [each.rpartition("/")[2] for each in found]


def test_a_filing_is_read() -> None:
    found = filing_of(
        hit(document("AARSRAPPORT"), document("AARSRAPPORT", PDF, "b"), omgoerelse=True)
    )

    assert found is not None
    assert (found.id, found.number, found.published) == (
        "urn:ofk:oid:1",
        "09000004",
        "2026-05-30T22:00:00Z",
    )
    assert (found.is_correction, names(found.documents)) == (True, ["a"])
    assert found.pdf == "http://regnskaber.example.com/1/b"


def test_esef_is_the_source_and_the_stub_beside_it_is_read() -> None:
    found = filing_of(
        hit(
            document("AARSRAPPORT", name="stub"),
            document("AARSRAPPORT_ESEF", name="esef"),
            document("AARSRAPPORT", XHTML, "big"),
            document("ESEF_EXTENSION", "application/zip", "zip"),
        )
    )

    assert found is not None
    assert names(found.documents) == ["esef", "stub"]


@pytest.mark.parametrize(
    "documents,changes",
    [
        ([document("DELAARSRAPPORT"), document("AARSRAPPORT_ESEF")], {}),
        ([document("HALVAARSRAPPORT_ESEF")], {}),
        ([document("IFRS_EXTENSION")], {}),
        ([document("AARSRAPPORT")], {"offentliggoerelsestype": "aktionaerregister"}),
    ],
)
def test_what_is_no_annual_report_is_left_out(
    documents: list[dict[str, str]], changes: dict[str, Any]
) -> None:
    assert filing_of(hit(*documents, **changes)) is None


@pytest.mark.parametrize("mime", [TIFF, PDF, XHTML])
def test_a_filing_without_xbrl_has_no_document(mime: str) -> None:
    found = filing_of(hit(document("AARSRAPPORT", mime)))

    assert found is not None
    assert (found.documents, found.pdf is not None) == ((), mime == PDF)


@pytest.mark.parametrize(
    "kind", ["AFSLUTTENDE_LIKVIDATIONSREGNSKAB", "INDLEDENDE_LIKVIDATIONSREGNSKAB"]
)
def test_accounts_on_liquidation_are_annual(kind: str) -> None:
    found = filing_of(hit(document(kind)))

    assert found is not None
    assert found.is_liquidation


@pytest.mark.parametrize(
    "changes,reason",
    [
        ({"cvrNummer": None}, "cvrNummer"),
        ({"cvrNummer": True}, "cvrNummer"),
        ({"cvrNummer": 123456789}, "cvrNummer"),
        ({"regnskab": None}, "regnskabsperiode"),
        ({"regnskab": {"regnskabsperiode": {"startDato": "2025", "slutDato": "x"}}}, "startDato"),
        (
            {
                "regnskab": {
                    "regnskabsperiode": {"startDato": "2026-01-01", "slutDato": "2025-12-31"}
                }
            },
            "ends before",
        ),
        ({"dokumenter": "none"}, "dokumenter"),
    ],
)
def test_an_unusable_hit_is_refused_with_its_field(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordRejected, match=reason):
        filing_of(hit(**changes))


def test_the_published_time_may_be_missing() -> None:
    found = filing_of(hit(offentliggoerelsesTidspunkt=None))

    assert found is not None
    assert found.published is None


def leaves(window: Window) -> int:
    """The number of least windows on the way down, along the first halves and the last."""
    count = 0
    while not window.is_least:
        first, second = window.halves()
        assert (first.since, second.until) == (window.since, window.until)
        assert (first.low, second.high) == (window.low, window.high)
        window = first if count % 2 else second
        count += 1
    return count


def test_a_window_is_halved_by_time_and_then_by_number() -> None:
    years = Window(datetime(1900, 1, 1, tzinfo=UTC), datetime(2026, 11, 28, tzinfo=UTC))

    assert 60 < leaves(years) < 80


def test_halves_of_a_window_share_nothing() -> None:
    moment = datetime(2013, 5, 30, 22, tzinfo=UTC)
    instant = Window(moment, moment.replace(microsecond=1000))

    first, second = instant.halves()

    assert first.high == second.low
    assert (first.since, second.since) == (moment, moment)
    assert {"range": {"cvrNummer": {"gte": 0, "lt": first.high}}} in first.query()["query"]["bool"][
        "filter"
    ]
