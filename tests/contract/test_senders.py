"""The requests of the sender of deliveries, and its outcomes with hostile receivers."""

import asyncio
import errno
import gzip
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from aiohttp.abc import ResolveResult

from common.contracts.failures import Unavailable
from dispatcher.guard import Lookup, system_lookup
from dispatcher.http_sender import (
    MAX_BODY_SIZE,
    MAX_RESPONSE_BYTES,
    HttpSender,
    SenderLimits,
    http_sender,
)
from dispatcher.outcomes import Cause, NoResponse, Outcome, Post, Response
from tests.delivery.waiting import SOON

LOOPBACK = IPv4Network("127.0.0.0/8")
#: Longer than any receiver here takes, also on a busy machine.
PATIENT = SenderLimits(total=timedelta(minutes=1), connect=timedelta(minutes=1))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

#: Behaviour of a receiver on one connection.
Behaviour = Callable[["Connection"], Awaitable[None]]


@dataclass
class Connection:
    """One connection to a receiver, as its bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    requests: list[bytes] = field(default_factory=list)

    async def request(self) -> bytes:
        """The next request, whole."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        request = head + await self.reader.readexactly(length)
        self.requests.append(request)
        return request

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Breaks it off without a goodbye."""
        self.writer.transport.abort()


@dataclass
class RawReceiver:
    """A receiver that may do anything."""

    port: int = 0
    connections: list[Connection] = field(default_factory=list)

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}/hook"

    @property
    def requests(self) -> int:
        return sum(len(connection.requests) for connection in self.connections)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@asynccontextmanager
async def receiving(
    behaviour: Behaviour, certificate: trustme.LeafCert | None
) -> AsyncIterator[RawReceiver]:
    """A receiver for the body's time; without a certificate it speaks no TLS."""
    receiver = RawReceiver()
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        connection = Connection(reader, writer)
        receiver.connections.append(connection)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await behaviour(connection)
        writer.close()

    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


def answering(*answers: bytes) -> Behaviour:
    """Answers the requests of a connection with these, in order."""

    async def behave(connection: Connection) -> None:
        for answer in answers:
            await connection.request()
            await connection.send(answer)
        await connection.reader.read()

    return behave


def dripping(begin: bytes, drop: bytes) -> Behaviour:
    """An answer that never ends and never hurries."""

    async def drip(connection: Connection) -> None:
        await connection.request()
        await connection.send(begin)
        while True:
            await connection.send(drop)
            await asyncio.sleep(0.1)

    return drip


DRIPPING_BODY = dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b".")


def pouring(begin: bytes, then: bytes) -> tuple[Behaviour, asyncio.Event]:
    """Answers with `begin`, then with `then` for ever; the event is set when it is broken off."""
    broken_off = asyncio.Event()

    async def pour(connection: Connection) -> None:
        await connection.request()
        try:
            await connection.send(begin)
            while True:
                await connection.send(then)
        finally:
            broken_off.set()

    return pour, broken_off


def a_post(url: str) -> Post:
    return Post(url, {"Content-Type": "application/json", "X-Delivery-Id": "an-id"}, b'{"id":1}')


@dataclass
class HttpSenders:
    """Senders that may call loopback, and receivers for them."""

    authority: trustme.CA
    folder: Path

    @property
    def ca_file(self) -> Path:
        path = self.folder / "ca.pem"
        self.authority.cert_pem.write_to_path(str(path))
        return path

    @asynccontextmanager
    async def to(
        self,
        behaviour: Behaviour,
        *,
        lookup: Lookup = system_lookup,
        limits: SenderLimits = PATIENT,
        tls: bool = True,
    ) -> AsyncIterator[tuple[HttpSender, RawReceiver]]:
        """A sender that may call loopback, and a receiver that behaves so."""
        certificate = self.authority.issue_cert("127.0.0.1", "receiver.example")
        async with AsyncExitStack() as stack:
            receiver = await stack.enter_async_context(
                receiving(behaviour, certificate if tls else None)
            )
            sender = await stack.enter_async_context(self.sender(lookup=lookup, limits=limits))
            yield sender, receiver

    async def outcome(
        self, behaviour: Behaviour, *, tls: bool = True, **limits: timedelta
    ) -> Outcome:
        """The outcome of one post to a receiver that behaves so."""
        async with (
            asyncio.timeout(SOON),
            self.to(behaviour, limits=replace(PATIENT, **limits), tls=tls) as (sender, receiver),
        ):
            return await sender.send(a_post(receiver.url()))

    def sender(
        self,
        *,
        lookup: Lookup = system_lookup,
        limits: SenderLimits = PATIENT,
        allowed: Sequence[IPv4Network] = (LOOPBACK,),
        trusting: bool = True,
    ) -> Any:
        ca_file = self.ca_file if trusting else None
        return http_sender(limits, allowed=allowed, ca_file=ca_file, lookup=lookup)


def a_closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def real(authority: trustme.CA, tmp_path: Path) -> HttpSenders:
    return HttpSenders(authority, tmp_path)


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The part of each response body that the sender reads; receivers cannot see it."""
    chunks: list[bytes] = []
    read = aiohttp.StreamReader.read

    async def note(stream: aiohttp.StreamReader, count: int = -1) -> bytes:
        chunks.append(await read(stream, count))
        return chunks[-1]

    monkeypatch.setattr(aiohttp.StreamReader, "read", note)
    return chunks


async def test_no_answer_is_a_word(real: HttpSenders) -> None:
    async with real.sender() as sender:
        outcome = await sender.send(a_post(f"https://127.0.0.1:{a_closed_port()}/hook"))

    assert outcome == NoResponse(Cause.CONNECTION_REFUSED)


async def test_many_are_sent_at_once(real: HttpSenders) -> None:
    async with real.to(answering(*[OK] * 20)) as (sender, receiver):
        posts = [a_post(receiver.url())] * 20
        outcomes = await asyncio.gather(*map(sender.send, posts))

    assert outcomes == [Response(200)] * 20


async def test_the_given_body_and_headers_are_sent(real: HttpSenders) -> None:
    async with real.to(answering(OK)) as (sender, receiver):
        await sender.send(a_post(receiver.url()))

        [request] = receiver.connections[0].requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert body == b'{"id":1}'
    assert head.startswith(b"POST /hook HTTP/1.1\r\n")
    assert b"X-Delivery-Id: an-id" in head
    # A packed answer is nothing that we would unpack.
    assert b"Accept-Encoding: identity" in head


async def test_cookies_are_never_sent_back(real: HttpSenders) -> None:
    cookie = b"HTTP/1.1 200 OK\r\nSet-Cookie: who=you\r\nContent-Length: 0\r\n\r\n"
    async with real.to(answering(cookie, OK)) as (sender, receiver):
        await sender.send(a_post(receiver.url("receiver.example")))
        await sender.send(a_post(receiver.url()))
        await sender.send(a_post(receiver.url()))

        requests = [r for each in receiver.connections for r in each.requests]
    assert not any(b"cookie" in request.lower() for request in requests)


async def test_a_proxy_of_the_environment_is_not_asked(
    real: HttpSenders, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{a_closed_port()}")
    async with real.to(answering(OK)) as (sender, receiver):
        assert await sender.send(a_post(receiver.url())) == Response(200)


async def test_a_connection_is_used_again(real: HttpSenders) -> None:
    async with real.to(answering(OK, OK)) as (sender, receiver):
        for _ in range(2):
            await sender.send(a_post(receiver.url()))

        assert len(receiver.connections) == 1


#: A large interim response, of which few are read.
HINT = b"HTTP/1.1 103 Early Hints\r\nSupervisedConnection: %s\r\n\r\n" % (b"a" * 7000)
HALF_A_SECOND = timedelta(seconds=0.5)
INVALID, LATE = NoResponse(Cause.INVALID_RESPONSE), NoResponse(Cause.TIMEOUT)


@pytest.mark.parametrize(
    "behaviour, limits, outcome",
    [
        *(
            (
                answering(b"HTTP/1.1 %d Status\r\nContent-Length: 0\r\n\r\n" % status),
                {},
                Response(status),
            )
            for status in (200, 204, 302, 410, 429, 500)
        ),
        (answering(), {"total": HALF_A_SECOND}, LATE),
        (dripping(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"), {"total": HALF_A_SECOND}, LATE),
        (dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), {"total": HALF_A_SECOND}, LATE),
        (
            DRIPPING_BODY,
            {"total": timedelta(hours=1), "body": timedelta(seconds=0.3)},
            Response(200),
        ),
        (answering(b"220 mail.example ESMTP\r\n\r\n"), {}, INVALID),
        (answering(b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 1_000_000), {}, INVALID),
        (answering(HINT * (MAX_RESPONSE_BYTES // len(HINT) + 1) + OK), {}, INVALID),
    ],
)
async def test_an_answer_is_its_status_and_another_a_cause(
    real: HttpSenders, behaviour: Behaviour, limits: dict[str, timedelta], outcome: Outcome
) -> None:
    assert await real.outcome(behaviour, tls=True, **limits) == outcome


async def test_one_that_never_finishes_the_handshake_is_a_timeout(real: HttpSenders) -> None:
    async def say_nothing(connection: Connection) -> None:
        await connection.reader.read()

    outcome = await real.outcome(say_nothing, tls=False, connect=HALF_A_SECOND)

    assert outcome == LATE


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 204 No Content\r\n\r\nok",
        b"HTTP/1.1 204 No Content\nX: y\n\nok",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok and more",
        b"HTTP/1.1 204 No Content\r\nX-Long: " + b"a" * 9_000 + b"\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n" + b"X-Many: 1\r\n" * 150 + b"\r\n",
        HINT + b"HTTP/1.1 204 No Content\r\n\r\nok",
    ],
    ids=["body", "line feeds", "trailing bytes", "long header", "many headers", "after a hint"],
)
@pytest.mark.parametrize("cut", [0, 1, 2, 3], ids=lambda cut: f"cut {cut} before the body")
async def test_a_status_counts_whatever_follows_it(
    real: HttpSenders, answer: bytes, cut: int
) -> None:
    first = answer[: answer.rindex(b"\n\r\n" if b"\r" in answer else b"\n\n") + 3 - cut]

    async def in_two_parts(connection: Connection) -> None:
        await connection.request()
        if cut:
            await connection.send(first)
        await connection.send(answer[len(first) :] if cut else answer)

    assert await real.outcome(in_two_parts) == Response(204)


@pytest.mark.parametrize("path", ["/a%2Fb/%7Ex/%2e%2e/c?x=%7E&y=a+b", "/?x", ""])
async def test_the_url_is_sent_byte_for_byte(real: HttpSenders, path: str) -> None:
    async with real.to(answering(OK)) as (sender, receiver):
        await sender.send(a_post(receiver.url().removesuffix("/hook") + path))
        [request] = receiver.connections[0].requests

    assert request.startswith(f"POST {path or '/'} HTTP/1.1\r\n".encode())


async def test_a_status_counts_although_the_time_ends_while_the_body_comes(
    real: HttpSenders,
) -> None:
    # Longer ones are for a machine that needs them for the head.
    for seconds in (1, 5, 25):
        limits = replace(PATIENT, total=timedelta(seconds=seconds), body=timedelta(hours=1))
        async with real.to(DRIPPING_BODY, limits=limits) as (sender, receiver):
            outcome = await sender.send(a_post(receiver.url()))
        if outcome == Response(200):
            break

    assert outcome == Response(200)


async def test_of_an_endless_body_little_is_read(real: HttpSenders, chunks: list[bytes]) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pour, broken_off = pouring(head, b"10000\r\n" + bytes(0x10000) + b"\r\n")
    async with real.to(pour) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))
        async with asyncio.timeout(SOON):
            await broken_off.wait()

    assert outcome == Response(200)
    assert sum(map(len, chunks)) == MAX_BODY_SIZE


async def test_a_zip_bomb_is_not_unpacked(real: HttpSenders, chunks: list[bytes]) -> None:
    bomb = gzip.compress(bytes(20_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    async with real.to(answering(head % len(bomb) + bomb)) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))

    assert outcome == Response(200)
    assert b"".join(chunks) == bomb[:MAX_BODY_SIZE]


async def test_a_redirect_is_not_followed(real: HttpSenders) -> None:
    there = b"HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"
    async with real.to(answering(there, OK)) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))

        assert receiver.requests == 1
    assert outcome == Response(302)


async def test_a_few_interim_responses_precede_any_answer(real: HttpSenders) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    continued = b"HTTP/1.1 100 Continue\r\n\r\n" + hint * 90
    async with real.to(answering(*[continued + OK] * 3)) as (sender, receiver):
        outcomes = [await sender.send(a_post(receiver.url())) for _ in range(3)]

    assert outcomes == [Response(200)] * 3


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STYLES = b"HTTP/1.1 103 Early Hints\r\n" + b"SupervisedConnection: </style.css>\r\n" * 100 + b"\r\n"


@pytest.mark.parametrize(
    "begin, piece, outcomes",
    [
        (b"", CONTINUE, [INVALID]),
        (b"", STYLES, [INVALID]),
        (b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=b\r\n", [INVALID]),
        (b"HTTP/1.1 200 OK\r\n", b"X-Long: " + b"a" * 8000 + b"\r\n", [INVALID]),
        (b"HTTP/1.1 200 OK\r\n", b"a" * 8000, [INVALID]),
        # A trailer that is refused in one read with the head refuses the head as well.
        (CHUNKED + b"1;", b"a" * 10, [Response(200), INVALID]),
        (CHUNKED + b"0\r\n", b"a: b\r\n", [Response(200), INVALID]),
        (OK, CONTINUE, [Response(200)]),
    ],
    ids=[
        *("interim", "large interim", "headers", "long headers", "a header"),
        *("chunk extension", "trailers", "after the answer"),
    ],
)
async def test_what_does_not_end_is_broken_off(
    real: HttpSenders, begin: bytes, piece: bytes, outcomes: list[Outcome]
) -> None:
    pour, broken_off = pouring(begin, piece * (10 if len(piece) > 5000 else 1000))
    limits = replace(PATIENT, body=timedelta(hours=1))
    async with asyncio.timeout(SOON), real.to(pour, limits=limits) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))
        await broken_off.wait()

    assert outcome in outcomes


async def test_a_reset_is_reported_and_not_retried(real: HttpSenders) -> None:
    async def reset(connection: Connection) -> None:
        await connection.request()
        connection.reset()

    async with real.to(reset) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))

        assert receiver.requests == 1
    assert outcome == NoResponse(Cause.CONNECTION_RESET)


async def test_a_kept_connection_that_is_closed_costs_nothing(real: HttpSenders) -> None:
    turns = Counter[str]()

    async def close_on_the_second_request(connection: Connection) -> None:
        turns["connections"] += 1
        await connection.request()
        await connection.send(OK)
        await connection.request()
        if turns["connections"] == 1:
            connection.reset()

    async with real.to(close_on_the_second_request) as (sender, receiver):
        outcomes = [await sender.send(a_post(receiver.url())) for _ in range(2)]

        assert [len(each.requests) for each in receiver.connections] == [2, 1]
    assert outcomes == [Response(200)] * 2


async def test_without_tls_nothing_is_sent(real: HttpSenders) -> None:
    async def answer_in_plain(connection: Connection) -> None:
        await connection.reader.read(100)
        await connection.send(OK)

    async with real.to(answer_in_plain, tls=False) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url()))

        assert receiver.requests == 0
    assert outcome == NoResponse(Cause.TLS)


async def test_an_unknown_authority_is_not_trusted(real: HttpSenders) -> None:
    async with (
        real.to(answering(OK)) as (_, receiver),
        real.sender(trusting=False) as sender,
    ):
        assert await sender.send(a_post(receiver.url())) == NoResponse(Cause.TLS)


async def test_a_certificate_for_another_name_is_not_trusted(real: HttpSenders) -> None:
    async with real.to(answering(OK), lookup=to_loopback) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url("other.example")))

    assert outcome == NoResponse(Cause.TLS)


def a_result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)


def to_loopback(host: str, port: int, _family: int) -> list[ResolveResult]:
    return [a_result(host, "127.0.0.1", port)]


def to_these(*addresses: str) -> Lookup:
    return lambda host, port, _family: [a_result(host, each, port) for each in addresses]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]"]
)
async def test_an_address_in_the_url_is_checked(real: HttpSenders, host: str) -> None:
    async with real.sender(allowed=()) as sender:
        outcome = await sender.send(a_post(f"https://{host}/hook"))

    assert outcome == NoResponse(Cause.BLOCKED_ADDRESS)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "fd00::1", "64:ff9b::7f00:1"])
async def test_every_address_of_a_name_is_checked(real: HttpSenders, address: str) -> None:
    async with real.sender(allowed=(), lookup=to_these(address, address)) as sender:
        outcome = await sender.send(a_post("https://receiver.example/hook"))

    assert outcome == NoResponse(Cause.BLOCKED_ADDRESS)


async def test_only_the_allowed_addresses_of_a_host_are_called(real: HttpSenders) -> None:
    lookup = to_these("10.0.0.1", "127.0.0.1")
    async with real.to(answering(OK), lookup=lookup) as (sender, receiver):
        outcome = await sender.send(a_post(receiver.url("receiver.example")))

    assert outcome == Response(200)


async def test_a_name_that_changes_is_checked_again(real: HttpSenders) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    def rebinding(host: str, port: int, _family: int) -> list[ResolveResult]:
        return [a_result(host, each, port) for each in answers.pop(0)]

    goodbye = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    async with real.to(answering(goodbye), lookup=rebinding) as (sender, receiver):
        first = await sender.send(a_post(receiver.url("receiver.example")))
        # Another port is another question, as it is when the answer's time is over.
        second = await sender.send(a_post("https://receiver.example/hook"))

    assert (first, second) == (Response(200), NoResponse(Cause.BLOCKED_ADDRESS))


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f.1", "0177.0.0.1"])
async def test_unusual_spellings_of_private_addresses_are_not_called(
    real: HttpSenders, host: str
) -> None:
    async with real.sender(allowed=()) as sender:
        outcome = await sender.send(a_post(f"https://{host}/hook"))

    assert outcome in (
        NoResponse(Cause.BLOCKED_ADDRESS),
        NoResponse(Cause.INVALID_RESPONSE),
        NoResponse(Cause.DNS),
    )


async def test_a_name_without_addresses_is_dns(real: HttpSenders) -> None:
    def nothing(_host: str, _port: int, _family: int) -> list[ResolveResult]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with real.sender(lookup=nothing) as sender:
        outcome = await sender.send(a_post("https://receiver.example/hook"))

    assert outcome == NoResponse(Cause.DNS)


async def test_slow_name_resolution_delays_no_other(real: HttpSenders) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow_but_for_one(host: str, port: int, _family: int) -> list[ResolveResult]:
        if host != "receiver.example":
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        return [a_result(host, "127.0.0.1", port)]

    async with real.to(answering(OK), lookup=slow_but_for_one) as (sender, receiver):
        slow = [
            asyncio.create_task(sender.send(a_post(f"https://slow-{number}.example/")))
            for number in range(40)
        ]
        await asyncio.sleep(0)
        outcome = await sender.send(a_post(receiver.url("receiver.example")))
        release.set()
        await asyncio.gather(*slow)

    assert outcome == Response(200)


async def test_a_lack_of_sockets_counts_as_no_attempt(real: HttpSenders) -> None:
    def out_of_files(_host: str, _port: int, _family: int) -> list[ResolveResult]:
        raise OSError(errno.EMFILE, "Too many open files")

    async with real.sender(lookup=out_of_files) as sender:
        with pytest.raises(Unavailable):
            await sender.send(a_post("https://receiver.example/hook"))
