"""The event feed as clients see it, over a fake `Events`."""

import asyncio
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import CompanyKey
from common.contracts.events import MAX_EVENTS, EventType, FeedNotice, PublishedEvent
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


async def test_a_waiting_request_is_answered_when_an_event_arrives(
    gateway: Gateway, key: dict[str, str]
) -> None:
    waiting = await waiting_request(gateway, key)

    publish(gateway, b"1")

    answer = await asyncio.wait_for(waiting, SOON)
    assert await json_of(answer) == {"events": [1], "cursor": FIRST, "has_more": False}


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
