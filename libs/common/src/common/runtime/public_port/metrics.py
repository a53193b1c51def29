"""Metrics of a public port's connections."""

from collections.abc import Sized

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge


class ConnectionMetrics:
    """Counters of one port's connections."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._open = Gauge("http_connections", "Open connections", registry=registry)
        self._closed = Counter(
            "http_connections_closed_total",
            "Connections closed by the server: evicted, head_timeout, refused, send_timeout, "
            "unfinished_requests or unsent_responses",
            ["reason"],
            registry=registry,
        )

    def watch(self, connections: Sized) -> None:
        """Reports the size of `connections` as the number of open ones."""
        self._open.set_function(lambda: len(connections))

    def closed(self, reason: str) -> None:
        """Counts a connection that the server closed, by reason."""
        self._closed.labels(reason).inc()
