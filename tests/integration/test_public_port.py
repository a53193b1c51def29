"""The public port: shutdown, limits and malformed requests."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from common.runtime.admin import admin_port
from common.runtime.health import Health
from common.runtime.public_port.limits import ConnectionLimits
from common.runtime.public_port.metrics import ConnectionMetrics
from common.runtime.public_port.server import public_port
from gateway.access.keys import Rate, Scope, write_key
from gateway.http.problem_responses import refusals
from gateway.routes import application
from gateway.settings import Policy
from tests.builders.keys import a_presented_key, an_api_key
from tests.delivery.waiting import SOON, eventually
from tests.fakes.gateway import FakeApiKeys, FakeLookups, Fakes

pytestmark = pytest.mark.integration

LOOKUP = "/api?country=dk&vat=12345674"


#: More bytes than the sockets of both sides buffer.
SOCKET_BUFFERS = 64 * 2**20

PRESENTED = a_presented_key()
STORED = an_api_key(PRESENTED, scopes=frozenset(Scope))
KEYS = FakeApiKeys({STORED.id: STORED})
KEY = f"\r\nX-API-Key: {write_key(PRESENTED)}\r\n".encode()


def an_application(lookups: FakeLookups, keys: FakeApiKeys, *, rate: int = 100) -> web.Application:
    policy = Policy(anonymous_rate=Rate(rate, 60), key_rate=Rate(rate, 60))
    return application(Fakes(lookups, keys=keys).dependencies(), policy)


async def test_a_shutdown_completes_requests_in_progress() -> None:
    lookups = FakeLookups()
    lookups.gate.clear()
    async with aiohttp.ClientSession() as session:
        async with asyncio.TaskGroup() as group, serving(lookups) as port:
            request = group.create_task(fetch(session, port))
            await lookups.reached.wait()
            group.create_task(let_go(lookups))

        assert request.result() == 200


async def let_go(lookups: FakeLookups) -> None:
    lookups.gate.set()


async def fetch(session: aiohttp.ClientSession, port: int) -> int:
    async with session.get(f"http://127.0.0.1:{port}{LOOKUP}") as answer:
        await answer.read()
        return answer.status


def serving(
    lookups: FakeLookups, *, keys: FakeApiKeys | None = None, rate: int = 100, **options: Any
) -> AbstractAsyncContextManager[int]:
    return serving_app(an_application(lookups, keys or FakeApiKeys(), rate=rate), **options)


#: Enough for both servers to get a connection.
SHARED_RATE = 1_000_000


LIMITS = ConnectionLimits(max_connections=100)


def serving_app(
    app: web.Application,
    *,
    port: int = 0,
    shared: bool = False,
    shutdown_grace: float = 5,
    limits: ConnectionLimits = LIMITS,
    registry: CollectorRegistry | None = None,
) -> AbstractAsyncContextManager[int]:
    return public_port(
        app,
        host="127.0.0.1",
        port=port,
        shared=shared,
        shutdown_grace=timedelta(seconds=shutdown_grace),
        refuse=refusals(lambda: "id"),
        limits=limits,
        metrics=ConnectionMetrics(registry or CollectorRegistry()),
    )


async def test_a_shut_down_server_accepts_no_connection() -> None:
    async with serving(FakeLookups()) as port:
        pass

    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_servers_share_a_port_and_one_serves_on_without_the_other() -> None:
    first, second = FakeLookups(), FakeLookups()
    async with serving(first, shared=True, rate=SHARED_RATE) as port:
        async with (
            serving(second, port=port, shared=True, rate=SHARED_RATE),
            asyncio.timeout(SOON),
        ):
            while not (first.asked and second.asked):
                async with aiohttp.ClientSession() as session:
                    assert await fetch(session, port) == 200
        async with aiohttp.ClientSession() as session:
            alone = await fetch(session, port)

    assert alone == 200


async def test_a_port_that_is_not_shared_is_taken() -> None:
    async with serving(FakeLookups()) as port:
        with pytest.raises(OSError, match="address already in use"):
            async with serving(FakeLookups(), port=port, shared=True):
                pass


async def test_an_idle_connection_does_not_delay_the_shutdown() -> None:
    async with (
        aiohttp.ClientSession() as session,
        asyncio.timeout(SOON),
        serving(FakeLookups(), shutdown_grace=10 * SOON) as port,
    ):
        assert await fetch(session, port) == 200


async def exchange(port: int, *parts: bytes) -> bytes:
    """Sends a request in parts and returns all that comes back until the connection ends."""
    async with asyncio.timeout(SOON):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read()
        finally:
            writer.transport.abort()


def statuses(answered: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d+) ", answered)]


def a_head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


BOMB = gzip.compress(bytes(100_000))
JSON_TYPE = "Content-Type: application/json"


@pytest.mark.parametrize(
    "line, encoding",
    [
        *((line, "gzip") for line in ("POST /api/webhooks", "GET /docs", "HEAD /api", "PUT /docs")),
        *(("POST /nothing", coding) for coding in ("deflate", "br", "zstd", "identity", "x", "")),
    ],
)
async def test_an_encoded_body_is_refused_on_every_path(line: str, encoding: str) -> None:
    sent = a_head(
        line, JSON_TYPE, f"Content-Encoding: {encoding}", "Content-Length: 100", "Connection: close"
    )

    async with serving(FakeLookups()) as port:
        answered = await exchange(port, sent + BOMB[:100])

    head, _, body = answered.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 415 ")
    assert b"Accept-Encoding: identity" in head
    assert line.startswith("HEAD") or orjson.loads(body)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("framing", ["Content-Length: 112", "Transfer-Encoding: chunked"])
async def test_no_body_is_decompressed(framing: str) -> None:
    received: list[bytes] = []

    async def keep(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response()

    app = web.Application()
    app.router.add_post("/", keep)
    bomb = BOMB[:112]
    sent = bomb if "Length" in framing else b"70\r\n" + bomb + b"\r\n0\r\n\r\n"

    async with serving_app(app) as port:
        await exchange(
            port, a_head("POST /", "Content-Encoding: gzip", framing, "Connection: close") + sent
        )

    assert received == [bomb]


async def test_the_operational_port_logs_no_header(caplog: pytest.LogCaptureFixture) -> None:
    async with admin_port(Health(), host="127.0.0.1", port=0) as port:
        answered = await exchange(port, a_head("GET /healthz", "Cookie: a\0", "Connection: close"))

    assert statuses(answered) == [400]
    assert caplog.records == []


async def test_the_operational_port_decompresses_no_body() -> None:
    sent = a_head(
        "POST /healthz", "Content-Encoding: gzip", "Content-Length: 7", "Connection: close"
    )

    async with admin_port(Health(), host="127.0.0.1", port=0) as port:
        answered = await exchange(port, sent + b"no gzip")

    assert answered.startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize("line", ["POST /nothing", "GET /docs", "POST /api/batch"])
async def test_an_unread_body_is_discarded_up_to_a_bound(line: str) -> None:
    endless = a_head(line, "Content-Length: 1000000000000")

    async with serving(FakeLookups()) as port:
        with pytest.raises(ConnectionError):
            await exchange(port, endless, *[bytes(2**16)] * (SOCKET_BUFFERS // 2**16))


async def test_a_small_unread_body_does_not_cost_the_response() -> None:
    async with serving(FakeLookups()) as port:
        answered = await exchange(
            port, a_head("POST /nothing", "Content-Length: 1000000"), bytes(1_000_000)
        )

    assert answered.startswith(b"HTTP/1.1 404 ")
    assert b"Connection: close" in answered


async def test_a_refused_client_is_not_asked_for_its_body() -> None:
    head = a_head(
        "POST /api/batch", "Expect: 100-continue", "Content-Length: 2", "Connection: close"
    )

    async with serving(FakeLookups()) as port:
        answered = await exchange(port, head + b"{}")

    assert answered.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("version, count", [("1.1", 1), ("1.0", 0)])
async def test_a_client_that_expects_100_continue_receives_it(version: str, count: int) -> None:
    head = a_head(
        "POST /api/batch",
        "Expect: 100-continue",
        JSON_TYPE,
        "Content-Length: 2",
        "Connection: close",
    ).replace(b"HTTP/1.1", f"HTTP/{version}".encode())

    async with serving(FakeLookups(), keys=KEYS) as port:
        answered = await exchange(port, head.replace(b"\r\n", KEY, 1), b"{}")

    assert answered.count(b"HTTP/1.1 100 Continue\r\n\r\n") == count
    assert b" 400 Bad Request" in answered  # an object without lookups


async def test_other_expectations_are_ignored_on_unknown_paths_too() -> None:
    async with serving(FakeLookups()) as port:
        answered = await exchange(
            port, a_head("GET /nothing", "Expect: miracles", "Connection: close")
        )

    assert answered.startswith(b"HTTP/1.1 404 ")


#: Seconds that no test waits for.
NEVER = 1000.0


def limits(
    max_connections: int = 100,
    *,
    head: float = NEVER,
    body: float = NEVER,
    send: float = NEVER,
    unsent: int = 2**30,
    unfinished: int = 2**30,
) -> ConnectionLimits:
    return ConnectionLimits(
        max_connections,
        head=head,
        body=body,
        send=send,
        unsent_responses=unsent,
        unfinished_requests=unfinished,
    )


ANSWERED = a_head("GET /nothing")


@pytest.mark.parametrize("sent", [b"", b"GET /api HTT", ANSWERED[:-2], b"\r\n\r\n"])
async def test_a_connection_without_a_request_head_is_closed(sent: bytes) -> None:
    async with serving(FakeLookups(), limits=limits(head=0.05)) as port:
        assert await exchange(port, sent) == b""


@pytest.mark.parametrize("begun", ["GET /api", "GET /api HTTP/1.1\r\nHost: x\r\nX-A: 1"])
async def test_an_endless_head_is_refused(begun: str) -> None:
    parts = [f"\r\nX-{number}: {'a' * 4000}".encode() for number in range(100)]
    endless = [b"a" * 1000] * 100 if begun.endswith("api") else parts

    async with serving(FakeLookups()) as port, client(port) as slow, asyncio.timeout(SOON):
        answered = await slow.answer_while_sending(begun.encode(), *endless)

    assert b" 400 Bad Request" in answered.splitlines()[0]


async def test_an_unfinished_later_head_closes_the_connection() -> None:
    async with (
        asyncio.timeout(SOON),
        serving(FakeLookups(), limits=limits(head=0.05)) as port,
        client(port) as slow,
    ):
        assert await slow.ask(ANSWERED) == 404

        slow.writer.write(b"GET /ap")

        assert await slow.reader.read() == b""


async def test_an_unfinished_head_behind_a_request_in_progress_closes_the_connection() -> None:
    lookups = FakeLookups()
    lookups.gate.clear()
    async with (
        asyncio.timeout(SOON),
        serving(lookups, limits=limits(head=0.05), shutdown_grace=0.1) as port,
        client(port) as slow,
    ):
        slow.writer.write(a_head(f"GET {LOOKUP}") + b"GET /ap")

        assert await slow.reader.read() == b""
        assert lookups.asked == []


async def test_a_whole_head_behind_a_request_in_progress_waits_for_it() -> None:
    lookups = FakeLookups()
    lookups.gate.clear()
    async with (
        serving(lookups, limits=limits(head=0.05)) as port,
        client(port) as busy,
        asyncio.TaskGroup() as group,
    ):
        first = group.create_task(busy.ask(a_head(f"GET {LOOKUP}") + ANSWERED))
        await lookups.reached.wait()
        # Opened later, and closed by the timeout: so much time has passed.
        assert await exchange(port, b"") == b""
        lookups.gate.set()

        assert (await first, await busy.ask(b"")) == (200, 404)


async def test_a_head_behind_a_request_of_the_same_write_is_bounded() -> None:
    large = b"GET /api HTTP/1.1\r\nHost: x\r\n" + b"X-A: %b\r\n" % (b"a" * 8000) * 22

    async with serving(FakeLookups()) as port:
        answered = await exchange(port, ANSWERED + large)

    assert statuses(answered) == [404, 400]


CHUNKED = "Transfer-Encoding: chunked"

#: Requests with their status, which follow one another on one connection.
PIPELINE = (
    (a_head("GET /nothing"), 404),
    (a_head("POST /api/batch", JSON_TYPE, "Content-Length: 6") + b"\r\n\r\n{}", 401),
    (a_head("POST /api/webhooks", CHUNKED) + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", 401),
    (b"\r\n" + a_head("GET /docs/icon.svg", "Upgrade: websocket", "Connection: upgrade"), 200),
    (a_head("POST /nothing", CHUNKED) + b"1\r\nx\r\n0\r\nX-Trailer: 1\r\n\r\n", 404),
    (a_head("DELETE /docs", "Connection: close"), 405),
)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 16, 10_000])
async def test_requests_are_read_alike_in_pieces_of_any_size(step: int) -> None:
    sent = b"".join(request for request, _ in PIPELINE)

    async with serving(FakeLookups()) as port:
        answered = await exchange(port, *(sent[at : at + step] for at in range(0, len(sent), step)))

    assert statuses(answered) == [status for _, status in PIPELINE]


async def test_requests_without_an_end_are_read_as_they_are_answered() -> None:
    count = 1500
    sent = ANSWERED * count + a_head("GET /nothing", "Connection: close")

    async with serving(FakeLookups(), rate=SHARED_RATE, limits=limits(unfinished=2**15)) as port:
        answered = await exchange(port, sent)

    assert statuses(answered) == [404] * (count + 1)


#: A request that another server on the way may have read as the body of the one before it.
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 5", CHUNKED],
        [CHUNKED, "Content-Length: 5"],
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Content-Length: 5"],
        ["Content-Length: 5, 5"],
        ["Content-Length: +5"],
        ["Content-Length: -5"],
        ["Content-Length: 0x5"],
        ["Content-Length: 5 5"],
        ["Content-Length : 5"],
        ["Content-Length:"],
        [f"{CHUNKED}, identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding: chunked, chunked"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding:\x0bchunked"],
        [" Transfer-Encoding: chunked"],
        ["X: y\nTransfer-Encoding: chunked"],
        ["X: y\rTransfer-Encoding: chunked"],
        ["X: y\0"],
        ["Host: y"],
    ],
)
async def test_an_ambiguous_request_hides_no_other(headers: list[str]) -> None:
    async with serving(FakeLookups()) as port:
        answered = await exchange(port, a_head("POST /nothing", *headers) + b"0\r\n\r\n" + HIDDEN)

    assert statuses(answered) == [400]


@pytest.mark.parametrize("size", [b"z", b"-1", b"0x1", b"1 1", b"1;\n", b"f" * 17])
async def test_a_chunk_of_no_size_ends_the_connection(size: bytes) -> None:
    sent = a_head("POST /api/batch", JSON_TYPE, CHUNKED).replace(b"\r\n", KEY, 1)

    async with serving(FakeLookups(), keys=KEYS) as port:
        answered = await exchange(port, sent + size + b"\r\nx\r\n0\r\n\r\n" + HIDDEN)

    assert statuses(answered) == [400]


@pytest.mark.parametrize("framing", ["Content-Length: 3", CHUNKED])
async def test_a_body_that_does_not_arrive_is_refused(framing: str) -> None:
    sent = a_head("POST /api/batch", JSON_TYPE, framing).replace(b"\r\n", KEY, 1)

    async with serving(FakeLookups(), keys=KEYS, limits=limits(body=0.05)) as port:
        answered = await exchange(port, sent)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"within 0.05 s" in answered


async def test_a_connection_may_be_idle_longer_than_the_head_timeout() -> None:
    async with serving(FakeLookups(), limits=limits(head=0.05)) as port, client(port) as idle:
        first = await idle.ask(ANSWERED)
        assert await exchange(port, b"") == b""

        assert (first, await idle.ask(ANSWERED)) == (404, 404)


async def test_a_new_client_evicts_an_idle_connection() -> None:
    async with (
        serving(FakeLookups(), limits=limits(1)) as port,
        client(port) as idle,
    ):
        await idle.ask(ANSWERED)

        async with client(port) as newcomer:
            assert await newcomer.ask(ANSWERED) == 404
            assert await idle.reader.read() == b""


async def test_a_new_client_receives_503_when_all_connections_are_busy() -> None:
    lookups = FakeLookups()
    lookups.gate.clear()
    async with (
        serving(lookups, limits=limits(1)) as port,
        client(port) as busy,
        asyncio.TaskGroup() as group,
    ):
        asked = group.create_task(busy.ask(a_head(f"GET {LOOKUP}")))
        await lookups.reached.wait()

        refused = await exchange(port, ANSWERED)
        lookups.gate.set()

        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: " in refused
        assert orjson.loads(refused.partition(b"\r\n\r\n")[2])["code"] == "service_unavailable"
        assert await asked == 200


async def test_a_client_that_reads_no_responses_is_closed() -> None:
    registry = CollectorRegistry()
    app = an_application(FakeLookups(), FakeApiKeys(), rate=100_000)
    serving_it = serving_app(app, limits=limits(send=0.05), registry=registry)

    async with asyncio.timeout(SOON), serving_it as port, client(port) as greedy:
        with pytest.raises(ConnectionError):
            await greedy.ask_forever(a_head("GET /docs"))

    closed = registry.get_sample_value("http_connections_closed_total", {"reason": "send_timeout"})
    assert closed == 1


#: A response that is more than sockets buffer, and made for its client alone.
ANSWER = 32 * 2**20


def a_server_of_answers() -> web.Application:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=bytes(ANSWER))

    app = web.Application()
    app.router.add_get("/", answer)
    return app


async def test_requests_are_no_sign_that_a_client_reads() -> None:
    registry = CollectorRegistry()
    serving_it = serving_app(a_server_of_answers(), limits=limits(send=0.1), registry=registry)

    async with asyncio.timeout(SOON), serving_it as port, client(port) as greedy:
        with pytest.raises(ConnectionError):
            await greedy.ask_forever(a_head("GET /"), pause=0.01)

    closed = registry.get_sample_value("http_connections_closed_total", {"reason": "send_timeout"})
    assert closed == 1


async def test_a_client_that_reads_slowly_receives_all() -> None:
    serving_it = serving_app(a_server_of_answers(), limits=limits(send=0.1))

    async with asyncio.timeout(SOON), serving_it as port, client(port) as slow:
        slow.writer.write(a_head("GET /", "Connection: close"))
        received = 0
        while piece := await slow.reader.read(2**18):
            received += len(piece)
            await asyncio.sleep(0.002)

    assert received > ANSWER


async def test_the_largest_unsent_response_ends_when_all_are_too_large() -> None:
    registry = CollectorRegistry()
    bound = limits(unsent=2 * ANSWER)
    serving_it = serving_app(a_server_of_answers(), limits=bound, registry=registry)

    async def ended() -> float | None:
        reason = {"reason": "unsent_responses"}
        return registry.get_sample_value("http_connections_closed_total", reason)

    async with asyncio.timeout(SOON), serving_it as port, AsyncExitStack() as stack:
        for _ in range(4):
            greedy = await stack.enter_async_context(client(port))
            greedy.writer.transport.pause_reading()  # type: ignore[attr-defined]
            greedy.writer.write(a_head("GET /"))
        await eventually(ended, lambda count: count == 2)


@dataclass(frozen=True, slots=True)
class Client:
    """One connection that is kept."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, head: bytes) -> int:
        """Sends a request and returns the status of its response."""
        self.writer.write(head)
        async with asyncio.timeout(SOON):
            answered = await self.reader.readuntil(b"\r\n\r\n")
            [length] = re.findall(rb"Content-Length: (\d+)", answered)
            await self.reader.readexactly(int(length))
        return int(answered.split()[1])

    async def answer_while_sending(self, *parts: bytes) -> bytes:
        """Sends parts one by one until there is an answer."""
        answer = asyncio.ensure_future(self.reader.read())
        for part in parts:
            self.writer.write(part)
            await asyncio.wait([answer], timeout=0.01)
            if answer.done():
                break
        return await answer

    async def ask_forever(self, head: bytes, *, pause: float = 0) -> None:
        """Sends requests and reads none of the responses."""
        self.writer.transport.pause_reading()  # type: ignore[attr-defined]
        while True:
            self.writer.write(head)
            await self.writer.drain()
            await asyncio.sleep(pause)


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


FLOOD = b"GET /api HTTP/1.1\r\nHost: x\r\nX-A: " + b"x" * 100_000 + b"\r\n\r\n"
NOT_ENCODED = "GET /api?country=dk&name=Prøve HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@pytest.mark.parametrize(
    "sent, code",
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", "invalid_body"),
        (FLOOD, "invalid_body"),
        (NOT_ENCODED, "invalid_parameter"),
    ],
)
async def test_a_malformed_request_is_a_problem_without_a_log_line(
    caplog: pytest.LogCaptureFixture, sent: bytes, code: str
) -> None:
    async with serving(FakeLookups()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    problem = orjson.loads(body)
    assert b" 400 " in head
    assert b"application/problem+json" in head
    assert b"X-Request-Id: id" in head
    assert b"aiohttp" not in head
    assert (problem["code"], problem["request_id"]) == (code, "id")
    assert caplog.records == []
