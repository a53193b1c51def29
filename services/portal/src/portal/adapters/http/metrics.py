"""Prometheus metrics of the portal."""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class HttpMetrics:
    """Metrics of one application."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._requests = Counter(
            "portal_http_requests_total",
            "Requests by route and status",
            ["route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "portal_http_request_duration_seconds",
            "From the request's arrival to its response",
            ["route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._sign_ins = Counter(
            "portal_sign_ins_total",
            "Sign-ins by result: accepted or refused",
            ["result"],
            registry=registry,
        )
        self.live_readers = Gauge(
            "portal_live_readers", "Open pages that follow events live", registry=registry
        )

        self.customer_files = Gauge(
            "portal_customer_files", "Files of customers in memory", registry=registry
        )

    def done(self, route: str, status: int, seconds: float) -> None:
        """Counts a response and observes its duration, by route."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def signed_in(self, *, accepted: bool) -> None:
        """Counts an attempt to sign in."""
        self._sign_ins.labels("accepted" if accepted else "refused").inc()
