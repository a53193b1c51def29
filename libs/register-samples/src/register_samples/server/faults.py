"""Faults on demand: what goes wrong with the next requests to a path."""

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TooManyRequests:
    """429, with Retry-After in seconds when it is given."""

    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer of this status, and HTML for a body, as from the proxy in front of a register."""

    status: int = 500


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The right answer, but only this share of its bytes.

    A whole answer of fewer bytes, as from a proxy that lost the rest, unless `told`: then the
    length is the right one and the connection ends before it.
    """

    share: float = 0.5
    told: bool = False


@dataclass(frozen=True, slots=True)
class Slow:
    """The right answer after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ShardFailed:
    """Of a search in CVR: 200 with the hits of the other shards, as Elasticsearch answers then."""


Fault = TooManyRequests | Failure | BrokenOff | Slow | ShardFailed


@dataclass
class Faults:
    """The next faults, in order, by the end of the path."""

    _planned: dict[str, deque[Fault]] = field(default_factory=dict)

    def plan(self, path: str, *faults: Fault) -> None:
        """The next requests whose path ends so meet these faults, one each."""
        self._planned.setdefault(path, deque()).extend(faults)

    def next(self, path: str) -> Fault | None:
        for ending, faults in self._planned.items():
            if faults and path.endswith(ending):
                return faults.popleft()
        return None

    @property
    def pending(self) -> int:
        """The number of planned faults that no request has met."""
        return sum(len(faults) for faults in self._planned.values())
