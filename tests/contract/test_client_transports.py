"""Both clients send the same requests over real HTTP, and survive servers that misbehave."""

import asyncio
import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from company_registry import (
    ApiError,
    AsyncClient,
    Client,
    InvalidResponse,
    NoResponse,
    ResponseTooLarge,
    Retries,
    Unauthorized,
    Webhook,
)

WEBHOOK = {
    "id": "wh_1",
    "url": "https://example.com/",
    "events": ["*"],
    "status": "enabled",
    "created_at": "2026-03-02T12:00:00Z",
    "updated_at": "2026-03-02T12:00:00Z",
}
UNAUTHORIZED = {"code": "unauthorized", "status": 401, "detail": "give a key"}

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: Lists the webhooks with one of the clients.
Lists = Callable[..., Awaitable[tuple[Webhook, ...]]]


@dataclass
class Server:
    """Behaves as given, request by request, and records the requests."""

    url: str = ""
    behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path_qs, dict(request.headers)))
        return await self.behaviours.pop(0)(request)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(app) as running:
        server.url = str(running.make_url("")).rstrip("/")
        yield server


@pytest.fixture(params=["sync", "async"])
def list_webhooks(request: pytest.FixtureRequest) -> Lists:
    async def with_async(url: str, **options: Any) -> tuple[Webhook, ...]:
        async with AsyncClient(url, **options) as client:
            return await client.list_webhooks()

    def blocking(url: str, **options: Any) -> tuple[Webhook, ...]:
        with Client(url, **options) as client:
            return client.list_webhooks()

    async def with_sync(url: str, **options: Any) -> tuple[Webhook, ...]:
        return await asyncio.to_thread(blocking, url, **options)

    return with_sync if request.param == "sync" else with_async


async def listing(_request: web.Request) -> web.Response:
    return web.json_response({"webhooks": [WEBHOOK]})


def compressed(content: bytes, encoding: str = "gzip") -> Behaviour:
    async def behave(_request: web.Request) -> web.Response:
        return web.Response(body=content, headers={"Content-Encoding": encoding})

    return behave


def plain(content: bytes) -> Behaviour:
    async def behave(_request: web.Request) -> web.Response:
        return web.Response(body=content)

    return behave


async def refusing(_request: web.Request) -> web.Response:
    return web.json_response(UNAUTHORIZED, status=401)


async def breaking(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def hanging(_request: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


async def test_the_key_and_further_headers_go_with_every_request(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [listing]

    [webhook] = await list_webhooks(
        server.url, api_key="id.secret", headers={"X-Request-Id": "mine"}
    )

    [(path, headers)] = server.requests
    assert webhook.id == "wh_1"
    assert path == "/api/webhooks"
    assert headers["Authorization"] == "Bearer id.secret"
    assert headers["X-Request-ID"] == "mine"


async def test_a_base_url_may_have_a_path(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [listing]

    await list_webhooks(f"{server.url}/registry/")

    assert [path for path, _ in server.requests] == ["/registry/api/webhooks"]


async def test_a_broken_connection_is_opened_again(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [breaking, listing]

    [webhook] = await list_webhooks(server.url, retries=Retries(first_delay=0.01))

    assert webhook.id == "wh_1"


async def test_a_server_that_does_not_respond_in_time_is_an_error(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [hanging]

    with pytest.raises(NoResponse, match=r"did not respond within 0\.1 s"):
        await list_webhooks(server.url, timeout=0.1, retries=Retries(attempts=1))


async def test_a_closed_port_is_an_error(server: Server, list_webhooks: Lists) -> None:
    with pytest.raises(NoResponse, match=r"could not connect to 127\.0\.0\.1:1"):
        await list_webhooks("http://127.0.0.1:1", retries=Retries(attempts=1))


async def test_a_problem_is_raised(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [refusing]

    with pytest.raises(Unauthorized, match="give a key"):
        await list_webhooks(server.url)


async def test_a_compressed_answer_is_read(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [compressed(gzip.compress(json.dumps({"webhooks": [WEBHOOK]}).encode()))]

    [webhook] = await list_webhooks(server.url)

    [(_, headers)] = server.requests
    assert webhook.id == "wh_1"
    assert headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize(
    "behaviour",
    [plain(b" " * 1001), compressed(gzip.compress(b" " * 1001))],
    ids=["plain", "compressed"],
)
async def test_an_answer_larger_than_the_bound_is_an_error(
    server: Server, list_webhooks: Lists, behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour]

    with pytest.raises(ResponseTooLarge, match="larger than 1000 bytes"):
        await list_webhooks(server.url, max_response=1000)

    assert len(server.requests) == 1


async def test_an_answer_of_millions_of_empty_objects_is_an_error(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [compressed(gzip.compress(b'{"webhooks": [' + b"{}," * 200_000))]

    with pytest.raises(ResponseTooLarge, match="too many values"):
        await list_webhooks(server.url)


async def test_an_answer_that_decompresses_to_gigabytes_is_never_held(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [compressed(gzip.compress(bytes(1 << 28)))]

    tracemalloc.start()
    try:
        with pytest.raises(ResponseTooLarge):
            await list_webhooks(server.url, max_response=1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20


@pytest.mark.parametrize(
    "behaviour",
    [
        compressed(b"no gzip"),
        compressed(gzip.compress(b"{}" * 1000)[:-9]),
        compressed(gzip.compress(gzip.compress(b"{}")), "gzip, gzip"),
        compressed(b"{}", "br"),
    ],
    ids=["another", "truncated", "twice", "not accepted"],
)
async def test_a_compression_that_cannot_be_read_is_an_invalid_response(
    server: Server, list_webhooks: Lists, behaviour: Behaviour
) -> None:
    server.behaviours = [behaviour]

    with pytest.raises(InvalidResponse, match="the response "):
        await list_webhooks(server.url)


async def test_an_answer_that_is_nested_without_end_is_an_error(
    server: Server, list_webhooks: Lists
) -> None:
    async def nested(_request: web.Request) -> web.Response:
        return web.Response(status=400, body=b"[" * 200_000)

    server.behaviours = [nested]

    with pytest.raises(ApiError, match="no problem document"):
        await list_webhooks(server.url)


def test_a_transport_of_the_callers_own_needs_no_network() -> None:
    def respond(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"webhooks": [WEBHOOK]})

    with (
        httpx.Client(transport=httpx.MockTransport(respond)) as http,
        Client("https://registry.example.com", http=http) as client,
    ):
        [webhook] = client.list_webhooks()

    assert webhook.id == "wh_1"


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "ftp://example.com", "https:///", "http://localhost:port", "http://xn--"],
)
def test_a_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="such as https"):
        Client(url)


@pytest.mark.parametrize("key", ["", "two words", "line\n", "nøgle"])
def test_a_key_of_another_form_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII") as raised:
        Client("https://registry.example.com", key)

    assert not key or key not in str(raised.value)


async def test_a_client_closes_its_own_connections_and_no_others() -> None:
    url = "https://registry.example.com"
    with httpx.Client() as given, Client(url, http=given) as client:
        client.close()
        assert not given.is_closed
    async with httpx.AsyncClient() as shared, AsyncClient(url, http=shared) as async_client:
        await async_client.close()
        assert not shared.is_closed
    with Client(url) as own:
        pass
    async with AsyncClient(url) as async_own:
        pass

    assert own.http.is_closed
    assert async_own.http.is_closed
