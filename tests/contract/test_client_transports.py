"""Both clients send the same requests over real HTTP, and survive servers that misbehave."""

import asyncio
import gzip
import json
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
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
from tests.builders.answers import a_problem, a_webhook

LISTING = json.dumps({"webhooks": [a_webhook()]}).encode()
URL = "https://registry.example.com"

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: Lists the webhooks of the server, or of another URL, with one of the clients.
Lists = Callable[..., Awaitable[tuple[Webhook, ...]]]


@dataclass
class Server:
    """Behaves as given, request by request, and records the requests."""

    url: str = ""
    behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[web.Request] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
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
def list_webhooks(request: pytest.FixtureRequest, server: Server) -> Lists:
    def blocking(url: str, **options: Any) -> tuple[Webhook, ...]:
        with Client(url, **options) as client:
            return client.list_webhooks()

    async def listing(*, url: str = server.url, **options: Any) -> tuple[Webhook, ...]:
        if request.param == "sync":
            return await asyncio.to_thread(blocking, url, **options)
        async with AsyncClient(url, **options) as client:
            return await client.list_webhooks()

    return listing


def responding(body: bytes, status: int = 200, *, coding: str | None = None) -> Behaviour:
    headers = {"Content-Encoding": coding} if coding else {}

    async def behave(_request: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers=headers)

    return behave


def compressed(content: bytes) -> Behaviour:
    return responding(gzip.compress(content), coding="gzip")


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
    server.behaviours = [responding(LISTING)]

    [webhook] = await list_webhooks(api_key="id.secret", headers={"X-Request-Id": "mine"})

    [request] = server.requests
    assert (webhook.id, request.path) == ("wh_1", "/api/webhooks")
    assert request.headers["Authorization"] == "Bearer id.secret"
    assert request.headers["X-Request-ID"] == "mine"


async def test_a_base_url_may_have_a_path(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [responding(LISTING)]

    await list_webhooks(url=f"{server.url}/registry/")

    assert [request.path for request in server.requests] == ["/registry/api/webhooks"]


async def test_a_broken_connection_is_opened_again(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [breaking, responding(LISTING)]

    [webhook] = await list_webhooks(retries=Retries(first_delay=0.01))

    assert webhook.id == "wh_1"


async def test_a_server_that_does_not_respond_in_time_is_an_error(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [hanging]

    with pytest.raises(NoResponse, match=r"did not respond within 0\.1 s"):
        await list_webhooks(timeout=0.1, retries=Retries(attempts=1))


async def test_a_closed_port_is_an_error(list_webhooks: Lists) -> None:
    with pytest.raises(NoResponse, match=r"could not connect to 127\.0\.0\.1:1"):
        await list_webhooks(url="http://127.0.0.1:1", retries=Retries(attempts=1))


async def test_a_compressed_answer_is_read(server: Server, list_webhooks: Lists) -> None:
    server.behaviours = [compressed(LISTING)]

    [webhook] = await list_webhooks()

    assert webhook.id == "wh_1"
    assert server.requests[0].headers["Accept-Encoding"] == "gzip"


UNAUTHORIZED = json.dumps(a_problem("unauthorized", 401, "give a key")).encode()
LARGE = b" " * 250_001
CUT, TWICE = gzip.compress(b"{}" * 500)[:-9], gzip.compress(gzip.compress(b"{}"))
#: Unusable answers: the client's error and a part of its message.
UNUSABLE: dict[str, tuple[Behaviour, type[Exception], str]] = {
    "problem": (responding(UNAUTHORIZED, 401), Unauthorized, "give a key"),
    "nested without end": (responding(b"[" * 200_000, 400), ApiError, "no problem document"),
    "large": (responding(LARGE), ResponseTooLarge, "larger than 250000 bytes"),
    "large, compressed": (compressed(LARGE), ResponseTooLarge, "larger than 250000 bytes"),
    "no gzip": (responding(b"no gzip", coding="gzip"), InvalidResponse, "the response "),
    "truncated": (responding(CUT, coding="gzip"), InvalidResponse, "the response "),
    "twice": (responding(TWICE, coding="gzip, gzip"), InvalidResponse, "the response "),
    "not accepted": (responding(b"{}", coding="br"), InvalidResponse, "the response "),
}


@pytest.mark.parametrize("behaviour, error, reason", UNUSABLE.values(), ids=UNUSABLE)
async def test_an_answer_that_cannot_be_used_is_an_error_and_not_requested_again(
    server: Server, list_webhooks: Lists, behaviour: Behaviour, error: type[Exception], reason: str
) -> None:
    server.behaviours = [behaviour]

    with pytest.raises(error, match=reason):
        await list_webhooks(max_response=250_000)

    assert len(server.requests) == 1


async def test_an_answer_of_millions_of_empty_objects_is_an_error(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [compressed(b'{"webhooks": [' + b"{}," * 200_000)]

    with pytest.raises(ResponseTooLarge, match="too many values"):
        await list_webhooks()


async def test_an_answer_that_decompresses_without_end_is_never_held(
    server: Server, list_webhooks: Lists
) -> None:
    server.behaviours = [compressed(bytes(32 << 20))]

    tracemalloc.start()
    try:
        with pytest.raises(ResponseTooLarge):
            await list_webhooks(max_response=1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20


def test_a_transport_of_the_callers_own_needs_no_network() -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=LISTING))

    with httpx.Client(transport=transport) as http, Client(URL, http=http) as client:
        [webhook] = client.list_webhooks()

    assert webhook.id == "wh_1"


async def test_an_asynchronous_request_searches_for_no_module(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    class Recorder:
        def find_spec(self, name: str, *_: Any) -> None:
            searched.append(name)

    server.behaviours = [responding(LISTING)] * 2
    async with AsyncClient(server.url) as client:
        await client.list_webhooks()
        monkeypatch.setattr(sys, "meta_path", [Recorder(), *sys.meta_path])

        await client.list_webhooks()

    assert not searched


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
        Client(URL, key)

    assert not key or key not in str(raised.value)


async def test_a_client_closes_its_own_connections_and_no_others() -> None:
    with httpx.Client() as given, Client(URL, http=given) as client:
        client.close()
        assert not given.is_closed
    async with httpx.AsyncClient() as shared, AsyncClient(URL, http=shared) as async_client:
        await async_client.close()
        assert not shared.is_closed
    with Client(URL) as own:
        pass
    async with AsyncClient(URL) as async_own:
        pass

    assert own.http.is_closed
    assert async_own.http.is_closed


def streaming(*parts: bytes, is_whole: bool = True) -> Behaviour:
    """Sends an export in parts; one that is not whole is broken off after them."""

    async def behave(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Events-Cursor": "00000000002a"})
        await response.prepare(request)
        for part in parts:
            await response.write(part)
        if not is_whole:
            raise ConnectionError("a restart")
        return response

    return behave


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_export_that_is_broken_off_is_resumed_behind_its_last_line(
    server: Server, kind: str
) -> None:
    server.behaviours = [
        streaming(b'{"vat": "1"}\n{"va', b't": "2"}\n{"vat', is_whole=False),
        breaking,
        streaming(b'{"vat": "3"}\n'),
    ]
    retries = Retries(first_delay=0.0)

    def blocking() -> list[bytes]:
        with Client(server.url, retries=retries) as client:
            return list(client.export_lines("dk"))

    if kind == "async":
        async with AsyncClient(server.url, retries=retries) as client:
            lines = [line async for line in client.export_lines("dk")]
    else:
        lines = await asyncio.to_thread(blocking)

    assert [json.loads(line)["vat"] for line in lines] == ["1", "2", "3"]
    assert [request.query.get("after") for request in server.requests] == [None, "2", "2"]


async def test_an_export_that_is_refused_is_an_error(server: Server) -> None:
    body = json.dumps(a_problem("forbidden", 403)).encode()
    server.behaviours = [responding(body, 403)]

    async with AsyncClient(server.url) as client:
        with pytest.raises(ApiError) as refused:
            await anext(client.export_lines("dk"))

    assert refused.value.code == "forbidden"


async def test_an_export_that_its_reader_leaves_is_closed(server: Server) -> None:
    left = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b'{"vat": "1"}\n' * 1000)
        finally:
            left.set()

    server.behaviours = [endless]

    async with AsyncClient(server.url) as client:
        lines = client.export_lines("dk")
        assert await anext(lines) == b'{"vat": "1"}'
        await lines.aclose()
        await asyncio.wait_for(left.wait(), 30)


@asynccontextmanager
async def dripping(head: bytes) -> AsyncIterator[str]:
    """The URL of a server that goes on with a byte now and then, and never ends."""

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        with suppress(ConnectionError):
            writer.write(head)
            while not ended.is_set():
                writer.write(b"a")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), 0.05)
        writer.transport.abort()

    ended = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        ended.set()
        server.close()
        await asyncio.gather(*tasks)


DRIPS = {
    "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e7\r\n",
    "error": b"HTTP/1.1 500 Oops\r\nContent-Length: 999\r\n\r\n",
    "head": b"HTTP/1.1 200 OK\r\nX-",
}


@pytest.mark.parametrize("head", DRIPS.values(), ids=DRIPS)
async def test_an_answer_that_never_ends_is_not_awaited(list_webhooks: Lists, head: bytes) -> None:
    options = {"timeout": 5.0, "max_time": 0.5, "retries": Retries(attempts=1)}

    async with dripping(head) as url, asyncio.timeout(10):
        with pytest.raises(NoResponse, match=r"did not answer in full within 0\.5 s"):
            await list_webhooks(url=url, **options)


async def test_the_time_of_a_whole_answer_is_four_times_that_of_a_wait(
    list_webhooks: Lists,
) -> None:
    async with dripping(DRIPS["body"]) as url, asyncio.timeout(10):
        with pytest.raises(NoResponse, match=r"within 2 s"):
            await list_webhooks(url=url, timeout=0.5, retries=Retries(attempts=1))


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_export_that_drips_is_not_awaited(kind: str) -> None:
    def blocking(url: str) -> list[bytes]:
        with Client(url, "id.secret", **options) as client:
            return list(client.export_lines("dk"))

    async def listing(url: str) -> list[bytes]:
        async with AsyncClient(url, "id.secret", **options) as client:
            return [line async for line in client.export_lines("dk")]

    options: dict[str, Any] = {"timeout": 5.0, "max_time": 0.5, "retries": Retries(attempts=1)}
    async with dripping(DRIPS["chunks"]) as url, asyncio.timeout(10):
        with pytest.raises(NoResponse):
            await (listing(url) if kind == "async" else asyncio.to_thread(blocking, url))
