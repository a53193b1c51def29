"""Connections of the public port: HTTP is read here with limits, before any handler runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy

from gateway.adapters.http.bodies import CONTINUE_EXPECTED
from gateway.adapters.http.connection_table import ConnectionTable
from gateway.adapters.http.errors import problem_response
from gateway.adapters.http.metrics import ConnectionMetrics
from gateway.adapters.http.middleware import CONSTANT_HEADERS, REQUEST_ID
from gateway.domain.problems import (
    InternalError,
    InvalidBody,
    InvalidParameter,
    Problem,
    ServiceUnavailable,
)
from gateway.domain.query import Format

#: Bytes and seconds for the rest of a body that no handler has read. The connection is closed
#: after it; closing immediately would reset it, and the client might lose the response.
MAX_DISCARDED = 2 * 1024 * 1024
DISCARD_TIMEOUT = 5.0
#: Seconds for the whole head of a request, from the connection or from the head's first byte on.
HEAD_TIMEOUT = 15.0
#: Maximum bytes of an incomplete head, as in Node.js. One header may have 8 KiB and there may be
#: 128, so without it each connection could hold a megabyte.
MAX_HEAD = 16 * 1024
#: Seconds for a client to receive a response.
SEND_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of the public port's connections; times are in seconds."""

    max_connections: int
    head: float = HEAD_TIMEOUT
    send: float = SEND_TIMEOUT


class PublicRunner(web.AppRunner):
    """Runs an application over `Connection`s; request bodies are never decompressed."""

    def __init__(
        self,
        app: web.Application,
        new_id: Callable[[], str],
        *,
        limits: ConnectionLimits,
        metrics: ConnectionMetrics,
        **options: Any,
    ) -> None:
        """`new_id` names requests that never reach the application."""
        super().__init__(
            app,
            access_log=None,
            auto_decompress=False,
            lingering_time=DISCARD_TIMEOUT,
            **options,
        )
        table = ConnectionTable(limits.max_connections)
        metrics.watch(table)
        self._shared = _Shared(new_id, limits, table, metrics)

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._shared)


@dataclass(frozen=True, slots=True)
class _Shared:
    """State shared by the connections of one port."""

    new_id: Callable[[], str]
    limits: ConnectionLimits
    table: ConnectionTable
    metrics: ConnectionMetrics


class _Server(web.Server):
    """An application's server that creates `Connection`s."""

    def __init__(self, server: web.Server, shared: _Shared) -> None:
        super().__init__(
            server.request_handler,
            request_factory=_without_expectation(server.request_factory),
            handler_cancellation=server.handler_cancellation,
            **server._kwargs,
        )
        self._shared = shared

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._shared, **self._kwargs)


class Connection(web.RequestHandler):
    """A client's connection, closed when the client exceeds a timeout."""

    __slots__ = (
        "_discardable",
        "_head_bytes",
        "_head_timer",
        "_send_timer",
        "_shared",
        "_socket",
        "_waiting",
    )

    def __init__(self, server: web.Server, shared: _Shared, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._shared = shared
        #: aiohttp drops its own reference before the last bytes are sent.
        self._socket: asyncio.Transport | None = None
        #: True if the connection is idle or a head is incomplete.
        self._waiting = True
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._send_timer: asyncio.TimerHandle | None = None
        #: Bytes that may still be discarded, once a response was sent before its request ended.
        self._discardable: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        super().connection_made(transport)
        if not self._shared.table.add(self):
            self._request_handler = self._refuse
        self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._shared.table.remove(self)
        self._socket = None
        for timer in (self._head_timer, self._send_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._discardable is not None:
            self._discard(data)
            return
        received = self._request_count
        super().data_received(data)
        if not self._waiting:
            return
        if self._request_count == received:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD:
                # A head must not contain a NUL, so the parser rejects the request.
                super().data_received(b"\0")
        if self._request_count > received:
            self._head_received()
        elif self._head_timer is None:
            self._expect_head()

    def _discard(self, data: bytes) -> None:
        self._discardable = (self._discardable or 0) - len(data)
        if self._discardable < 0:
            self.force_close()
        else:
            super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_sent()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Sends a response; the connection ends with it if the request has not been received."""
        if not request.content.is_eof():
            resp.force_close()
            self._discardable = MAX_DISCARDED
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._response_finished()

    def evict(self) -> None:
        self._end("evicted")

    def _response_finished(self) -> None:
        if not self._messages:
            self._waiting = True
            self._shared.table.wait(self)
        if self._socket is not None and self._socket.get_write_buffer_size():
            self._expect_sent()

    def _expect_head(self) -> None:
        self._head_timer = self._loop.call_later(
            self._shared.limits.head, self._end, "head_timeout"
        )

    def _head_received(self) -> None:
        self._waiting = False
        self._head_bytes = 0
        self._shared.table.work(self)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _expect_sent(self) -> None:
        if self._send_timer is None:
            self._send_timer = self._loop.call_later(
                self._shared.limits.send, self._check_sent, self._request_count
            )

    def _check_sent(self, requests: int) -> None:
        """Closes the connection if its client has neither received all nor sent another request."""
        self._send_timer = None
        if self._socket is None or not self._socket.get_write_buffer_size():
            return
        if self._request_count > requests:
            self._expect_sent()
        else:
            self._end("send_timeout")

    def _end(self, reason: str) -> None:
        """Closes the connection immediately, discarding unsent data."""
        if self._socket is not None:
            self._shared.metrics.closed(reason)
            self._socket.abort()

    async def _refuse(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Answers 503 on a connection beyond the limit."""
        self._shared.metrics.closed("refused")
        return self._problem_response(ServiceUnavailable("too many connections; retry later"))

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Returns the problem of a request that cannot be read; the connection ends with it."""
        super().handle_error(request, status, exc, message)
        return self._problem_response(_problem_of(status, exc))

    def _problem_response(self, problem: Problem) -> web.Response:
        request_id = self._shared.new_id()
        response = problem_response(problem, request_id, Format.JSON)
        response.headers.update(CONSTANT_HEADERS)
        response.headers[REQUEST_ID] = request_id
        response.force_close()
        return response


def _without_expectation(make_request: Callable[..., web.BaseRequest]) -> Callable[..., Any]:
    """Builds requests without `Expect`, which aiohttp would answer before the middleware runs.

    A body is requested when a handler reads it, so never from a rejected client. Other
    expectations are ignored, as RFC 9110, 10.1.1 allows.
    """

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
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


def _problem_of(status: int, error: BaseException | None) -> Problem:
    if isinstance(error, InvalidURLError):
        return InvalidParameter(
            "the URL must be ASCII: percent-encode other characters (å is %C3%A5)"
        )
    if status < 500:
        return InvalidBody("the request cannot be read as HTTP/1.1, or its headers are too large")
    return InternalError()
