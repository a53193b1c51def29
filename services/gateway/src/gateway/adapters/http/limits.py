"""Rates, counted in this process: fixed windows, one for each client that has sent something."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from gateway.domain.rates import Rate

#: Clients counted at once for one rate, about 25 MB; beyond, the oldest window is forgotten.
MAX_CLIENTS = 100_000


class Quota(NamedTuple):
    """What is left for one client."""

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
    """One rate for many clients: a window of its own for each, from its first request on."""

    def __init__(
        self, name: str, rate: Rate, *, clock: Callable[[], float], most: int = MAX_CLIENTS
    ) -> None:
        """`name` is shown to clients as the policy's; `clock` is monotonic, in seconds."""
        self._name = name
        self._rate = rate
        self._clock = clock
        self._most = most
        self._policy = f'"{name}";q={rate.count};w={rate.window}'
        #: All are equally long, so they are in the order of their ends.
        self._windows: OrderedDict[str, _Window] = OrderedDict()

    @property
    def clients(self) -> int:
        """Those that are counted now."""
        return len(self._windows)

    def take(self, client: str, cost: int = 1) -> Quota:
        """Counts so many requests if all of them may pass, else none; says which."""
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
        """Takes back the count of one request, if its window is not over."""
        window = self._windows.get(client)
        if window is not None and window.used:
            window.used -= 1

    def look(self, client: str) -> Quota:
        """What a request would find, without counting it."""
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
        """Drops the windows that are over: they are in front."""
        while self._windows and next(iter(self._windows.values())).ends <= now:
            self._windows.popitem(last=False)
