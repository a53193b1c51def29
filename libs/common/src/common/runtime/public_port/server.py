"""Public ports."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy

from common.runtime.http_server import KEEP_ALIVE, listening, protocol_log
from common.runtime.public_port.connections import (
    ConnectionLimits,
    ConnectionMetrics,
    Refuse,
    Shared,
)
from common.runtime.public_port.reading import CONTINUE_EXPECTED, DISCARD_TIMEOUT, RequestReader
from common.runtime.public_port.transport import PIECE, Receiver, writer_of

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
            request_factory=_requests(server.request_factory),
            handler_cancellation=server.handler_cancellation,
            **server._kwargs,
        )
        self._shared = shared
        self._buffer = memoryview(bytearray(PIECE))

    def __call__(self) -> web.RequestHandler:
        connection = RequestReader(self, self._shared, **self._kwargs)
        return cast(web.RequestHandler, Receiver(connection, self._buffer))


def _requests(make_request: Callable[..., web.BaseRequest]) -> Callable[..., Any]:
    """Builds requests with our writer, and without `Expect`.

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
