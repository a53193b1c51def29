"""Connections of a public port: received and sent in pieces, counted, and closed at limits."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, TypeAlias, cast

import structlog
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_writer import StreamWriter
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

#: Bytes of one piece. uvloop would read 256 KiB, which each connection could be made to hold.
PIECE = 8 * 1024


class Receiver(asyncio.BufferedProtocol):
    """Passes a connection's events on; all connections receive into one buffer."""

    def __init__(self, connection: asyncio.Protocol, buffer: memoryview) -> None:
        self._buffer = buffer
        self.connection_made = connection.connection_made  # type: ignore[method-assign]
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.eof_received = connection.eof_received  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]
        self._received = connection.data_received

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (of the protocol)
        """Returns the buffer that all connections share."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Passes the received bytes on, copied out of the shared buffer."""
        self._received(bytes(self._buffer[:nbytes]))


#: Bytes of one slice.
SLICE = 32 * 1024
#: Bytes that a connection may leave unsent before its handler waits.
HIGH_WATER = 16 * 1024
#: Bytes that the kernel takes for a connection without sending them; it would take megabytes.
UNSENT_IN_KERNEL = 64 * 1024

Buffer: TypeAlias = "bytes | bytearray | memoryview[int] | memoryview[bytes]"


class Sending(Protocol):
    """A connection, as the writer of its responses sees it."""

    #: True if the response is the same object for every client, so that it costs no memory.
    is_shared: bool

    def wrote(self, count: int) -> None:
        """Counts bytes that are written and not yet sent."""

    def wait_for_client(self, rest: int) -> None:
        """Notes that the response waits for the client, with `rest` bytes still to write."""

    def resume(self) -> None:
        """Notes that the wait is over."""


class SlicingWriter(StreamWriter):
    """Writes each response in slices, each after the one before was sent."""

    async def write(
        self,
        chunk: Buffer,
        *,
        drain: bool = True,
        LIMIT: int = SLICE,  # noqa: ARG002, N803 (of aiohttp)
    ) -> None:
        """Writes a chunk in slices, and waits while the client does not read."""
        left = len(chunk)
        for each in _slices(chunk):
            left -= len(each)
            await super().write(each, drain=False)
            if drain and self._protocol.writing_paused:
                await self._wait(left)

    def write_eof(self, chunk: bytes = b"") -> Coroutine[Any, Any, None]:
        """Writes the last chunk, in slices if it is long, and ends the response."""
        return super().write_eof(chunk) if len(chunk) <= SLICE else self._write_all(chunk)

    async def _write_all(self, chunk: bytes) -> None:
        await self.write(chunk)
        await super().write_eof()

    async def drain(self) -> None:
        """Waits while the client does not read."""
        if self._protocol.writing_paused:
            await self._wait(0)

    async def _wait(self, left: int) -> None:
        connection = cast(Sending, self._protocol)
        connection.wait_for_client(0 if connection.is_shared else left)
        try:
            await super().drain()
        finally:
            connection.resume()

    def _write(self, chunk: Buffer) -> None:
        super()._write(chunk)
        connection: Sending = self._protocol  # type: ignore[assignment]
        connection.wrote(len(chunk))

    def _writelines(self, chunks: Iterable[Buffer]) -> None:
        self._write(b"".join(chunks))


def _slices(chunk: Buffer) -> Iterator[Buffer]:
    if len(chunk) <= SLICE:
        yield chunk
        return
    whole = memoryview(chunk).cast("B")
    for start in range(0, len(whole), SLICE):
        yield whole[start : start + SLICE]


def writer_of(protocol: BaseProtocol) -> SlicingWriter:
    """Returns a writer for the connection of `protocol`."""
    return SlicingWriter(protocol, protocol._loop)


class SharedResponse(web.Response):
    """A response whose body is one object for all clients, so that unsent it costs nothing."""


def bound_sending(transport: asyncio.Transport, seconds: float) -> None:
    """Bounds what is unsent, here and in the kernel, which ends a connection without progress."""
    transport.set_write_buffer_limits(high=HIGH_WATER)
    client = transport.get_extra_info("socket")
    if client is not None:
        with suppress(OSError):  # it may have ended already
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_IN_KERNEL)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))


log = structlog.get_logger()


class ConnectionMetrics:
    """Counters of one port's connections."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._open = Gauge("http_connections", "Open connections", registry=registry)
        self._closed = Counter(
            "http_connections_closed_total",
            "Connections closed by the server: evicted, head_timeout, refused, send_timeout, "
            "unfinished_requests or unsent_responses",
            ["reason"],
            registry=registry,
        )

    def watch(self, connections: Sized) -> None:
        """Reports the size of `connections` as the number of open ones."""
        self._open.set_function(lambda: len(connections))

    def closed(self, reason: str) -> None:
        """Counts a connection that the server closed, by reason."""
        self._closed.labels(reason).inc()


class Holder(Protocol):
    """A connection whose bytes are counted."""

    def exceed(self, reason: str) -> None:
        """Closes the connection immediately, because it holds the most."""


class Bound:
    """Bytes held for clients; above the maximum, the connection that holds most is closed."""

    def __init__(self, maximum: int, reason: str) -> None:
        self._maximum = maximum
        self._reason = reason
        self._held: dict[Holder, int] = {}
        self._total = 0

    @property
    def total(self) -> int:
        """The bytes that all connections hold."""
        return self._total

    def hold(self, holder: Holder, count: int) -> None:
        """States how many bytes a connection holds now; 0 forgets it."""
        if not count and holder not in self._held:
            return
        self._total += count - self._held.pop(holder, 0)
        if count:
            self._held[holder] = count
        while self._total > self._maximum:
            largest = max(self._held, key=self._held.__getitem__)
            self._total -= self._held.pop(largest)
            largest.exceed(self._reason)


#: Connections beyond the limit that are answered 503 when none can be evicted.
MAX_REFUSED = 64
#: Files for everything but connections of clients: MongoDB, the broker, rendering processes, the
#: operational port, and connections that are refused or about to be closed.
RESERVED_FILES = 256


def connections_within(files: int, wanted: int) -> int:
    """Returns the connections allowed by `files` open files, at most the configured number."""
    return min(wanted, max(files - RESERVED_FILES, files // 2))


class Evictable(Protocol):
    """A connection that can be closed to make room for another."""

    def evict(self) -> None:
        """Closes the connection immediately, to make room."""


class ConnectionTable:
    """Open connections; the idle ones are ordered by the start of their idle time.

    At the limit a new connection evicts the one that has been idle longest. When all are busy, the
    new one is answered 503.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: set[Evictable] = set()
        self._waiting: dict[Evictable, None] = {}
        self._refused: dict[Evictable, None] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._refused)

    def add(self, connection: Evictable) -> bool:
        """Registers an idle connection; False if it must be refused."""
        if len(self._open) < self._limit or self._evict(self._waiting):
            self._open.add(connection)
            self._waiting[connection] = None
            return True
        if len(self._refused) >= MAX_REFUSED:
            self._evict(self._refused)
        self._refused[connection] = None
        return False

    def wait(self, connection: Evictable) -> None:
        """Marks a connection as idle."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: Evictable) -> None:
        """Marks a connection as busy, so that it is not evicted."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Evictable) -> None:
        """Removes a connection that has ended; unknown ones are ignored."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._refused.pop(connection, None)

    def _evict(self, connections: dict[Evictable, None]) -> bool:
        longest = next(iter(connections), None)
        if longest is None:
            return False
        self.remove(longest)
        longest.evict()
        return True


#: Answers a request that never reaches the application, because there is no room (503), it is no
#: HTTP (400, with aiohttp's error), or the application has failed (500).
Refuse = Callable[[HTTPStatus, BaseException | None], web.Response]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of a public port; times are in seconds, sizes in bytes of all connections."""

    max_connections: int
    #: The whole head of a request, from the connection or from the head's first byte on.
    head: float = 15.0
    #: The whole body, from the end of the head on.
    body: float = 10.0
    #: Bytes unsent at the beginning of such a period must have left by its end.
    send: float = 60.0
    unfinished_requests: int = 32 * 2**20
    unsent_responses: int = 32 * 2**20


@dataclass(slots=True)
class Shared:
    """State shared by the connections of one port."""

    refuse: Refuse
    limits: ConnectionLimits
    metrics: ConnectionMetrics
    table: ConnectionTable = field(init=False)
    unfinished: Bound = field(init=False)
    unsent: Bound = field(init=False)

    def __post_init__(self) -> None:
        self.table = ConnectionTable(self.limits.max_connections)
        self.unfinished = Bound(self.limits.unfinished_requests, "unfinished_requests")
        self.unsent = Bound(self.limits.unsent_responses, "unsent_responses")
        self.metrics.watch(self.table)


class Connection(web.RequestHandler):
    """A client's connection, closed when the client exceeds a limit."""

    __slots__ = ("_shared", "_socket", "_timers", "_written", "is_shared")

    def __init__(self, server: web.Server, shared: Shared, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._shared = shared
        #: aiohttp drops its own reference before the last bytes are sent.
        self._socket: asyncio.Transport | None = None
        #: The timers, by their reason for closing the connection.
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._written = 0
        self.is_shared = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the timeout of a request's head; refuses it if no place is left."""
        self._socket = cast(asyncio.Transport, transport)
        bound_sending(self._socket, self._shared.limits.send)
        super().connection_made(transport)
        if not self._shared.table.add(self):
            self._request_handler = self._refuse
        self._expect("head_timeout", self._shared.limits.head)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Frees the connection's place, its bytes and its timers."""
        self._shared.table.remove(self)
        self._shared.unfinished.hold(self, 0)
        self._shared.unsent.hold(self, 0)
        self._socket = None
        for timer in self._timers.values():
            timer.cancel()
        if isinstance(exc, TimeoutError):  # the kernel's
            self._shared.metrics.closed("send_timeout")
        super().connection_lost(exc)

    def wrote(self, count: int) -> None:
        """Counts written bytes, of which the client must read some before a timeout."""
        self._written += count
        if "send_timeout" not in self._timers:
            self._timers["send_timeout"] = self._loop.call_later(
                self._shared.limits.send, self._check_sent, self._written
            )

    def _check_sent(self, written: int) -> None:
        del self._timers["send_timeout"]
        unsent = 0 if self._socket is None else self._socket.get_write_buffer_size()
        if unsent and self._written - unsent < written:
            self._end("send_timeout")
        elif unsent:
            self.wrote(0)

    def wait_for_client(self, rest: int) -> None:
        """Counts the unsent bytes: those in the socket's buffer, and `rest` more."""
        if self._socket is not None:
            self._shared.unsent.hold(self, self._socket.get_write_buffer_size() + rest)

    def resume(self) -> None:
        """Stops counting unsent bytes: the client has read them."""
        self._shared.unsent.hold(self, 0)

    def evict(self) -> None:
        """Closes the connection to make room for another."""
        self._end("evicted")

    def exceed(self, reason: str) -> None:
        """Closes the connection because it holds the most bytes."""
        self._end(reason)

    def _expect(self, reason: str, seconds: float) -> None:
        if reason not in self._timers:
            self._timers[reason] = self._loop.call_later(seconds, self._end, reason)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _end(self, reason: str) -> None:
        if self._socket is not None:
            self._shared.metrics.closed(reason)
            self._socket.abort()

    async def _refuse(self, _request: web.BaseRequest) -> web.StreamResponse:
        self._shared.metrics.closed("refused")
        return self._refusal(HTTPStatus.SERVICE_UNAVAILABLE, None)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 (it quotes the request)
    ) -> web.StreamResponse:
        """Returns the answer to a request that cannot be read; the connection ends with it."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request.failed", exc_info=exc)
        if request.writer.output_size:
            raise ConnectionError("a response has begun, so that no other can be sent")
        return self._refusal(HTTPStatus(status), exc)

    def _refusal(self, status: HTTPStatus, error: BaseException | None) -> web.Response:
        response = self._shared.refuse(status, error)
        response.force_close()
        return response
