"""The public port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from aiohttp import web

#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s).
_KEEP_ALIVE = 75


@asynccontextmanager
async def public_port(
    app: web.Application, *, host: str, port: int, shutdown_grace: timedelta
) -> AsyncIterator[int]:
    """Serves the application while the body runs; yields the port (for port 0)."""
    runner = web.AppRunner(
        app,
        access_log=None,
        keepalive_timeout=_KEEP_ALIVE,
        shutdown_timeout=shutdown_grace.total_seconds(),
        # A browser that leaves a page ends the request that the page was waiting for.
        handler_cancellation=True,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
