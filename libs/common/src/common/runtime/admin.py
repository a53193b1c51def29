"""The operational port: `/healthz` (the loop turns), `/readyz`, `/metrics`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from common.runtime.health import Health


@asynccontextmanager
async def admin_port(health: Health, *, host: str, port: int) -> AsyncIterator[int]:
    """Serves the operational paths while the body runs; yields the port (for port 0)."""

    async def alive(_request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ready(_request: web.Request) -> web.Response:
        is_ready, checks = await health.report()
        body = {"status": "ok" if is_ready else "unavailable", "checks": checks}
        return web.json_response(body, status=200 if is_ready else 503)

    async def metrics(_request: web.Request) -> web.Response:
        await health.report()  # sets the metrics of readiness
        return web.Response(
            body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    app = web.Application()
    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(
        app,
        access_log=None,
        # No path reads a body, so none is awaited or decompressed.
        auto_decompress=False,
        lingering_time=0,
        keepalive_timeout=75,
        shutdown_timeout=1,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
