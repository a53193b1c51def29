"""Public ports."""

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, Final, cast

from aiohttp import web

from common.runtime.public_port.connections import (
    ConnectionLimits,
    ConnectionMetrics,
    Refuse,
    Shared,
)
from common.runtime.public_port.reading import DISCARD_TIMEOUT, RequestReader, request_factory
from common.runtime.public_port.transport import PIECE, Receiver

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
