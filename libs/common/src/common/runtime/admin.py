"""The operational port: `/healthz` (the loop turns), `/readyz`, `/metrics`."""

from contextlib import AbstractAsyncContextManager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from common.runtime.health import Health
from common.runtime.http_server import KEEP_ALIVE, listening, protocol_log


def admin_port(health: Health, *, host: str, port: int) -> AbstractAsyncContextManager[int]:
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
        logger=protocol_log(),
        # No path reads a body, so none is awaited or decompressed.
        auto_decompress=False,
        lingering_time=0,
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=1,
    )
    return listening(runner, host=host, port=port)
