"""The public port: shutdown, limits and malformed requests."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from common.runtime.health import Health, admin_port
from common.runtime.public_port.connections import ConnectionLimits, ConnectionMetrics
from common.runtime.public_port.rates import Rate
from common.runtime.public_port.server import public_port
from gateway.access.keys import Scope, write_key
from gateway.http.responses import refusals
from gateway.routes import application
from gateway.settings import Policy
from tests.builders.keys import a_presented_key, an_api_key
from tests.delivery.waiting import SOON, eventually
from tests.fakes.gateway import FakeApiKeys, FakeLookups, Fakes

pytestmark = pytest.mark.integration

LOOKUP = "/api?country=dk&vat=12345674"
#: More bytes than the sockets of both sides buffer.
SOCKET_BUFFERS = 64 * 2**20
#: Seconds that no test waits for.
NEVER = 1000.0

PRESENTED = a_presented_key()
STORED = an_api_key(PRESENTED, scopes=frozenset(Scope))
KEYS = FakeApiKeys({STORED.id: STORED})
KEY = f"X-API-Key: {write_key(PRESENTED)}"
JSON_TYPE, CHUNKED = "Content-Type: application/json", "Transfer-Encoding: chunked"
CLOSE = "Connection: close"


def a_head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


NOT_FOUND = a_head("GET /nothing")


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

    def read_nothing(self) -> None:
        self.writer.transport.pause_reading()  # type: ignore[attr-defined]

    async def ask_forever(self, head: bytes, *, pause: float = 0) -> None:
        """Sends requests and reads none of the responses."""
        self.read_nothing()
        while True:
            self.writer.write(head)
            await self.writer.drain()
            await asyncio.sleep(pause)


@dataclass(frozen=True, slots=True)
class Server:
    """A public port, and what is sent to it."""

    port: int
    registry: CollectorRegistry

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with asyncio.timeout(SOON):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                yield Client(reader, writer)
            finally:
                writer.transport.abort()

    async def exchange(self, *parts: bytes) -> bytes:
        """Sends a request in parts and returns all that comes back until the connection ends."""
        async with self.client() as client:
            for part in parts:
                client.writer.write(part)
                await client.writer.drain()
            return await client.reader.read()

    async def look_up(self) -> int:
        async with self.client() as client:
            return await client.ask(a_head(f"GET {LOOKUP}"))

    async def closed(self, reason: str) -> float | None:
        """The number of connections that the server closed for a reason."""
        return self.registry.get_sample_value("http_connections_closed_total", {"reason": reason})


@asynccontextmanager
async def serving(
    lookups: FakeLookups | None = None,
    *,
    app: web.Application | None = None,
    keys: FakeApiKeys | None = None,
    rate: int = 1_000_000,
    port: int = 0,
    shared: bool = False,
    shutdown_grace: float = 5,
    **limits: Any,
) -> AsyncIterator[Server]:
    """The gateway, or another application, on a port whose limits no test reaches unless given."""
    policy = Policy(anonymous_rate=Rate(rate, 60), key_rate=Rate(rate, 60))
    dependencies = Fakes(lookups or FakeLookups(), keys=keys or FakeApiKeys()).dependencies()
    registry = CollectorRegistry()
    unlimited = {"max_connections": 100, "head": NEVER, "body": NEVER, "send": NEVER}
    unlimited |= {"unfinished_requests": 2**30, "unsent_responses": 2**30}
    async with public_port(
        app or application(dependencies, policy),
        host="127.0.0.1",
        port=port,
        shared=shared,
        shutdown_grace=timedelta(seconds=shutdown_grace),
        refuse=refusals(lambda: "id"),
        limits=ConnectionLimits(**{**unlimited, **limits}),
        metrics=ConnectionMetrics(registry),
    ) as bound:
        yield Server(bound, registry)


def answering(handler: Callable[[web.Request], Awaitable[web.Response]]) -> web.Application:
    app = web.Application()
    app.router.add_route("*", "/", handler)
    return app


def statuses(answered: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d+) ", answered)]


def a_slow_lookup() -> FakeLookups:
    """Lookups that wait until `gate` is set."""
    lookups = FakeLookups()
    lookups.gate.clear()
    return lookups


async def test_a_shutdown_completes_requests_in_progress() -> None:
    lookups = a_slow_lookup()
    async with asyncio.TaskGroup() as group, serving(lookups) as server:
        request = group.create_task(server.look_up())
        await lookups.reached.wait()
        asyncio.get_running_loop().call_soon(lookups.gate.set)

    assert request.result() == 200


async def test_a_shut_down_server_accepts_no_connection() -> None:
    async with serving() as server:
        pass

    with pytest.raises(ConnectionRefusedError):
        await server.exchange(b"")


async def test_servers_share_a_port_and_one_serves_on_without_the_other() -> None:
    first, second = FakeLookups(), FakeLookups()
    async with serving(first, shared=True) as server:
        async with serving(second, port=server.port, shared=True), asyncio.timeout(SOON):
            while not (first.asked and second.asked):
                assert await server.look_up() == 200

        assert await server.look_up() == 200


async def test_a_port_that_is_not_shared_is_taken() -> None:
    async with serving() as server:
        with pytest.raises(OSError, match="address already in use"):
            async with serving(port=server.port, shared=True):
                pass


async def test_an_idle_connection_does_not_delay_the_shutdown() -> None:
    async with (
        AsyncExitStack() as after,
        asyncio.timeout(SOON),
        serving(shutdown_grace=10 * SOON) as server,
    ):
        idle = await after.enter_async_context(server.client())
        assert await idle.ask(NOT_FOUND) == 404


BOMB = gzip.compress(bytes(100_000))


@pytest.mark.parametrize(
    "line, encoding",
    [
        *((line, "gzip") for line in ("POST /api/webhooks", "GET /docs", "HEAD /api", "PUT /docs")),
        *(("POST /nothing", coding) for coding in ("deflate", "br", "zstd", "identity", "x", "")),
    ],
)
async def test_an_encoded_body_is_refused_on_every_path(line: str, encoding: str) -> None:
    coded = f"Content-Encoding: {encoding}"
    async with serving() as server:
        answered = await server.exchange(
            a_head(line, JSON_TYPE, coded, "Content-Length: 100", CLOSE) + BOMB[:100]
        )

    head, _, body = answered.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 415 ")
    assert b"Accept-Encoding: identity" in head
    assert line.startswith("HEAD") or orjson.loads(body)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("framing", ["Content-Length: 112", CHUNKED])
async def test_no_body_is_decompressed(framing: str) -> None:
    received: list[bytes] = []

    async def keep(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response()

    bomb = BOMB[:112]
    sent = b"70\r\n" + bomb + b"\r\n0\r\n\r\n" if framing == CHUNKED else bomb

    async with serving(app=answering(keep)) as server:
        head = a_head("POST /", "Content-Encoding: gzip", framing, CLOSE)
        await server.exchange(head + sent)

    assert received == [bomb]


@pytest.mark.parametrize(
    "sent, status",
    [
        (a_head("GET /healthz", "Cookie: a\0", CLOSE), 400),
        (
            a_head("POST /healthz", "Content-Encoding: gzip", "Content-Length: 7", CLOSE)
            + b"no gzip",
            405,
        ),
    ],
)
async def test_the_operational_port_decompresses_no_body_and_logs_no_header(
    caplog: pytest.LogCaptureFixture, sent: bytes, status: int
) -> None:
    async with admin_port(Health(), host="127.0.0.1", port=0) as port:
        answered = await Server(port, CollectorRegistry()).exchange(sent)

    assert statuses(answered) == [status]
    assert caplog.records == []


@pytest.mark.parametrize("line", ["POST /nothing", "GET /docs", "POST /api/batch"])
async def test_an_unread_body_is_discarded_up_to_a_bound(line: str) -> None:
    endless = a_head(line, "Content-Length: 1000000000000")

    async with serving() as server:
        with pytest.raises(ConnectionError):
            await server.exchange(endless, *[bytes(2**16)] * (SOCKET_BUFFERS // 2**16))


@pytest.mark.parametrize(
    "head, body, status",
    [
        (a_head("POST /nothing", "Content-Length: 1000000"), bytes(1_000_000), 404),
        # A client that is refused is not asked for its body.
        (
            a_head("POST /api/batch", "Expect: 100-continue", "Content-Length: 2", CLOSE),
            b"{}",
            401,
        ),
        (a_head("GET /nothing", "Expect: miracles", CLOSE), b"", 404),
    ],
    ids=["a-small-body", "a-refusal", "another-expectation"],
)
async def test_an_unread_body_or_an_expectation_does_not_cost_the_response(
    head: bytes, body: bytes, status: int
) -> None:
    async with serving() as server:
        answered = await server.exchange(head, body)

    assert answered.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answered


@pytest.mark.parametrize("version, count", [("1.1", 1), ("1.0", 0)])
async def test_a_client_that_expects_100_continue_receives_it(version: str, count: int) -> None:
    expecting = (KEY, JSON_TYPE, "Expect: 100-continue", "Content-Length: 2", CLOSE)
    head = a_head("POST /api/batch", *expecting).replace(b"1.1", version.encode(), 1)

    async with serving(keys=KEYS) as server:
        answered = await server.exchange(head, b"{}")

    assert answered.count(b"HTTP/1.1 100 Continue\r\n\r\n") == count
    assert b" 400 Bad Request" in answered  # an object without lookups


@pytest.mark.parametrize("sent", [b"", b"GET /api HTT", NOT_FOUND[:-2], b"\r\n\r\n"])
async def test_a_connection_without_a_request_head_is_closed(sent: bytes) -> None:
    async with serving(head=0.05) as server:
        assert await server.exchange(sent) == b""


@pytest.mark.parametrize(
    "begun, part",
    [("GET /api", "a" * 1000), ("GET /api HTTP/1.1\r\nHost: x", f"\r\nX-A: {'a' * 4000}")],
)
async def test_an_endless_head_is_refused(begun: str, part: str) -> None:
    async with serving() as server, server.client() as endless:
        endless.writer.write(begun.encode())
        answer = asyncio.ensure_future(endless.reader.read())
        for _ in range(100):
            endless.writer.write(part.encode())
            await asyncio.wait([answer], timeout=0.01)
            if answer.done():
                break

    assert b" 400 Bad Request" in answer.result().splitlines()[0]


async def test_an_unfinished_later_head_closes_the_connection() -> None:
    async with serving(head=0.05) as server, server.client() as slow:
        assert await slow.ask(NOT_FOUND) == 404

        slow.writer.write(b"GET /ap")

        assert await slow.reader.read() == b""


async def test_an_unfinished_head_behind_a_request_in_progress_closes_the_connection() -> None:
    lookups = a_slow_lookup()
    async with serving(lookups, head=0.05, shutdown_grace=0.1) as server:
        assert await server.exchange(a_head(f"GET {LOOKUP}") + b"GET /ap") == b""

    assert lookups.asked == []


async def test_a_whole_head_behind_a_request_in_progress_waits_for_it() -> None:
    lookups = a_slow_lookup()
    async with serving(lookups, head=0.05) as server, server.client() as busy:
        first = asyncio.create_task(busy.ask(a_head(f"GET {LOOKUP}") + NOT_FOUND))
        await lookups.reached.wait()
        # Opened later, and closed by the timeout: so much time has passed.
        assert await server.exchange(b"") == b""
        lookups.gate.set()

        assert (await first, await busy.ask(b"")) == (200, 404)


async def test_a_head_behind_a_request_of_the_same_write_is_bounded() -> None:
    large = b"GET /api HTTP/1.1\r\nHost: x\r\n" + b"X-A: %b\r\n" % (b"a" * 8000) * 22

    async with serving() as server:
        answered = await server.exchange(NOT_FOUND + large)

    assert statuses(answered) == [404, 400]


#: Requests with their status, which follow one another on one connection.
PIPELINE = (
    (NOT_FOUND, 404),
    (a_head("POST /api/batch", JSON_TYPE, "Content-Length: 6") + b"\r\n\r\n{}", 401),
    (a_head("POST /api/webhooks", CHUNKED) + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", 401),
    (b"\r\n" + a_head("GET /docs/icon.svg", "Upgrade: websocket", "Connection: upgrade"), 200),
    (a_head("POST /nothing", CHUNKED) + b"1\r\nx\r\n0\r\nX-Trailer: 1\r\n\r\n", 404),
    (a_head("DELETE /docs", CLOSE), 405),
)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 16, 10_000])
async def test_requests_are_read_alike_in_pieces_of_any_size(step: int) -> None:
    sent = b"".join(request for request, _ in PIPELINE)

    async with serving() as server:
        answered = await server.exchange(
            *(sent[at : at + step] for at in range(0, len(sent), step))
        )

    assert statuses(answered) == [status for _, status in PIPELINE]


async def test_requests_without_an_end_are_read_as_they_are_answered() -> None:
    sent = NOT_FOUND * 1100 + a_head("GET /nothing", CLOSE)

    async with serving(unfinished_requests=2**15) as server:
        answered = await server.exchange(sent)

    assert statuses(answered) == [404] * 1101


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
    async with serving() as server:
        answered = await server.exchange(a_head("POST /nothing", *headers) + b"0\r\n\r\n" + HIDDEN)

    assert statuses(answered) == [400]


@pytest.mark.parametrize("size", [b"z", b"-1", b"0x1", b"1 1", b"1;\n", b"f" * 17])
async def test_a_chunk_of_no_size_ends_the_connection(size: bytes) -> None:
    head = a_head("POST /api/batch", KEY, JSON_TYPE, CHUNKED)

    async with serving(keys=KEYS) as server:
        answered = await server.exchange(head + size + b"\r\nx\r\n0\r\n\r\n" + HIDDEN)

    assert statuses(answered) == [400]


@pytest.mark.parametrize("framing", ["Content-Length: 3", CHUNKED])
async def test_a_body_that_does_not_arrive_is_refused(framing: str) -> None:
    async with serving(keys=KEYS, body=0.05) as server:
        answered = await server.exchange(a_head("POST /api/batch", KEY, JSON_TYPE, framing))

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"within 0.05 s" in answered


async def test_a_body_may_arrive_for_longer_than_a_head() -> None:
    half = bytes(32 * 1024)

    async def read(request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    async with serving(head=0.05, app=answering(read)) as server, server.client() as uploading:
        uploading.writer.write(a_head("POST /", f"Content-Length: {2 * len(half)}") + half)
        # Another connection that sends nothing has been closed by then.
        assert await server.exchange(b"") == b""

        assert await uploading.ask(half) == 200


async def test_a_connection_may_be_idle_longer_than_the_head_timeout() -> None:
    async with serving(head=0.05) as server, server.client() as idle:
        first = await idle.ask(NOT_FOUND)
        assert await server.exchange(b"") == b""

        assert (first, await idle.ask(NOT_FOUND)) == (404, 404)


async def test_a_new_client_evicts_an_idle_connection() -> None:
    async with serving(max_connections=1) as server, server.client() as idle:
        await idle.ask(NOT_FOUND)

        async with server.client() as newcomer:
            assert await newcomer.ask(NOT_FOUND) == 404
            assert await idle.reader.read() == b""


async def test_a_new_client_receives_503_when_all_connections_are_busy() -> None:
    lookups = a_slow_lookup()
    async with serving(lookups, max_connections=1) as server:
        asked = asyncio.create_task(server.look_up())
        await lookups.reached.wait()

        refused = await server.exchange(NOT_FOUND)
        lookups.gate.set()

        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: " in refused
        assert orjson.loads(refused.partition(b"\r\n\r\n")[2])["code"] == "service_unavailable"
        assert await asked == 200


#: A response that is more than sockets buffer, and made for its client alone.
ANSWER = 32 * 2**20


async def large(_request: web.Request) -> web.Response:
    return web.Response(body=bytes(ANSWER))


# Requests are no sign that a client reads: the second keeps sending some.
@pytest.mark.parametrize(
    "app, path, pause", [(None, "/docs", 0), (answering(large), "/", 0.01)], ids=["many", "large"]
)
async def test_a_client_that_reads_no_responses_is_closed(
    app: web.Application | None, path: str, pause: float
) -> None:
    async with serving(app=app, send=0.1) as server, server.client() as greedy:
        with pytest.raises(ConnectionError):
            await greedy.ask_forever(a_head(f"GET {path}"), pause=pause)

    assert await server.closed("send_timeout") == 1


async def test_a_client_that_reads_slowly_receives_all() -> None:
    async with serving(app=answering(large), send=0.1) as server, server.client() as slow:
        slow.writer.write(a_head("GET /", CLOSE))
        received = 0
        while piece := await slow.reader.read(2**18):
            received += len(piece)
            await asyncio.sleep(0.002)

    assert received > ANSWER


async def test_the_largest_unsent_response_ends_when_all_are_too_large() -> None:
    async with (
        serving(app=answering(large), unsent_responses=2 * ANSWER) as server,
        AsyncExitStack() as stack,
    ):
        for _ in range(4):
            greedy = await stack.enter_async_context(server.client())
            greedy.read_nothing()
            greedy.writer.write(a_head("GET /"))

        await eventually(lambda: server.closed("unsent_responses"), lambda count: count == 2)


@pytest.mark.parametrize(
    "sent, code",
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", "invalid_body"),
        (a_head("GET /api", f"X-A: {'x' * 100_000}"), "invalid_body"),
        (a_head("GET /api?country=dk&name=Prøve"), "invalid_parameter"),
    ],
    ids=["tls", "flood", "not-encoded"],
)
async def test_a_malformed_request_is_a_problem_without_a_log_line(
    caplog: pytest.LogCaptureFixture, sent: bytes, code: str
) -> None:
    async with serving() as server:
        head, _, body = (await server.exchange(sent)).partition(b"\r\n\r\n")

    problem = orjson.loads(body)
    assert b" 400 " in head
    assert b"application/problem+json" in head
    assert b"X-Request-Id: id" in head
    assert b"aiohttp" not in head
    assert (problem["code"], problem["request_id"]) == (code, "id")
    assert caplog.records == []
