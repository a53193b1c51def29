"""Limits of a public port: its connections, the bytes that they hold, and the state they share."""

from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from aiohttp import web
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


class Holder(Protocol):
    """A connection whose bytes are counted."""

    def exceed(self, reason: str) -> None:
        """Closes the connection immediately, because it holds the most."""


class Bound:
    """Bytes held for clients; above the maximum, the connection that holds most is closed."""

    def __init__(self, maximum: int, reason: str) -> None:
        self._maximum = maximum
        self._reason = reason
        self._held: dict[Holder, int] = {}
        self._total = 0

    @property
    def total(self) -> int:
        """The bytes that all connections hold."""
        return self._total

    def hold(self, holder: Holder, count: int) -> None:
        """States how many bytes a connection holds now; 0 forgets it."""
        if not count and holder not in self._held:
            return
        self._total += count - self._held.pop(holder, 0)
        if count:
            self._held[holder] = count
        while self._total > self._maximum:
            largest = max(self._held, key=self._held.__getitem__)
            self._total -= self._held.pop(largest)
            largest.exceed(self._reason)


#: Connections beyond the limit that are answered 503 when none can be evicted.
MAX_REFUSED = 64
#: Files for everything but connections of clients: MongoDB, the broker, rendering processes, the
#: operational port, and connections that are refused or about to be closed.
RESERVED_FILES = 256


def connections_within(files: int, wanted: int) -> int:
    """Number of connections allowed by `files` open files, at most the configured one."""
    return min(wanted, max(files - RESERVED_FILES, files // 2))


class Evictable(Protocol):
    """A connection that can be closed to make room for another."""

    def evict(self) -> None:
        """Closes the connection immediately, to make room."""


class ConnectionTable:
    """Open connections; the idle ones are ordered by the start of their idle time.

    At the limit a new connection evicts the one that has been idle longest. When all are busy, the
    new one is answered 503.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: set[Evictable] = set()
        self._waiting: dict[Evictable, None] = {}
        self._refused: dict[Evictable, None] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._refused)

    def add(self, connection: Evictable) -> bool:
        """Registers an idle connection; False if it must be refused."""
        if len(self._open) < self._limit or self._evict(self._waiting):
            self._open.add(connection)
            self._waiting[connection] = None
            return True
        if len(self._refused) >= MAX_REFUSED:
            self._evict(self._refused)
        self._refused[connection] = None
        return False

    def wait(self, connection: Evictable) -> None:
        """Marks a connection as idle."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: Evictable) -> None:
        """Marks a connection as busy, so that it is not evicted."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Evictable) -> None:
        """Removes a connection that has ended; unknown ones are ignored."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._refused.pop(connection, None)

    def _evict(self, connections: dict[Evictable, None]) -> bool:
        longest = next(iter(connections), None)
        if longest is None:
            return False
        self.remove(longest)
        longest.evict()
        return True


#: Answers a request that never reaches the application, because there is no room (503), it is no
#: HTTP (400, with aiohttp's error), or the application has failed (500).
Refuse = Callable[[HTTPStatus, BaseException | None], web.Response]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of a public port; times are in seconds, sizes in bytes of all connections."""

    max_connections: int
    #: The whole head of a request, from the connection or from the head's first byte on.
    head: float = 15.0
    #: The whole body, from the end of the head on.
    body: float = 10.0
    #: Bytes unsent at the beginning of such a period must have left by its end.
    send: float = 60.0
    unfinished_requests: int = 32 * 2**20
    unsent_responses: int = 32 * 2**20


@dataclass(slots=True)
class Shared:
    """State shared by the connections of one port."""

    refuse: Refuse
    limits: ConnectionLimits
    metrics: ConnectionMetrics
    table: ConnectionTable = field(init=False)
    unfinished: Bound = field(init=False)
    unsent: Bound = field(init=False)

    def __post_init__(self) -> None:
        self.table = ConnectionTable(self.limits.max_connections)
        self.unfinished = Bound(self.limits.unfinished_requests, "unfinished_requests")
        self.unsent = Bound(self.limits.unsent_responses, "unsent_responses")
        self.metrics.watch(self.table)
