"""Metrics of a MongoDB client: its pool of connections and its commands."""

from prometheus_client import Counter, Gauge, Histogram
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
    ConnectionCheckedInEvent,
    ConnectionCheckedOutEvent,
    ConnectionCheckOutFailedEvent,
    ConnectionClosedEvent,
    ConnectionCreatedEvent,
    ConnectionPoolListener,
)

_COMMANDS = Histogram(
    "mongodb_command_duration_seconds",
    "From a command to its reply, by outcome; a getMore of a change stream waits for a change",
    ["client", "command", "outcome"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_OPEN = Gauge("mongodb_pool_connections", "Open connections, those in use among them", ["client"])
_IN_USE = Gauge("mongodb_pool_connections_in_use", "Connections with an operation", ["client"])
_WAITS = Histogram(
    "mongodb_pool_wait_seconds",
    "Wait of an operation for a connection, with the time to open a new one",
    ["client"],
    buckets=(0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_FAILED_WAITS = Counter(
    "mongodb_pool_wait_failures_total", "Operations that got no connection", ["client", "reason"]
)
#: Reasons that PyMongo gives, as labels.
_REASONS = {"poolClosed": "pool_closed", "connectionError": "connection_error"}
_TIMEOUT = "timeout"


class CommandMetrics(CommandListener):
    """Durations of the commands of one client, by command and outcome."""

    def __init__(self, client: str) -> None:
        self._client = client
        # Cached, since looking up a labelled child costs more than observing with it.
        self._children: dict[tuple[str, str], Histogram] = {}

    def started(self, event: CommandStartedEvent) -> None:
        """Its duration is in the event of its end."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Observes the duration of a command that succeeded."""
        self._observe(event.command_name, "succeeded", event.duration_micros)

    def failed(self, event: CommandFailedEvent) -> None:
        """Observes the duration of a command that failed."""
        self._observe(event.command_name, "failed", event.duration_micros)

    def _observe(self, command: str, outcome: str, microseconds: int) -> None:
        child = self._children.get((command, outcome))
        if child is None:
            child = _COMMANDS.labels(self._client, command, outcome)
            self._children[command, outcome] = child
        child.observe(microseconds / 1_000_000)


class PoolMetrics(ConnectionPoolListener):
    """Connections of one client: open, in use, and the waits for a free one."""

    def __init__(self, client: str) -> None:
        # Plain numbers, read at a scrape: three of these methods run with each operation.
        self._open = self._in_use = 0
        _OPEN.labels(client).set_function(lambda: self._open)
        _IN_USE.labels(client).set_function(lambda: self._in_use)
        self._waits = _WAITS.labels(client)
        # Prometheus sees no increase in a counter's first sample.
        self._failed = {
            reason: _FAILED_WAITS.labels(client, reason)
            for reason in (*_REASONS.values(), _TIMEOUT)
        }

    def connection_created(self, event: ConnectionCreatedEvent) -> None:  # noqa: ARG002
        """Counts a new connection."""
        self._open += 1

    def connection_closed(self, event: ConnectionClosedEvent) -> None:  # noqa: ARG002
        """Subtracts a closed connection."""
        self._open -= 1

    def connection_checked_out(self, event: ConnectionCheckedOutEvent) -> None:
        """Counts a connection in use and observes the wait for it."""
        self._in_use += 1
        self._waits.observe(event.duration or 0.0)

    def connection_checked_in(self, event: ConnectionCheckedInEvent) -> None:  # noqa: ARG002
        """Subtracts a connection that is free again."""
        self._in_use -= 1

    def connection_check_out_failed(self, event: ConnectionCheckOutFailedEvent) -> None:
        """Counts a failed wait by its reason."""
        self._failed[_REASONS.get(event.reason, _TIMEOUT)].inc()

    def pool_created(self, event: object) -> None:
        """Other events say nothing that these do not."""

    pool_ready = pool_cleared = pool_closed = pool_created
    connection_ready = connection_check_out_started = pool_created
