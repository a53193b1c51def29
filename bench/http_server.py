"""An HTTP server inside a benchmark's own process."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from yarl import URL


@asynccontextmanager
async def serving(
    app: web.Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[URL]:
    """The address of the application; any free port unless one is given."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, ssl_context=tls).start()
        scheme = "https" if tls else "http"
        yield URL.build(scheme=scheme, host=host, port=runner.addresses[0][1])
    finally:
        await runner.cleanup()
