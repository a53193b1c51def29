"""The history of a company in lines: days, kinds and words."""

from datetime import UTC, date
from typing import Any
from zoneinfo import ZoneInfo

from company_registry.models import HistoryEntry
from portal.domain.histories import Day, days_of


def an_entry(time: str, *changes: dict[str, Any], **fields: Any) -> HistoryEntry:
    given = {"time": time, "dated": len(time) == 10, "type": "company.updated", **fields}
    return HistoryEntry.model_validate({**given, "changes": changes})


def a_value(field: str, new: Any, old: Any = None) -> dict[str, Any]:
    return {"field": field, "old": old, "new": new}


FOUNDED = "1999-11-15"
FOUNDATION = [
    an_entry(FOUNDED, a_value("founded", FOUNDED)),
    an_entry(FOUNDED, a_value("name", "ApS KBIL 17 NR. 0000")),
    an_entry(FOUNDED, a_value("address", {"text": "Lindeallé 11", "street": "Lindeallé 11"})),
    an_entry(
        FOUNDED,
        a_value("status", "active"),
        a_value("status_text", "NORMAL"),
        type="company.status_changed",
    ),
    an_entry(
        FOUNDED,
        {
            **a_value("owners", [{"name": "Prøve Holding ApS", "share": {"min": "5", "max": "9"}}]),
            "partial": True,
        },
        type="owners.changed",
    ),
]
RENAMED = an_entry("2026-03-02T23:30:00Z", a_value("name", "Ny ApS", "Gammel ApS"))
MOVED = an_entry("2026-03-02T12:00:00Z", a_value("address.text", "B 1", "A 1"))


def texts(days: list[Day]) -> list[tuple[str, list[str]]]:
    return [(each.day, [entry.brief.text for entry in each.entries]) for each in days]


def test_the_dates_of_one_day_are_one_line_in_words() -> None:
    assert texts(days_of(FOUNDATION, UTC)) == [
        (
            FOUNDED,
            ["Founded as ApS KBIL 17 NR. 0000 at Lindeallé 11 · Owner: Prøve Holding ApS, 5–9 %"],
        )
    ]


def test_seen_changes_are_lines_of_their_day_in_the_readers_zone() -> None:
    assert texts(days_of([RENAMED, MOVED], ZoneInfo("Europe/Copenhagen"))) == [
        ("2026-03-03", ["Name: Gammel ApS → Ny ApS"]),
        ("2026-03-02", ["Address: A 1 → B 1"]),
    ]


def test_a_history_is_narrowed_down_to_a_kind_and_to_the_time_before_a_day() -> None:
    history = [RENAMED, MOVED, *FOUNDATION]

    assert texts(days_of(history, UTC, kind="address")) == [("2026-03-02", ["Address: A 1 → B 1"])]
    assert texts(days_of(history, UTC, kind="owners")) == [
        (FOUNDED, ["Owner: Prøve Holding ApS, 5–9 %"])
    ]
    assert [each.day for each in days_of(history, UTC, kind="status")] == [FOUNDED]
    assert [each.day for each in days_of(history, UTC, until=date(2026, 3, 1))] == [FOUNDED]
