"""Batches are split, paced by the rate limit, and complete; events are read in order, without end.

The cursor marks the events that are processed.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from company_registry import (
    CursorExpired,
    FileCursor,
    Forbidden,
    InvalidResponse,
    Lookup,
    NoResponse,
    Retries,
)
from company_registry.http import Outcome, Request, Response, Unanswered
from company_registry.streams import (
    BatchResult,
    batch,
    einvoicing,
    events,
    history,
    owners,
    production_units,
    roles,
)
from tests.builders.answers import a_found_company, a_page, a_problem, an_event
from tests.fakes.client import FakeTransport, answer, problem

LOOKUPS = [Lookup("dk", f"{number:08}") for number in range(250)]
UNAVAILABLE = problem("service_unavailable", 503, retry_after="5")
AWAY = Unanswered("no connection", sent=False)


def found(lookups: Sequence[Lookup], *, left: int = 1000, quota: int = 1200) -> Response:
    """A company for each lookup, and the rate limit after that."""
    return answer(
        {"results": [{"company": a_found_company(vat=each.term)} for each in lookups]},
        ratelimit_policy=f'"key";q={quota};w=60',
        ratelimit=f'"key";r={left};t=17',
    )


def look_up(transport: FakeTransport, lookups: Iterable[Lookup]) -> Iterable[BatchResult]:
    return transport.iterate(batch(Retries(), lookups))


def sizes(transport: FakeTransport) -> list[int]:
    return [len(request.body["lookups"]) for request in transport.requests]


def test_lookups_are_split_into_requests_of_a_hundred_and_answered_in_order() -> None:
    transport = FakeTransport([found(LOOKUPS[:100]), found(LOOKUPS[100:200]), found(LOOKUPS[200:])])

    results = list(look_up(transport, LOOKUPS))

    assert sizes(transport) == [100, 100, 50]
    assert [one.company and one.company.vat for one in results] == [one.term for one in LOOKUPS]
    assert transport.slept == []


def test_the_next_request_waits_for_the_window_when_the_quota_is_used_up() -> None:
    transport = FakeTransport([found(LOOKUPS[:100], left=99), found(LOOKUPS[100:200])])

    list(look_up(transport, LOOKUPS[:200]))

    assert transport.slept == [17]


def test_requests_shrink_to_a_quota_below_a_hundred() -> None:
    limits = {"ratelimit_policy": '"key";q=40;w=60', "ratelimit": '"key";r=39;t=17'}
    refused = problem("rate_limited", 429, retry_after="3600", **limits)
    parts = [found(LOOKUPS[:40], left=0, quota=40), found(LOOKUPS[40:80], left=0, quota=40)]
    transport = FakeTransport([refused, *parts, found(LOOKUPS[80:90], left=30, quota=40)])

    results = list(look_up(transport, LOOKUPS[:90]))

    assert sizes(transport) == [90, 40, 40, 10]
    assert transport.slept == [17, 17, 17]
    assert len(results) == 90


def test_a_lookup_that_failed_for_a_moment_is_repeated_alone() -> None:
    late = [
        {"company": a_found_company(vat="00000000")},
        {"problem": a_problem("lookup_timeout", 504)},
    ]
    transport = FakeTransport([answer({"results": late}), found([LOOKUPS[1]])])

    results = list(look_up(transport, LOOKUPS[:2]))

    assert sizes(transport) == [2, 1]
    assert [one.company and one.company.vat for one in results] == ["00000000", "00000001"]


@dataclass
class Overloaded(FakeTransport):
    """A service that does so many lookups of a request in time."""

    answers: list[Outcome] = field(default_factory=list)
    in_time: int = 0

    def _take(self, step: Any) -> Outcome | None:
        if isinstance(step, Request):
            asked = [each["vat"] for each in step.body["lookups"]]
            done = self.in_time
            late = [{"problem": a_problem("lookup_timeout", 504)}] * len(asked[done:])
            found = [{"company": a_found_company(vat=each)} for each in asked[:done]]
            self.answers.append(answer({"results": [*found, *late]}))
        return super()._take(step)


def test_a_service_that_is_late_gets_half_as_many_and_only_what_failed() -> None:
    transport = Overloaded(in_time=20)

    results = list(look_up(transport, LOOKUPS[:200]))

    assert sizes(transport) == [100, 50, 25, 12, 24, 8, 12, 24, 12, 24, 12, 24, 4]
    assert all(one.company is not None for one in results)
    assert [one.lookup for one in results] == LOOKUPS[:200]


def test_an_outage_ends_after_as_many_requests_as_that_of_a_single_one() -> None:
    transport = Overloaded(in_time=0)

    results = list(look_up(transport, LOOKUPS[:200]))

    assert sizes(transport) == [100, 50, 25, 12, 6, 3, 1, 1]
    assert {one.error and one.error.code for one in results} == {"lookup_timeout"}
    assert [one.lookup for one in results] == LOOKUPS[:200]


def test_a_lookup_that_always_takes_too_long_is_sent_as_often_as_a_request() -> None:
    late = [{"problem": a_problem("lookup_timeout", 504)}]
    first = [{"company": a_found_company(vat=each.term)} for each in LOOKUPS[1:100]]
    transport = FakeTransport([answer({"results": late + first}), *[answer({"results": late})] * 3])

    results = list(look_up(transport, LOOKUPS[:100]))

    assert sizes(transport) == [100, 1, 1, 1]
    assert [one.error and one.error.code for one in results[:2]] == ["lookup_timeout", None]


def test_a_request_that_a_proxy_gave_up_is_sent_in_halves_and_not_again() -> None:
    gone = Response(504, {}, b"<html>")
    transport = FakeTransport([gone, found(LOOKUPS[:50]), found(LOOKUPS[50:100])])

    results = list(look_up(transport, LOOKUPS[:100]))

    assert sizes(transport) == [100, 50, 50]
    assert len(results) == 100


def test_results_arrive_before_all_lookups_are_read() -> None:
    lookups = iter(LOOKUPS)

    next(iter(look_up(FakeTransport([found(LOOKUPS[:100])]), lookups)))

    assert next(lookups) == LOOKUPS[100]


def test_a_term_that_is_too_long_fails_alone() -> None:
    refused = problem("body_too_large", 413)
    transport = FakeTransport(
        [refused, refused, found(LOOKUPS[:1]), refused, found(LOOKUPS[2:4], left=99)]
    )

    results = list(look_up(transport, LOOKUPS[:4]))

    assert sizes(transport) == [4, 2, 1, 1, 2]
    codes = [one.error and one.error.code for one in results]
    assert codes == [None, "body_too_large", None, None]
    assert [one.lookup for one in results] == LOOKUPS[:4]


@pytest.mark.parametrize("body", [{}, [], {"results": []}, {"results": [{}]}, {"results": [5]}])
def test_an_answer_of_another_shape_is_an_invalid_response(body: Any) -> None:
    with pytest.raises(InvalidResponse):
        list(look_up(FakeTransport([answer(body)]), LOOKUPS[:1]))


def page(*ids: str, cursor: str) -> Response:
    return answer(a_page(*map(an_event, ids), cursor=cursor))


def take(transport: FakeTransport, at_most: int, **options: Any) -> list[str]:
    """The ids of the first events."""
    stream = transport.iterate(events(Retries(attempts=1), **options))
    return [event.id for event in itertools.islice(stream, at_most)]


def queries(transport: FakeTransport, name: str) -> list[str | None]:
    return [dict(request.query).get(name) for request in transport.requests]


@pytest.fixture
def cursor(tmp_path: Path) -> FileCursor:
    return FileCursor(tmp_path / "cursor")


def test_each_page_begins_where_the_last_one_ended() -> None:
    transport = FakeTransport(
        [page("e1", "e2", cursor="c2"), page(cursor="c2"), page("e3", cursor="c3")]
    )

    assert take(transport, 3, after="latest") == ["e1", "e2", "e3"]
    assert queries(transport, "after") == ["latest", "c2", "c2"]


@pytest.mark.parametrize(
    "read,part,entries",
    [
        (production_units, "production_units", [{"number": "1"}, {"number": "2"}]),
        (einvoicing, "einvoicing", [{"identifier": f"0088:{n}", "scheme": "0088"} for n in "12"]),
        (owners, "owners", [{"name": name, "type": "person"} for name in ("Bo", "Anna")]),
        (
            history,
            "history",
            [{"time": f"2026-03-0{n}", "dated": True, "type": "company.updated"} for n in "21"],
        ),
        (roles, "roles", [{"role": "director", "name": n, "type": "person"} for n in "ab"]),
    ],
)
def test_a_list_of_a_company_is_read_page_by_page(
    read: Any, part: str, entries: list[dict[str, str]]
) -> None:
    one, other = entries
    transport = FakeTransport(
        [
            answer({part: [one], "total": 2, "cursor": "c2"}),
            answer({part: [other], "total": 2, "cursor": None}),
        ]
    )

    found = list(transport.iterate(read(Retries(), "dk", "12345674")))

    assert [one.model_dump(exclude_unset=True) for one in found] == entries
    assert {r.path for r in transport.requests} == {f"/api/companies/dk/12345674/{part}"}
    assert queries(transport, "after") == [None, "c2"]


def test_a_list_that_the_register_lacks_has_no_entries() -> None:
    transport = FakeTransport([answer({"owners": None, "total": None, "cursor": None})])

    assert list(transport.iterate(owners(Retries(), "no", "310345679"))) == []


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

    assert take(transport, 2) == ["e1", "e2"]
    assert outage is not UNAVAILABLE or transport.slept[0] >= 5


def test_a_cursor_is_stored_only_when_its_events_are_done(cursor: FileCursor) -> None:
    take(FakeTransport([page("e1", "e2", cursor="c2")]), 2, cursor=cursor)

    assert cursor.load() is None


def test_an_expired_cursor_is_an_error_with_the_oldest_one() -> None:
    expired = answer(a_problem("cursor_expired", 410, oldest="c9"), 410)

    with pytest.raises(CursorExpired) as raised:
        take(FakeTransport([expired]), 1, after="c1")

    assert raised.value.oldest == "c9"


def test_a_key_without_the_scope_is_an_error() -> None:
    with pytest.raises(Forbidden):
        take(FakeTransport([problem("forbidden", 403)]), 1)


def test_a_count_ends_after_its_last_event_and_keeps_the_cursor_after_it(
    cursor: FileCursor,
) -> None:
    transport = FakeTransport([page("e1", "e2", cursor="c2"), page("e3", cursor="c3")])

    assert take(transport, 9, cursor=cursor, count=3) == ["e1", "e2", "e3"]
    assert queries(transport, "limit") == ["3", "1"]
    assert cursor.load() == "c3"


def test_catching_up_ends_at_the_page_with_no_more_and_never_waits() -> None:
    transport = FakeTransport([answer(a_page(has_more=True)), page("e1", cursor="c2")])

    assert take(transport, 9, until_now=True) == ["e1"]
    assert queries(transport, "wait") == [None, None]


def test_catching_up_with_a_service_that_stays_away_is_an_error_after_the_retries() -> None:
    with pytest.raises(NoResponse):
        list(FakeTransport([AWAY] * 2).iterate(events(Retries(attempts=2), until_now=True)))


@pytest.mark.parametrize("has_more,ids", [(True, ()), (False, ("e1",)), (True, ("e1",))])
def test_an_event_stream_that_leads_to_itself_is_an_error(
    ids: tuple[str, ...], *, has_more: bool
) -> None:
    found = [an_event(id=each) for each in ids]
    transport = FakeTransport([answer(a_page(*found, cursor="c1", has_more=has_more))] * 3)

    with pytest.raises(InvalidResponse, match="leads to itself"):
        take(transport, 9, after="c1")


def test_a_list_that_leads_to_itself_is_an_error() -> None:
    page = answer({"owners": [{"name": "Bo", "type": "person"}], "total": 9, "cursor": "1"})

    with pytest.raises(InvalidResponse, match="leads to itself"):
        list(FakeTransport([page] * 3).iterate(owners(Retries(), "dk", "12345674")))


def test_an_endless_reader_names_each_failure_and_is_held_only_by_a_service_that_answers() -> None:
    pages = [page(f"e{number}", cursor=f"c{number}") for number in (1, 2, 3)]
    transport = FakeTransport([pages[0], AWAY, AWAY, *pages[1:]])
    failures: list[tuple[str, float]] = []

    def note(error: Exception, wait: float) -> None:
        failures.append((str(error), wait))

    assert take(transport, 9, count=3, on_outage=note) == ["e1", "e2", "e3"]
    assert failures == [("no connection", seconds) for seconds in transport.slept]
    assert queries(transport, "wait") == [None, "20", None, None, "20"]
