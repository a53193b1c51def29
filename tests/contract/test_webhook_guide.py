"""The guide for receivers matches the dispatcher."""

import re
from datetime import timedelta
from pathlib import Path

from dispatcher.sending.bounded_responses import MAX_INTERIM_RESPONSES, MAX_RESPONSE_BYTES
from dispatcher.sending.http_sender import MAX_BODY_SIZE, SenderLimits
from dispatcher.sending.outcome import Cause
from tests.builders.deliveries import dispatcher_settings as settings
from webhook_store.deliveries.models import CancelReason

GUIDE = (Path(__file__).parents[2] / "docs" / "webhooks" / "README.md").read_text()


def test_every_word_for_a_failure_is_explained_and_no_other() -> None:
    section = GUIDE.split("| `error` |")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    words = {word for row in rows for word in re.findall(r"`([a-z_]+)`", row)}

    assert words == {*Cause, *CancelReason}


def test_the_table_of_attempts_is_the_schedule() -> None:
    section = GUIDE.split("| attempt |")[1].split("\n\n")[0]
    rows = [line.split("|") for line in section.splitlines() if re.match(r"\| \d", line)]
    delays = settings().webhook_retry_delays

    assert [int(row[1]) for row in rows] == list(range(1, len(delays) + 2))
    assert [_span(row[2]) for row in rows[1:]] == list(delays)
    sums = [sum(delays[:number], timedelta()) for number in range(1, len(delays) + 1)]
    assert [_span(row[3]) for row in rows[1:]] == sums


def test_the_limits_are_those_of_the_sender() -> None:
    assert SenderLimits() == SenderLimits(timedelta(seconds=10), timedelta(seconds=5))
    assert settings().webhook_post_timeout == timedelta(seconds=10)
    assert settings().webhook_connect_timeout == timedelta(seconds=5)
    assert MAX_BODY_SIZE == 16 * 1024
    assert MAX_RESPONSE_BYTES == 256 * 1024
    assert f"more than 256 KiB or {MAX_INTERIM_RESPONSES} interim" in GUIDE
    for words in ("within 10 seconds (5 to connect)", "at most 16 KiB"):
        assert words in GUIDE


def _span(text: str) -> timedelta:
    """`2 hours 36 minutes`."""
    units = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
    found = re.findall(r"(\d+) (minute|hour)s?", text)
    return sum((int(count) * units[unit] for count, unit in found), timedelta())
