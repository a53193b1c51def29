"""Prometheus metrics of the HTTP interface."""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class HttpMetrics:
    """Metrics of one application; the label sets are few, so their children are cached."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._requests = Counter(
            "http_requests_total",
            "Requests by route, status and search type",
            ["route", "status", "search_type"],
            registry=registry,
        )
        self._seconds = Histogram(
            "http_request_duration_seconds",
            "From the request's arrival to its response",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self._limited = Counter(
            "http_requests_rate_limited_total",
            "Requests rejected by the rate limit",
            ["policy"],
            registry=registry,
        )
        for policy in ("anonymous", "key", "unproven-key"):
            self._limited.labels(policy)  # Prometheus sees no increase in a counter's first sample
        self._in_flight = Gauge(
            "http_requests_in_flight", "Requests in progress", registry=registry
        )
        self._in_flight.set_function(lambda: self.in_flight)
        self._of_request: dict[tuple[str, int, str], Counter] = {}
        self._of_route: dict[str, Histogram] = {}
        self.in_flight = 0

    def done(self, route: str, status: int, search_type: str, seconds: float) -> None:
        labels = (route, status, search_type)
        requests = self._of_request.get(labels)
        if requests is None:
            requests = self._of_request[labels] = self._requests.labels(*labels)
        requests.inc()
        latency = self._of_route.get(route)
        if latency is None:
            latency = self._of_route[route] = self._seconds.labels(route)
        latency.observe(seconds)

    def limited(self, policy: str) -> None:
        self._limited.labels(policy).inc()
