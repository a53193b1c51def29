"""Webhooks as clients see them over HTTP: status, headers, body; a fake stands for the registry."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from aiohttp import ClientResponse
from structlog.testing import capture_logs

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.watchlists import WatchedQuery
from common.contracts.webhook_api import (
    LONG_OPERATIONS,
    DeliveryQuery,
    ListPosition,
    Operation,
    WebhookReply,
)
from common.contracts.webhooks import AttemptStatus
from gateway.webhooks import ENDPOINTS, Endpoint
from tests.builders.webhooks import NOON
from tests.fakes.gateway import Gateway, code_of, problem_of

BODY = b'{"url": "https://hooks.example.com/", "events": ["*"]}'
JSON = {"Content-Type": "application/json"}

POSITION = ListPosition(NOON, "01890a5d-ac96-774b-bcce-b302099a8057")
CURSOR = POSITION.cursor

WITH_BODY = [endpoint for endpoint in ENDPOINTS if endpoint.takes_json]
WITH_KEY = [endpoint for endpoint in ENDPOINTS if endpoint.takes_key]


def named(endpoint: Endpoint) -> str:
    return endpoint.operation.value


def path_of(endpoint: Endpoint) -> str:
    path = endpoint.operation.path.replace("{id}", "wh_1").replace("{delivery_id}", "d-1")
    return path.replace("{watchlist_id}", "wl_1")


async def send(
    gateway: Gateway, endpoint: Endpoint, *, headers: dict[str, str] | None = None, **options: Any
) -> ClientResponse:
    """A valid request of the endpoint with a valid key, except for the given options."""
    given = {**gateway.issue(), **(JSON if endpoint.takes_json else {}), **(headers or {})}
    if endpoint.takes_json:
        options.setdefault("data", BODY)
    return await gateway.client.request(
        endpoint.operation.method, path_of(endpoint), headers=given, **options
    )


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=named)
async def test_each_method_and_path_is_one_operation(gateway: Gateway, endpoint: Endpoint) -> None:
    await send(gateway, endpoint, headers={"X-Request-Id": "mine"})

    [asked] = gateway.webhooks.asked
    assert asked.operation is endpoint.operation
    assert asked.owner == "acme"
    assert asked.webhook_id == ("wh_1" if "{id}" in endpoint.operation.path else "")
    assert asked.delivery_id == ("d-1" if "{delivery_id}" in endpoint.operation.path else "")
    assert asked.watchlist_id == ("wl_1" if "{watchlist_id}" in endpoint.operation.path else "")
    assert asked.body == (BODY if endpoint.takes_json else b"")
    assert gateway.webhooks.request_ids == ["mine"]


def test_every_operation_has_a_path() -> None:
    assert {endpoint.operation for endpoint in ENDPOINTS} == set(Operation)


async def test_requests_with_one_id_are_separate_calls(gateway: Gateway) -> None:
    for _ in range(2):
        await send(gateway, ENDPOINTS[0], headers={"X-Request-Id": "the-same"})

    calls = [request.call_id for request in gateway.webhooks.asked]
    assert calls == [UUID(int=1), UUID(int=2)]


async def test_event_types_need_no_key(gateway: Gateway) -> None:
    answer = await gateway.get("/api/event-types")

    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert gateway.webhooks.asked[0].owner == ""


async def test_an_answer_is_passed_on_with_its_headers(gateway: Gateway) -> None:
    gateway.webhooks.answer = WebhookReply(
        status=201, body=b'{"id":"wh_1"}', location="/api/webhooks/wh_1", replayed=True
    )

    answer = await send(gateway, ENDPOINTS[0])

    assert answer.status == 201
    assert await answer.read() == b'{"id":"wh_1"}'
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Location"] == "/api/webhooks/wh_1"
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert answer.headers["Cache-Control"] == "no-store"


async def test_an_answer_without_a_body_has_none(gateway: Gateway) -> None:
    gateway.webhooks.answer = WebhookReply(status=204)

    answer = await gateway.client.delete("/api/webhooks/wh_1", headers=gateway.issue())

    assert answer.status == 204
    assert await answer.read() == b""
    assert "Content-Type" not in answer.headers
    assert "Idempotency-Replayed" not in answer.headers


async def test_a_charset_is_no_other_type(gateway: Gateway) -> None:
    content_type = "application/json; charset=utf-8"

    answer = await send(gateway, ENDPOINTS[0], headers={"Content-Type": content_type})

    assert answer.status == 200


async def test_a_missing_body_is_left_to_the_registry(gateway: Gateway) -> None:
    await gateway.client.post("/api/webhooks/wh_1/recover", headers=gateway.issue())

    assert gateway.webhooks.asked[0].body == b""


@pytest.mark.parametrize("endpoint", list(dict.fromkeys((*WITH_BODY, *WITH_KEY))), ids=named)
async def test_a_body_over_its_limit_is_refused(gateway: Gateway, endpoint: Endpoint) -> None:
    is_large = endpoint.operation in LONG_OPERATIONS
    limit = (256 if is_large else 64) * 1024
    largest = await send(gateway, endpoint, data=b" " * limit)
    larger = await send(gateway, endpoint, data=b" " * (limit + 1))

    assert largest.status == 200
    assert await code_of(larger) == (413, "body_too_large")
    assert len(gateway.webhooks.asked) == 1


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=named)
async def test_an_idempotency_key_goes_with_creations_and_tests_alone(
    gateway: Gateway, endpoint: Endpoint
) -> None:
    await send(gateway, endpoint, headers={"Idempotency-Key": "k-1"})

    expected = "k-1" if endpoint.takes_key else None
    assert gateway.webhooks.asked[0].idempotency_key == expected


async def test_an_idempotency_key_that_is_not_utf8_reaches_the_registry_as_an_invalid_one(
    gateway: Gateway,
) -> None:
    [(name, key)] = gateway.issue().items()
    host, port = gateway.client.server.host, gateway.client.server.port
    reader, writer = await asyncio.open_connection(host, port)

    writer.write(
        b"POST /api/webhooks/wh_1/test HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
        b"Idempotency-Key: k\xff\r\n" + f"{name}: {key}\r\n\r\n".encode()
    )
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 200")
    assert gateway.webhooks.asked[0].idempotency_key == "k\ufffd"


async def test_two_idempotency_keys_reach_the_registry_as_an_invalid_one(gateway: Gateway) -> None:
    headers = [("Idempotency-Key", "k-1"), ("Idempotency-Key", "k-2"), *gateway.issue().items()]

    await gateway.client.post("/api/webhooks/wh_1/test", headers=headers)

    assert gateway.webhooks.asked[0].idempotency_key == "k-1, k-2"


@pytest.mark.parametrize(
    "query, selected",
    [
        ("", DeliveryQuery()),
        ("?status=cancelled", DeliveryQuery(status=AttemptStatus.CANCELLED)),
        (
            "?status=failed&type=owners.changed&since=2026-03-02T13:00:00%2B01:00"
            f"&until=2026-03-02T12:30:00Z&limit=100&after={CURSOR}",
            DeliveryQuery(
                status=AttemptStatus.FAILED,
                types=(EventType.OWNERS_CHANGED,),
                since=NOON,
                until=NOON + timedelta(minutes=30),
                limit=100,
                after=POSITION,
            ),
        ),
    ],
    ids=["all", "cancelled", "everything"],
)
async def test_deliveries_are_selected(
    gateway: Gateway, query: str, selected: DeliveryQuery
) -> None:
    await gateway.get(f"/api/webhooks/wh_1/deliveries{query}", headers=gateway.issue())

    assert gateway.webhooks.asked[0].query == selected


@pytest.mark.parametrize(
    "query",
    [
        "status=",
        "status=lost",
        "status=cancelled&status=cancelled",
        "type=company.*",
        "since=yesterday",
        "until=2026-03-02T05:00:00",
        "limit=101",
        "after=%C3%A9",
        *(f"after={cursor}" for cursor in ("x", "eA", "MTIz", f"{CURSOR}A", f"{CURSOR}!")),
    ],
)
async def test_an_invalid_selection_is_refused(gateway: Gateway, query: str) -> None:
    answer = await gateway.get(f"/api/webhooks/wh_1/deliveries?{query}", headers=gateway.issue())

    body = await problem_of(answer)
    assert (answer.status, body["code"]) == (400, "invalid_parameter")
    assert [error["parameter"] for error in body["errors"]] == [query.partition("=")[0]]


async def test_a_page_of_a_watchlist_is_selected(gateway: Gateway) -> None:
    path = "/api/watchlists/wl_1/companies?limit=10000&after=no:123456785"
    await gateway.get(path, headers=gateway.issue())

    selected = WatchedQuery(limit=10_000, after=CompanyKey.parse("no:123456785"))
    assert gateway.webhooks.asked[0].watched == selected


@pytest.mark.parametrize("query", ["limit=10001", "limit=0", "after=no:1", "after="])
async def test_an_invalid_page_of_a_watchlist_is_refused(gateway: Gateway, query: str) -> None:
    path = f"/api/watchlists/wl_1/companies?{query}"
    answer = await gateway.get(path, headers=gateway.issue())

    body = await problem_of(answer)
    assert (answer.status, body["code"]) == (400, "invalid_parameter")
    assert [error["parameter"] for error in body["errors"]] == [query.partition("=")[0]]


async def test_a_secret_is_not_logged(gateway: Gateway) -> None:
    gateway.webhooks.answer = WebhookReply(status=201, body=b'{"secret":"whsec_invented"}')

    with capture_logs() as lines:
        await send(gateway, ENDPOINTS[0])

    assert lines
    assert "whsec_" not in str(lines)
