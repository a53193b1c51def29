"""Serving of HTTP applications."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

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
