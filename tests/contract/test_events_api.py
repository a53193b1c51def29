"""The event feed as clients see it, over a fake `Events`."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    MAX_EVENTS,
    EventType,
    FeedFilter,
    FeedNotice,
    FeedRequest,
    PublishedEvent,
)
from gateway.access.keys import Scope
from gateway.events import feed as usecase
from gateway.events.feed_api import DEFAULT_LIMIT, MAX_WAIT
from gateway.problems import ServiceUnavailable
from tests.builders.keys import NOON
from tests.builders.openapi import DOCUMENT
from tests.delivery.waiting import SOON
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway

FIRST, SECOND = "000000000001", "000000000002"


@pytest.fixture
def key(gateway: Gateway) -> dict[str, str]:
    return gateway.issue(scopes=frozenset({Scope.EVENTS}))


def publish(gateway: Gateway, *bodies: bytes, **fields: Any) -> None:
    """Stores events and notifies the gateway."""
    gateway.events.add(*bodies)
    event = PublishedEvent(type=EventType.COMPANY_UPDATED, company="dk:12345674")
    notice = FeedNotice(
        position=len(gateway.events.stored),
        events=tuple(event.model_copy(update=fields) for _ in bodies),
    )
    gateway.notices.receive(notice.model_dump_json().encode())


async def json_of(answer: ClientResponse) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(await answer.read())
    return document


async def until_reading(gateway: Gateway) -> None:
    async with asyncio.timeout(SOON):
        await gateway.events.reached.wait()
    gateway.events.reached.clear()


async def waiting_request(
    gateway: Gateway, key: dict[str, str], query: str = "wait=30"
) -> asyncio.Task[ClientResponse]:
    """A request that has found no events."""
    request = asyncio.create_task(gateway.get(f"/api/events?{query}", headers=key))
    await until_reading(gateway)
    return request


async def test_events_are_passed_on_byte_by_byte(gateway: Gateway, key: dict[str, str]) -> None:
    gateway.events.add(b'{"id" : 1}', b'{"id" : 2}')

    answer = await gateway.get("/api/events?limit=1", headers=key)

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert await answer.read() == (
        b'{"events":[{"id" : 1}],"cursor":"000000000001","has_more":true}'
    )


async def test_the_cursor_of_a_page_reads_on(gateway: Gateway, key: dict[str, str]) -> None:
    gateway.events.add(b"1", b"2", b"3")
    first = await json_of(await gateway.get("/api/events?limit=2", headers=key))

    rest = await json_of(await gateway.get(f"/api/events?after={first['cursor']}", headers=key))

    assert rest == {"events": [3], "cursor": "000000000003", "has_more": False}


async def test_the_lookup_service_receives_the_owner_and_the_filters(
    gateway: Gateway, key: dict[str, str]
) -> None:
    query = (
        f"after={SECOND}&types=owners.*,company.created&countries=no"
        "&companies=no:923609016,dk:12345674&limit=5"
    )

    await gateway.get(f"/api/events?{query}", headers={**key, "X-Request-Id": "mine"})

    assert gateway.events.request_ids == ["mine"]
    assert gateway.events.asked == [
        FeedRequest(
            owner="acme",
            after=2,
            filter=FeedFilter(
                types=(EventType.OWNERS_CHANGED, EventType.COMPANY_CREATED),
                countries=(Country.NO,),
                companies=("no:923609016", "dk:12345674"),
            ),
            limit=5,
        )
    ]


@pytest.mark.parametrize(
    "query, start",
    [
        ("after=oldest", {}),
        ("since=2026-03-02T05:00:00Z", {"since": datetime(2026, 3, 2, 5, tzinfo=UTC)}),
        ("since=2026-03-02T06:00:00+01:00", {"since": datetime(2026, 3, 2, 5, tzinfo=UTC)}),
        ("since=2026-03-02T06:00:00%2B01:00", {"since": datetime(2026, 3, 2, 5, tzinfo=UTC)}),
    ],
)
@pytest.mark.parametrize("path", ["/api/events", "/api/events/stream"])
async def test_a_reader_may_begin_with_the_oldest_event_or_at_a_time(
    gateway: Gateway, key: dict[str, str], path: str, query: str, start: dict[str, Any]
) -> None:
    await gateway.get(f"{path}?{query}", headers=key)

    [asked] = gateway.events.asked
    assert asked == FeedRequest(owner="acme", limit=DEFAULT_LIMIT, **start)


async def test_a_stream_that_connects_again_does_not_begin_at_its_time_again(
    gateway: Gateway, key: dict[str, str]
) -> None:
    headers = {**key, "Last-Event-ID": FIRST}

    await gateway.get("/api/events/stream?since=2026-03-02T05:00:00Z", headers=headers)

    assert [(asked.after, asked.since) for asked in gateway.events.asked] == [(1, None)]


@pytest.mark.parametrize(
    "query, parameter",
    [
        ("since=2026-03-02", "since"),
        ("since=2026-03-02T05:00:00", "since"),
        ("since=0001-01-01T00:00:00%2B14:00", "since"),
        (f"since=2026-03-02T05:00:00Z&after={FIRST}", "since"),
        ("after=1", "after"),
        ("after=", "after"),
        (f"after={FIRST}&after={FIRST}", "after"),
        ("types=company", "types"),
        ("types=company.updated,", "types"),
        ("types=company.chnaged", "types"),
        ("countries=se", "countries"),
        ("companies=12345674", "companies"),
        ("companies=dk:123456789", "companies"),
        ("companies=" + ",".join(["dk:12345674"] * 101), "companies"),
        ("watchlist=wl_1", "watchlist"),
        ("watchlist=" + ",".join([f"wl_{'0' * 32}"] * 11), "watchlist"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("wait=31", "wait"),
        ("wait=0.5", "wait"),
    ],
)
async def test_an_invalid_parameter_is_named(
    gateway: Gateway, key: dict[str, str], query: str, parameter: str
) -> None:
    answer = await gateway.get(f"/api/events?{query}", headers=key)

    problem = await json_of(answer)
    assert (answer.status, problem["code"]) == (400, "invalid_parameter")
    assert [error["parameter"] for error in problem["errors"]] == [parameter]


async def test_a_misspelt_type_gets_the_nearest_one(gateway: Gateway, key: dict[str, str]) -> None:
    answer = await gateway.get("/api/events?types=company.udpated", headers=key)

    assert "did you mean company.updated?" in (await json_of(answer))["detail"]


async def test_a_waiting_request_is_answered_when_an_event_arrives(
    gateway: Gateway, key: dict[str, str]
) -> None:
    waiting = await waiting_request(gateway, key)

    publish(gateway, b"1")

    answer = await asyncio.wait_for(waiting, SOON)
    assert await json_of(answer) == {"events": [1], "cursor": FIRST, "has_more": False}


async def test_a_request_for_recent_events_has_the_newest(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.events.add(b"1", b"2", b"3")

    answer = await gateway.get("/api/events?after=recent&limit=2", headers=key)
    stream = await gateway.get("/api/events/stream?after=recent", headers=key)

    assert await json_of(answer) == {"events": [2, 3], "cursor": "000000000003", "has_more": False}
    assert stream.status == 400


@pytest.mark.parametrize(
    "limits, left_out",
    [
        ("countries=no", {"company": "dk:12345674"}),
        ("companies=no:923609016", {"company": "no:987654321"}),
        ("types=company.*", {"type": EventType.OWNERS_CHANGED}),
        ("countries=no", {"company": "no:923609016", "owner": "other"}),
    ],
)
async def test_a_waiting_request_is_not_woken_by_an_event_that_it_leaves_out(
    gateway: Gateway, key: dict[str, str], limits: str, left_out: dict[str, str]
) -> None:
    publish(gateway, b"1")  # the first notice wakes all
    waiting = await waiting_request(gateway, key, f"wait=30&after=latest&{limits}")

    publish(gateway, b"2", **left_out)
    await gateway.get("/api/me", headers=key)  # a reader that is woken would read meanwhile
    assert len(gateway.events.asked) == 1
    publish(gateway, b"3", company="no:923609016")

    await asyncio.wait_for(waiting, SOON)
    assert len(gateway.events.asked) == 2


async def test_a_lost_notice_wakes_every_reader(gateway: Gateway, key: dict[str, str]) -> None:
    publish(gateway, b"1")
    waiting = await waiting_request(gateway, key, "wait=30&after=latest&countries=no")

    gateway.events.add(b"2")
    gateway.notices.receive(FeedNotice(position=2).model_dump_json().encode())

    assert (await json_of(await asyncio.wait_for(waiting, SOON)))["events"] == [2]


async def test_a_reader_with_a_watchlist_is_woken_by_any_company(
    gateway: Gateway, key: dict[str, str]
) -> None:
    publish(gateway, b"1")
    watchlist = f"wl_{'0' * 32}"
    gateway.watchlists.lists[watchlist] = {CompanyKey.parse("no:923609016")}
    limits = f"watchlist={watchlist}&companies=dk:87654325"
    waiting = await waiting_request(gateway, key, f"wait=30&after=latest&{limits}")

    publish(gateway, b"2")

    assert (await json_of(await asyncio.wait_for(waiting, SOON)))["events"] == [2]
    companies = gateway.events.asked[-1].filter.companies
    assert companies == ("dk:87654325", "no:923609016")


async def test_an_event_of_a_newer_release_is_passed_on(
    gateway: Gateway, key: dict[str, str]
) -> None:
    publish(gateway, b"1")
    waiting = await waiting_request(gateway, key, "wait=30&after=latest")

    publish(gateway, b"2", type="company.moved")

    assert (await json_of(await asyncio.wait_for(waiting, SOON)))["events"] == [2]


async def test_a_request_without_events_is_answered_after_its_wait(
    gateway: Gateway, key: dict[str, str]
) -> None:
    async with asyncio.timeout(SOON):
        answer = await gateway.get("/api/events?wait=1", headers=key)

    assert await json_of(answer) == {"events": [], "cursor": "000000000000", "has_more": False}
    assert len(gateway.events.asked) == 1


async def test_a_request_ends_after_its_wait_where_a_filter_matches_nothing_for_long(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.events.unmatched = 1_000_000

    async with asyncio.timeout(SOON):
        answer = await gateway.get("/api/events?wait=1&types=company.removed", headers=key)

    page = await json_of(answer)
    assert (page["events"], page["has_more"]) == ([], True)
    assert page["cursor"] > "000000000000"


async def test_waiting_requests_are_answered_at_shutdown(
    gateway: Gateway, key: dict[str, str]
) -> None:
    waiting = await waiting_request(gateway, key)

    gateway.notices.close()

    assert (await asyncio.wait_for(waiting, SOON)).status == 200


async def test_a_waiting_request_ends_when_its_key_is_revoked(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usecase, "INTERVAL", 0.01)
    waiting = await waiting_request(gateway, key)

    for key_id in list(gateway.keys.keys):
        await gateway.keys.revoke(key_id, at=NOON)

    assert (await asyncio.wait_for(waiting, SOON)).status == 401


async def test_a_key_has_a_maximum_number_of_readers() -> None:
    async with a_gateway(max_event_readers=1) as gateway:
        key = gateway.issue()
        waiting = await waiting_request(gateway, key)

        second = await gateway.get("/api/events/stream", headers=key)
        publish(gateway, b"1")
        await waiting
        third = await gateway.get("/api/events?wait=1&after=000000000000", headers=key)

    assert (second.status, second.headers["Retry-After"]) == (429, "1")
    assert third.status == 200


async def test_a_client_that_disconnects_leaves_room_for_its_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(usecase, "INTERVAL", 0.01)
    async with a_gateway(max_event_readers=1) as gateway, asyncio.timeout(SOON):
        key = gateway.issue()
        waiting = await waiting_request(gateway, key)
        waiting.cancel()

        while (await gateway.get("/api/events?wait=1", headers=key)).status == 429:
            pass


async def test_an_expired_cursor_names_the_oldest(gateway: Gateway, key: dict[str, str]) -> None:
    gateway.events.add(b"1", b"2")
    gateway.events.expired = 2

    for path in (f"/api/events?after={FIRST}", f"/api/events/stream?after={FIRST}"):
        answer = await gateway.get(path, headers=key)

        problem = await json_of(answer)
        assert (answer.status, problem["code"], problem["oldest"]) == (
            410,
            "cursor_expired",
            SECOND,
        )


async def test_one_event_is_found_by_its_id(gateway: Gateway, key: dict[str, str]) -> None:
    answer = await gateway.get("/api/events/some-id", headers=key)

    assert await json_of(answer) == {"id": "some-id"}


async def frame(answer: ClientResponse) -> bytes:
    async with asyncio.timeout(SOON):
        return await answer.content.readuntil(b"\n\n")


async def test_a_stream_sends_events_as_they_arrive(gateway: Gateway, key: dict[str, str]) -> None:
    gateway.events.add(b'"before"')
    answer = await gateway.get("/api/events/stream", headers=key)
    opened = [await frame(answer), await frame(answer)]

    publish(gateway, b'"now"')

    assert answer.headers["Content-Type"] == "text/event-stream"
    assert "X-Request-Id" in answer.headers
    assert "RateLimit" in answer.headers
    assert opened == [b"retry: 1000\n\n", b": heartbeat\n\n"]
    assert await frame(answer) == b'id: 000000000002\nevent: company.updated\ndata: "now"\n\n'


async def test_a_stream_resumes_behind_the_last_event_id(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.events.add(b"1", b"2", b"3")
    headers = {**key, "Last-Event-ID": FIRST}

    answer = await gateway.get(f"/api/events/stream?after={SECOND}", headers=headers)

    assert await frame(answer) == b"retry: 1000\n\n"
    assert [(await frame(answer))[:16], (await frame(answer))[:16]] == [
        b"id: 000000000002",
        b"id: 000000000003",
    ]


async def test_a_stream_ends_cleanly_at_shutdown(gateway: Gateway, key: dict[str, str]) -> None:
    answer = await gateway.get("/api/events/stream", headers=key)
    await frame(answer)

    gateway.notices.close()

    async with asyncio.timeout(SOON):
        assert (await answer.read()).endswith(b"\n\n")


async def test_a_stream_ends_when_its_key_is_revoked(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usecase, "INTERVAL", 0.01)
    answer = await gateway.get("/api/events/stream", headers=key)

    for key_id in list(gateway.keys.keys):
        await gateway.keys.revoke(key_id, at=NOON)

    async with asyncio.timeout(SOON):
        await answer.read()


async def test_a_stream_outlives_an_outage(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usecase, "AFTER_FAILURE", 0.01)
    answer = await gateway.get("/api/events/stream", headers=key)
    await frame(answer)
    gateway.events.reached.clear()

    gateway.events.fault = ServiceUnavailable("away")
    publish(gateway, b"1")
    await until_reading(gateway)
    gateway.events.fault = None

    seen = b""
    while not seen.startswith(b"id: "):
        seen = await frame(answer)
    assert seen.startswith(b"id: 000000000001")


def test_limits_are_those_of_the_code() -> None:
    parameters = {
        parameter["name"]: parameter["schema"]
        for parameter in DOCUMENT["paths"]["/api/events"]["get"]["parameters"]
        if "name" in parameter
    }

    assert parameters["limit"]["maximum"] == MAX_EVENTS
    assert parameters["limit"]["default"] == DEFAULT_LIMIT
    assert parameters["wait"]["maximum"] == MAX_WAIT
