"""Webhooks as clients see them over HTTP: status, headers, body; a fake stands for the registry."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from aiohttp import ClientResponse
from structlog.testing import capture_logs

from common.contracts.webhook_api import (
    LONG_OPERATIONS,
    ListPosition,
    Operation,
    WebhookReply,
)
from gateway.webhooks import ENDPOINTS, Endpoint
from tests.builders.webhooks import NOON
from tests.fakes.gateway import Gateway, code_of

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
    path = path.replace("{watchlist_id}", "wl_1").replace("{digest_id}", "dg_1")
    return path.replace("{file_id}", "cf_1").replace("{part}", "0")


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


def test_every_operation_has_a_path() -> None:
    assert {endpoint.operation for endpoint in ENDPOINTS} == set(Operation)


async def test_requests_with_one_id_are_separate_calls(gateway: Gateway) -> None:
    for _ in range(2):
        await send(gateway, ENDPOINTS[0], headers={"X-Request-Id": "the-same"})

    calls = [request.call_id for request in gateway.webhooks.asked]
    assert calls == [UUID(int=1), UUID(int=2)]


@pytest.mark.parametrize("endpoint", list(dict.fromkeys((*WITH_BODY, *WITH_KEY))), ids=named)
async def test_a_body_over_its_limit_is_refused(gateway: Gateway, endpoint: Endpoint) -> None:
    is_large = endpoint.operation in {*LONG_OPERATIONS, Operation.PUT_PART}
    limit = (256 if is_large else 64) * 1024
    largest = await send(gateway, endpoint, data=b" " * limit)
    larger = await send(gateway, endpoint, data=b" " * (limit + 1))

    assert largest.status == 200
    assert await code_of(larger) == (413, "body_too_large")
    assert len(gateway.webhooks.asked) == 1


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


async def test_a_secret_is_not_logged(gateway: Gateway) -> None:
    gateway.webhooks.answer = WebhookReply(status=201, body=b'{"secret":"whsec_invented"}')

    with capture_logs() as lines:
        await send(gateway, ENDPOINTS[0])

    assert lines
    assert "whsec_" not in str(lines)
