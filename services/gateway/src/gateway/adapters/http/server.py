"""The public port."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from aiohttp import web

from common.runtime.http_server import KEEP_ALIVE, listening
from gateway.adapters.http.connections import ConnectionLimits, PublicRunner
from gateway.adapters.http.metrics import ConnectionMetrics

#: Connections that may wait to be accepted.
BACKLOG = 1024


def public_port(  # noqa: PLR0913 (each is one setting of the port)
    app: web.Application,
    *,
    host: str,
    port: int,
    shared: bool = False,
    shutdown_grace: timedelta,
    new_id: Callable[[], str],
    limits: ConnectionLimits,
    metrics: ConnectionMetrics,
) -> AbstractAsyncContextManager[int]:
    """Serves the application while the body runs; yields the port (for port 0).

    Other processes of the same user may listen on a `shared` port, too: the kernel gives each
    connection to one of them.
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
    return listening(runner, host=host, port=port, backlog=BACKLOG, reuse_port=shared)


def _protocol_log() -> logging.Logger:
    """Logger without aiohttp's errors about invalid HTTP, which any client can cause."""
    log = logging.getLogger("gateway.protocol")
    log.setLevel(logging.CRITICAL)
    return log
