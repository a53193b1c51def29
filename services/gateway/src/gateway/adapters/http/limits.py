"""Rate limits counted in this process: a fixed window for each client."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from gateway.domain.rates import Rate

#: Maximum clients per rate, about 25 MB; beyond, the oldest window is dropped.
MAX_CLIENTS = 100_000


class Quota(NamedTuple):
    """The remaining quota of one client."""

    allowed: bool
    #: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
    policy: str
    state: str
    #: Whole seconds until the window ends.
    reset: int


@dataclass(slots=True)
class _Window:
    ends: float
    used: int = 0


class RateLimiter:
    """One rate for many clients: each has its own window, from its first request on."""

    def __init__(
        self, name: str, rate: Rate, *, clock: Callable[[], float], most: int = MAX_CLIENTS
    ) -> None:
        """`name` is the policy's name in the headers; `clock` is monotonic, in seconds."""
        self._name = name
        self._rate = rate
        self._clock = clock
        self._most = most
        self._policy = f'"{name}";q={rate.count};w={rate.window}'
        #: All are equally long, so they are ordered by their end.
        self._windows: OrderedDict[str, _Window] = OrderedDict()

    @property
    def clients(self) -> int:
        """Number of clients with a window."""
        return len(self._windows)

    def take(self, client: str, cost: int = 1) -> Quota:
        """Counts the requests if all of them fit the quota, else none; returns which."""
        now = self._clock()
        self._forget(now)
        window = self._windows.get(client)
        if window is None:
            window = self._begun(client, now)
        allowed = window.used + cost <= self._rate.count
        if allowed:
            window.used += cost
        return self._allowance(window, now, allowed=allowed)

    def give_back(self, client: str) -> None:
        """Uncounts one request, if its window has not ended."""
        window = self._windows.get(client)
        if window is not None and window.used:
            window.used -= 1

    def look(self, client: str) -> Quota:
        """The quota now, without counting a request."""
        now = self._clock()
        self._forget(now)
        return self._allowance(self._windows.get(client, _Window(now)), now, allowed=True)

    def _allowance(self, window: _Window, now: float, *, allowed: bool) -> Quota:
        reset = ceil(window.ends - now)
        state = f'"{self._name}";r={self._rate.count - window.used};t={reset}'
        return Quota(allowed, self._policy, state, reset)

    def _begun(self, client: str, now: float) -> _Window:
        if len(self._windows) == self._most:
            self._windows.popitem(last=False)
        window = self._windows[client] = _Window(now + self._rate.window)
        return window

    def _forget(self, now: float) -> None:
        """Drops ended windows, which come first."""
        while self._windows and next(iter(self._windows.values())).ends <= now:
            self._windows.popitem(last=False)
