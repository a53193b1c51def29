"""Metrics of a server over HTTP, for Prometheus, on a port of their own (`--metrics-port`)."""

from collections.abc import Container

from prometheus_client import Counter, Histogram, make_asgi_app
from starlette.types import ASGIApp, Receive, Scope, Send

_REQUESTS = Counter(
    "mcp_requests_total",
    "Requests by status and called tool; no tool for other requests",
    ["status", "tool"],
)
_SECONDS = Histogram(
    "mcp_request_duration_seconds",
    "From a request's head to the end of its answer",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count(status: int, tool: str | None, tools: Container[str], seconds: float) -> None:
    """Counts a request; a name that is not one of the `tools` is an agent's own text."""
    _REQUESTS.labels(str(status), tool if tool is not None and tool in tools else "").inc()
    _SECONDS.observe(seconds)


def metrics_app() -> ASGIApp:
    """Returns the application that answers Prometheus, at `/metrics` alone."""
    metrics = make_asgi_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/metrics":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
            return
        if scope["type"] == "http":
            await metrics(scope, receive, send)

    return app
