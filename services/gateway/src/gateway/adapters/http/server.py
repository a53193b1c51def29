"""The public port."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from aiohttp import web

from gateway.adapters.http.connections import ConnectionLimits, PublicRunner
from gateway.adapters.http.metrics import ConnectionMetrics

#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s): the side
#: that closes first must be the one that knows that no request is in flight.
KEEP_ALIVE = 75
#: Connections that may wait to be accepted.
BACKLOG = 1024


@asynccontextmanager
async def public_port(  # noqa: PLR0913 (each is one setting of the port)
    app: web.Application,
    *,
    host: str,
    port: int,
    shared: bool = False,
    shutdown_grace: timedelta,
    new_id: Callable[[], str],
    limits: ConnectionLimits,
    metrics: ConnectionMetrics,
) -> AsyncIterator[int]:
    """Serves the application while the body runs; yields the port (for port 0).

    Other processes of the same user may listen on a `shared` port, too: the kernel gives each
    connection to one of them.

    Leaving closes the port and the idle connections at once, and the others after their response,
    at the latest after `shutdown_grace`.
    """
    runner = PublicRunner(
        app,
        new_id,
        limits=limits,
        metrics=metrics,
        logger=_protocol_log(),
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=shutdown_grace.total_seconds(),
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=BACKLOG, reuse_port=shared).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _protocol_log() -> logging.Logger:
    """Logger without aiohttp's errors about invalid HTTP, which any client can cause."""
    log = logging.getLogger("gateway.protocol")
    log.setLevel(logging.CRITICAL)
    return log
