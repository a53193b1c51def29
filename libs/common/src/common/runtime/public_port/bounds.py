"""Bound of the bytes that all connections of a port hold together."""

from typing import Protocol


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
