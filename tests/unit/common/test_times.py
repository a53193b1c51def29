"""Days and times are read by one rule."""

from datetime import UTC, datetime

import pytest

from common.domain.times import read_day, read_time

MOMENT = datetime(2026, 3, 2, 7, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["2026-03-02T07:08:00Z", "2026-03-02t07:08:00z", "2026-03-02 08:08:00+01:00",
     "2026-03-02T07:08:00.000Z", "2026-03-02T07:08Z", "2026-03-02T08:08:00+0100"],
)  # fmt: skip
def test_a_time_has_an_offset_and_letters_of_either_case(text: str) -> None:
    assert read_time(text) == MOMENT


@pytest.mark.parametrize(
    "text",
    ["2026-W10-1T07:08:00Z", "20260302T070800Z", "2026-03-02T07:08:00", "2026-03-02",
     "2026-03-02T25:08:00Z", "0001-01-01T00:00:00+14:00", "", "now"],
)  # fmt: skip
def test_another_text_is_no_time(text: str) -> None:
    assert read_time(text) is None


def test_a_day_is_written_in_one_way() -> None:
    assert read_day("2026-03-02") == "2026-03-02"
    others = ["2026-W10-1", "20260302", "2026-02-30", "2026-3-2", "2026-03-02T00:00:00Z", ""]
    assert {text: read_day(text) for text in others} == dict.fromkeys(others)
