"""Events are read without end and in order; the cursor marks processed ones."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from company_registry import CursorExpired, Event, FileCursor, Forbidden, NoResponse, Retries
from company_registry.http import Outcome, Response, Unanswered
from company_registry.streams import events
from tests.fakes.client import FakeTransport, answer, problem

UNAVAILABLE = problem("service_unavailable", 503, retry_after="5")


def page(*ids: str, cursor: str) -> Response:
    listed = [{"id": each, "type": "webhook.test", "occurred_at": "…"} for each in ids]
    return answer({"events": listed, "cursor": cursor, "has_more": False})


def take(transport: FakeTransport, count: int, **options: Any) -> list[Event]:
    stream = transport.iterate(events(Retries(attempts=1), **options))
    return list(itertools.islice(stream, count))


def cursors(transport: FakeTransport) -> list[str | None]:
    return [dict(request.query).get("after") for request in transport.requests]


def test_each_page_begins_where_the_last_one_ended() -> None:
    transport = FakeTransport(
        [page("e1", "e2", cursor="c2"), page(cursor="c2"), page("e3", cursor="c3")]
    )

    seen = take(transport, 3, after="latest")

    assert [event.id for event in seen] == ["e1", "e2", "e3"]
    assert cursors(transport) == ["latest", "c2", "c2"]


@pytest.mark.parametrize(
    "outage",
    [
        Unanswered("the connection broke", sent=True),
        UNAVAILABLE,
        *(Response(status, {}, b"<h1>no backend</h1>") for status in (502, 503, 504)),
    ],
)
def test_reading_goes_on_through_an_outage(outage: Outcome) -> None:
    transport = FakeTransport([page("e1", cursor="c1"), outage, page("e2", cursor="c2")])

    seen = take(transport, 2)

    assert [event.id for event in seen] == ["e1", "e2"]
    assert outage is not UNAVAILABLE or transport.slept[0] >= 5


def test_a_reader_goes_on_at_its_stored_cursor(tmp_path: Path) -> None:
    cursor = FileCursor(tmp_path / "cursor")
    take(FakeTransport([page("e1", cursor="c1"), page("e2", cursor="c2")]), 2, cursor=cursor)
    again = FakeTransport([page("e2", cursor="c2")])

    take(again, 1, cursor=cursor, after="latest")

    assert cursors(again) == ["c1"]


def test_a_cursor_is_stored_only_when_its_events_are_done(tmp_path: Path) -> None:
    cursor = FileCursor(tmp_path / "cursor")
    transport = FakeTransport([page("e1", "e2", cursor="c2")])

    take(transport, 2, cursor=cursor)

    assert cursor.load() is None


def test_an_expired_cursor_is_an_error_with_the_oldest_one() -> None:
    expired = answer({"code": "cursor_expired", "detail": "…", "oldest": "c9"}, 410)

    with pytest.raises(CursorExpired) as raised:
        take(FakeTransport([expired]), 1, after="c1")

    assert raised.value.oldest == "c9"


def test_a_key_without_the_scope_is_an_error() -> None:
    with pytest.raises(Forbidden):
        take(FakeTransport([problem("forbidden", 403)]), 1)


def test_a_count_ends_after_its_last_event_and_keeps_the_cursor_after_it(tmp_path: Path) -> None:
    cursor = FileCursor(tmp_path / "cursor")
    transport = FakeTransport([page("e1", "e2", cursor="c2"), page("e3", cursor="c3")])

    seen = list(transport.iterate(events(Retries(), cursor=cursor, count=3)))

    assert [event.id for event in seen] == ["e1", "e2", "e3"]
    assert [dict(request.query)["limit"] for request in transport.requests] == ["3", "1"]
    assert cursor.load() == "c3"


def test_catching_up_ends_at_the_page_with_no_more_and_never_waits() -> None:
    more = answer({"events": [], "cursor": "c1", "has_more": True})
    transport = FakeTransport([more, page("e1", cursor="c2")])

    seen = list(transport.iterate(events(Retries(), until_now=True)))

    assert [event.id for event in seen] == ["e1"]
    assert all("wait" not in dict(request.query) for request in transport.requests)


def test_catching_up_with_a_service_that_stays_away_is_an_error_after_the_retries() -> None:
    transport = FakeTransport([Unanswered("no connection", sent=False)] * 2)

    with pytest.raises(NoResponse):
        list(transport.iterate(events(Retries(attempts=2), until_now=True)))


def test_an_endless_reader_names_each_failure_and_is_held_only_by_a_service_that_answers() -> None:
    away = Unanswered("no connection", sent=False)
    transport = FakeTransport(
        [page("e1", cursor="c1"), away, away, page("e2", cursor="c2"), page("e3", cursor="c3")]
    )
    failures: list[tuple[str, float]] = []

    stream = transport.iterate(
        events(
            Retries(), count=3, on_outage=lambda error, wait: failures.append((str(error), wait))
        )
    )

    assert len(list(stream)) == 3
    assert [wait for _, wait in failures] == transport.slept
    assert [reason for reason, _ in failures] == ["no connection"] * 2
    waits = [dict(request.query).get("wait") for request in transport.requests]
    assert waits == [None, "20", None, None, "20"]
