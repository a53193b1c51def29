"""Public ports, which read one request at a time (ADR 0045)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final, cast

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy

from common.runtime.public_port.connections import (
    PIECE,
    Connection,
    ConnectionLimits,
    ConnectionMetrics,
    Receiver,
    Refuse,
    Shared,
    SharedResponse,
    writer_of,
)

#: True if the client sends the body only after `100 Continue`.
CONTINUE_EXPECTED = web.RequestKey("continue_expected", bool)


class LateBody(web.RequestPayloadError):
    """The body did not arrive in time."""


async def send_continue(request: web.BaseRequest) -> None:
    """Requests a body that the client withholds until then (RFC 9110, 10.1.1)."""
    if request.get(CONTINUE_EXPECTED) and request.version >= HttpVersion11:
        status = HTTPStatus.CONTINUE
        await request.writer.write(b"HTTP/1.1 %d %b\r\n\r\n" % (status, status.phrase.encode()))
        request.writer.output_size = 0


def allow_body(request: web.BaseRequest, seconds: float) -> None:
    """Sets the seconds in which a large body must arrive, whose bytes are no longer counted.

    The handler bounds them: it writes them to the disk as they arrive, for few requests at a time.
    """
    if isinstance(request.protocol, RequestReader):
        request.protocol.expect_body(seconds)


#: Bytes and seconds for the rest of a body that no handler has read. The connection is closed
#: after it; closing immediately would reset it, and the client might lose the response.
MAX_DISCARDED = 2 * 1024 * 1024
DISCARD_TIMEOUT = 5.0
#: Maximum bytes of a head, as in Node.js. One header may have 8 KiB and there may be 128, so
#: without it each connection could hold a megabyte.
MAX_HEAD = 16 * 1024
#: Bytes of memory that a byte of a head takes once it is parsed.
HEAD_WEIGHT = 4
#: Bytes that any connection may hold: most requests are as small.
UNCOUNTED = 8 * 1024

_NEWLINES = b"\r\n"
_END = b"\r\n\r\n"


class RequestReader(Connection):
    """A connection that gives the parser one request at a time.

    Bytes after a request wait here until it is answered (ADR 0045).
    """

    __slots__ = (
        "_body",
        "_body_left",
        "_discardable",
        "_head_size",
        "_is_busy",
        "_is_counted",
        "_received",
        "_unparsed",
        "_unread",
    )

    def __init__(self, server: web.Server, shared: Shared, **options: Any) -> None:
        super().__init__(server, shared, **options)
        #: Bytes that the parser has not been given.
        self._unparsed = b""
        #: Bytes of the current request's head that the parser has been given.
        self._head_size = 0
        #: True from the end of a head to the end of its response.
        self._is_busy = False
        #: Bytes of the current request's body that the parser has been given.
        self._received = 0
        #: False if the handler bounds what it receives.
        self._is_counted = True
        #: The incomplete body, and its missing bytes if their number is known.
        self._body: StreamReader | None = None
        self._body_left: int | None = None
        #: The rest of a request whose response was sent before, and how much may still come.
        self._unread: StreamReader | None = None
        self._discardable = MAX_DISCARDED

    def connection_lost(self, exc: BaseException | None) -> None:
        """Ends the body that is being discarded."""
        self._unparsed = b""
        if self._unread is not None:
            self._unread.feed_eof()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Gives the parser the current request, or discards the rest of an old one."""
        if self._force_close or self._close:
            return
        if self._unread is not None:
            self._discard(data)
            return
        if not data:
            # The parser goes on where a full body has stopped it.
            super().data_received(data)
        self._unparsed += data
        self._parse()

    def _parse(self) -> None:
        while self._unparsed and not self._reading_paused:
            if self._body is not None:
                self._parse_body(self._body)
            elif not self._is_busy:
                self._parse_head()
            else:
                break
        self._watch()

    def _parse_head(self) -> None:
        size = self._next_end()
        requests = self._request_count
        if self._head_size + size > MAX_HEAD:
            # A head must not contain a NUL, so the parser rejects the request.
            self._unparsed = b"\0"
            size = 1
        fed = self._feed(size)
        # Empty lines before a request are no part of it.
        if self._head_size or fed.strip(_NEWLINES):
            self._head_size += size
        if self._request_count > requests:
            self._begin_request()

    def _begin_request(self) -> None:
        message, payload = self._messages[-1]
        self._is_busy = True
        self._shared.table.work(self)
        self._stop("head_timeout")
        if not isinstance(message, RawRequestMessage):
            # The rest is discarded like an unread body, so that the client can read the answer.
            self._messages[-1] = (message, StreamReader(self, 1, loop=self._loop))
            self._parser = None
            return
        if self._head_size > UNCOUNTED // HEAD_WEIGHT:
            # Nothing reads the headers as they came, which are half of a parsed head.
            self._messages[-1] = (message._replace(raw_headers=()), payload)
        if not payload.is_eof():
            length = message.headers.get(hdrs.CONTENT_LENGTH)
            self._body = payload
            self._received = payload.total_bytes
            self._body_left = None if length is None else int(length) - self._received
            self._timers["body"] = self._loop.call_later(
                self._shared.limits.body, self._end_body_late, self._shared.limits.body
            )

    def _parse_body(self, body: StreamReader) -> None:
        size = self._next_end() if self._body_left is None else self._body_left
        size = min(size, len(self._unparsed))
        if self._body_left is not None:
            self._body_left -= size
        self._received += size
        requests = self._request_count
        self._feed(size)
        if body.is_eof():
            self._end_body()
        elif self._request_count > requests:
            # The received bytes are no body, and aiohttp leaves the waiting handler unnotified.
            self._parser = None
            self._give_up(body, web.RequestPayloadError("the body cannot be read"))

    def _end_body(self) -> None:
        self._body = None
        self._stop("body")

    def expect_body(self, seconds: float) -> None:
        """Sets the seconds in which the current body must arrive, unless it has."""
        self._is_counted = False
        self._shared.unfinished.hold(self, 0)
        if self._body is not None:
            self._stop("body")
            self._timers["body"] = self._loop.call_later(seconds, self._end_body_late, seconds)

    def _end_body_late(self, seconds: float) -> None:
        if self._body is not None:
            self._give_up(self._body, LateBody(f"the body did not arrive within {seconds:g} s"))

    def _give_up(self, body: StreamReader, error: web.RequestPayloadError) -> None:
        self._end_body()
        self._lingering_time = 0.0
        body.set_exception(error)

    def _next_end(self) -> int:
        """Returns the end of the next bytes to feed, where a head or chunked body may end.

        An end that began in the bytes before is only newlines here.
        """
        if self._unparsed.startswith((b"\r", b"\n")):
            return len(self._unparsed) - len(self._unparsed.lstrip(_NEWLINES))
        end = self._unparsed.find(_END)
        return len(self._unparsed) if end < 0 else end + len(_END)

    def _feed(self, size: int) -> bytes:
        fed, self._unparsed = self._unparsed[:size], self._unparsed[size:]
        super().data_received(fed)
        return fed

    def _watch(self) -> None:
        received = self._received if self._is_counted else 0
        held = HEAD_WEIGHT * self._head_size + received + len(self._unparsed)
        if self._is_busy and not self._unparsed and held <= UNCOUNTED:
            return
        has_head = _END in self._unparsed
        is_following = self._is_busy and self._body is None
        if is_following and self._socket and (has_head or len(self._unparsed) > MAX_HEAD):
            self._socket.pause_reading()
        # A body that arrives has a time of its own.
        is_partial = self._unparsed.strip(_NEWLINES) if self._is_busy else self._head_size
        if is_partial and self._body is None and not (is_following and has_head):
            self._expect("head_timeout", self._shared.limits.head)
        elif self._is_busy:
            self._stop("head_timeout")
        self._shared.unfinished.hold(self, held if held > UNCOUNTED else 0)

    def _discard(self, data: bytes) -> None:
        self._discardable -= len(data)
        if self._discardable < 0:
            self.force_close()
        elif self._parser is not None:
            data, self._unparsed = self._unparsed + data, b""
            super().data_received(data)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Sends a response; the connection ends with it if the request has not been received."""
        if not request.content.is_eof():
            resp.force_close()
            self._unread = request.content
            self._end_body()
        self.is_shared = isinstance(resp, SharedResponse)
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._response_finished()

    def _response_finished(self) -> None:
        self._is_busy = False
        self._head_size = self._received = 0
        self._is_counted = True
        self._shared.unfinished.hold(self, 0)
        if self._socket is None or self._socket.is_closing():
            return
        if self._unparsed and not self._reading_paused:
            self._socket.resume_reading()  # unless the rest is again enough
        if self._unread is None:
            self._parse()
            if not self._is_busy:
                self._shared.table.wait(self)
        elif self._parser is None:
            self._socket.write_eof()


def request_factory(make_request: Callable[..., web.BaseRequest]) -> Callable[..., Any]:
    """Returns a factory that builds requests with our writer, and without `Expect`.

    aiohttp would answer `Expect` before the middleware runs. A body is requested when a handler
    reads it, so never from a rejected client. Other expectations are ignored, as RFC 9110, 10.1.1
    allows.
    """

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        _writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        writer = writer_of(protocol)
        expectation = message.headers.get(hdrs.EXPECT)
        if expectation is None:
            return make_request(message, payload, protocol, writer, task)
        headers = message.headers.copy()
        headers.popall(hdrs.EXPECT)
        message = message._replace(headers=CIMultiDictProxy(headers))
        request = make_request(message, payload, protocol, writer, task)
        request[CONTINUE_EXPECTED] = expectation.lower() == "100-continue"
        return request

    return make


#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s): the side
#: that closes first must be the one that knows that no request is in flight.
KEEP_ALIVE: Final = 75


def protocol_log() -> logging.Logger:
    """Returns a logger without aiohttp's errors about invalid HTTP.

    Any client can cause them, and they quote its headers: cookies and keys among them.
    """
    log = logging.getLogger("common.http")
    log.setLevel(logging.CRITICAL)
    return log


@asynccontextmanager
async def listening(
    runner: web.BaseRunner, *, host: str, port: int, **options: Any
) -> AsyncIterator[int]:
    """Serves while the body runs; yields the port (for port 0). `options` are of a TCPSite.

    Leaving closes the port and the idle connections at once, and the others after their response,
    at the latest after the runner's `shutdown_timeout`.
    """
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, **options).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


#: Connections that may wait to be accepted.
BACKLOG = 1024


def public_port(  # noqa: PLR0913 (each is one setting of the port)
    app: web.Application,
    *,
    host: str,
    port: int,
    shared: bool = False,
    shutdown_grace: timedelta,
    refuse: Refuse,
    limits: ConnectionLimits,
    metrics: ConnectionMetrics,
    handler_cancellation: bool = False,
) -> AbstractAsyncContextManager[int]:
    """Serves the application while the body runs; yields the port (for port 0).

    Other processes of the same user may listen on a `shared` port, too: the kernel gives each
    connection to one of them. With `handler_cancellation` a client that leaves ends its request.
    """
    runner = PublicRunner(
        app,
        refuse,
        limits=limits,
        metrics=metrics,
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=shutdown_grace.total_seconds(),
        handler_cancellation=handler_cancellation,
    )
    return listening(runner, host=host, port=port, backlog=BACKLOG, reuse_port=shared)


class PublicRunner(web.AppRunner):
    """Runs an application over `RequestReader`s; request bodies are never decompressed."""

    def __init__(
        self,
        app: web.Application,
        refuse: Refuse,
        *,
        limits: ConnectionLimits,
        metrics: ConnectionMetrics,
        **options: Any,
    ) -> None:
        """`refuse` answers requests that never reach the application."""
        super().__init__(
            app,
            access_log=None,
            auto_decompress=False,
            lingering_time=DISCARD_TIMEOUT,
            logger=protocol_log(),
            **options,
        )
        self._shared = Shared(refuse, limits, metrics)

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._shared)


class _Server(web.Server):
    """An application's server that creates `RequestReader`s."""

    def __init__(self, server: web.Server, shared: Shared) -> None:
        super().__init__(
            server.request_handler,
            request_factory=request_factory(server.request_factory),
            handler_cancellation=server.handler_cancellation,
            **server._kwargs,
        )
        self._shared = shared
        self._buffer = memoryview(bytearray(PIECE))

    def __call__(self) -> web.RequestHandler:
        connection = RequestReader(self, self._shared, **self._kwargs)
        return cast(web.RequestHandler, Receiver(connection, self._buffer))
