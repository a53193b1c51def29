"""Rate limits: a fixed window for each client, counted for all gateways together (ADR 0029)."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import NamedTuple

from prometheus_client import Counter

from common.contracts.failures import Unavailable
from gateway.access.keys import Rate
from gateway.access.quotas import MongoQuotas
from gateway.access.single_flight import SingleFlight

#: Maximum clients per rate, about 25 MB; beyond, the oldest window is dropped.
MAX_CLIENTS = 100_000
#: Seconds for which nothing is leased after a failure: requests do not wait for a lost database.
_LOCAL_FOR = 1.0

_LEASES = Counter("rate_limit_leases_total", "Leases of quota by outcome", ["outcome"])
for _outcome in ("granted", "refused", "unavailable"):
    _LEASES.labels(_outcome)


class Quota(NamedTuple):
    """The remaining quota of one client."""

    allowed: bool
    #: The policy's name.
    name: str
    #: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
    policy: str
    state: str
    #: Whole seconds until the window ends.
    reset: int
    remaining: int
    rate: Rate


@dataclass(slots=True)
class _Window:
    ends: float
    #: Requests that this process may let through in the window, and that it has let through.
    granted: int = 0
    used: int = 0
    #: The part of `used` that the last lease has reported.
    reported: int = 0
    #: Requests of the rate that no process has leased.
    unleased: int = 0
    #: The window of the leases, which they compare with theirs.
    leased: object | None = None
    #: True if a lease of one request was refused: the quota is used up until the window ends.
    exhausted: bool = False

    @property
    def left(self) -> int:
        return self.granted - self.used


class RateLimiter:
    """One rate for many clients: each has its own window, from its first request on."""

    def __init__(
        self,
        name: str,
        rate: Rate,
        *,
        clock: Callable[[], float],
        leases: MongoQuotas | None = None,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        """`name` is the policy's name in the headers; `clock` is monotonic, in seconds.

        Without `leases` the rate is counted in this process alone.
        """
        self._name = name
        self._rate = rate
        self._clock = clock
        self._leases = leases
        self._max_clients = max_clients
        self._policy = f'"{name}";q={rate.count};w={rate.window}'
        #: All are equally long, so they are nearly ordered by their end.
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        #: Clients for whom a lease is being requested.
        self._leasing = SingleFlight[_Window]()
        self._local_until = float("-inf")

    @property
    def clients(self) -> int:
        """Number of clients with a window."""
        return len(self._windows)

    async def take(self, client: str, cost: int = 1) -> Quota:
        """Counts the requests if all of them fit the quota, else none; returns which."""
        window = self._window(client)
        if window is None or (window.left < cost and not window.exhausted):
            window = await self._with_room(client, cost)
        allowed = window.left >= cost
        if allowed:
            window.used += cost
        return self._quota(window, allowed=allowed)

    def give_back(self, client: str) -> None:
        """Uncounts one request, if its window has not ended."""
        window = self._window(client)
        if window is not None and window.used > window.reported:
            window.used -= 1

    def look(self, client: str) -> Quota:
        """The quota now, without counting a request."""
        full = _Window(self._clock(), granted=self._rate.count)
        return self._quota(self._window(client) or full, allowed=True)

    async def _with_room(self, client: str, cost: int) -> _Window:
        """The client's window after a lease; requests of one moment share it."""
        while await self._leasing.ended(client):
            window = self._window(client)
            if window is not None and (window.left >= cost or window.exhausted):
                return window
        return await self._leasing(client, partial(self._leased, client, cost))

    async def _leased(self, client: str, cost: int) -> _Window:
        window = self._window(client)
        counted_here = window is not None and window.leased is None
        if self._leases is None or counted_here or self._clock() < self._local_until:
            return self._local(client, window)
        spent = 0 if window is None else window.used - window.reported
        try:
            lease = await self._leases.lease(
                f"{self._name}:{client}",
                self._rate,
                cost=cost,
                spent=spent,
                window=None if window is None else window.leased,
            )
        except Unavailable:
            _LEASES.labels("unavailable").inc()
            self._local_until = self._clock() + _LOCAL_FOR
            return self._local(client, self._window(client))
        _LEASES.labels("granted" if lease.granted else "refused").inc()
        if window is None or window.leased != lease.window:
            window = self._begun(client, lease.reset)
            window.leased = lease.window
        else:
            window.reported += spent
        window.granted += lease.granted
        window.unleased = lease.unleased
        window.exhausted = cost == 1 and not lease.granted
        return window

    def _local(self, client: str, window: _Window | None) -> _Window:
        """A window that is counted in this process alone."""
        if window is None:
            window = self._begun(client, self._rate.window)
        window.granted, window.unleased = self._rate.count, 0
        window.exhausted = window.left <= 0
        return window

    def _quota(self, window: _Window, *, allowed: bool) -> Quota:
        reset = ceil(window.ends - self._clock())
        remaining = max(0, window.left + window.unleased)
        state = f'"{self._name}";r={remaining};t={reset}'
        return Quota(allowed, self._name, self._policy, state, reset, remaining, self._rate)

    def _begun(self, client: str, seconds: float) -> _Window:
        self._windows.pop(client, None)
        if len(self._windows) == self._max_clients:
            self._windows.popitem(last=False)
        window = self._windows[client] = _Window(self._clock() + seconds)
        return window

    def _window(self, client: str) -> _Window | None:
        """The client's window, unless it has ended; drops the oldest windows that have."""
        now = self._clock()
        while self._windows and next(iter(self._windows.values())).ends <= now:
            self._windows.popitem(last=False)
        window = self._windows.get(client)
        return None if window is None or window.ends <= now else window
