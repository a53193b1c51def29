"""Table of open connections, and the choice of one to evict at the limit."""

from typing import Protocol

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
