"""Rate limits: fixed windows of each client, counted for all gateways together (ADR 0060)."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import NamedTuple

from prometheus_client import Counter

from common.contracts.failures import Unavailable
from gateway.access.keys import Rate
from gateway.access.quotas import Lease, MongoQuotas, Window
from gateway.access.single_flight import SingleFlight

#: Maximum clients per rate, about 25 MB; beyond, the oldest window is dropped.
MAX_CLIENTS = 100_000
#: Seconds for which nothing is leased after a failure: requests do not wait for a lost database.
_LOCAL_FOR = 1.0
#: Recalls in a window for which requests wait: the first ends shares, and the second leases. Later
#: requests that find nothing are refused at once.
_MAX_WAITS = 2

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
    #: By the limiter's clock.
    ends: float
    #: Requests that this process may let through in the window, and that it has let through.
    granted: int = 0
    used: int = 0
    #: The part of `used` that leases and settlements have reported.
    reported: int = 0
    #: Requests of the rate that no process has leased.
    unleased: int = 0
    #: The window that all gateways count; None: this process counts alone.
    shared: Window | None = None
    #: Recalls until this time are settled, in milliseconds of the Unix epoch.
    settled_at: float = 0.0
    #: True while a lease is being requested, and from then on.
    is_leasing: bool = False
    has_leased: bool = False
    #: Recalls for which requests have waited.
    waits: int = 0
    #: Until this time, by the limiter's clock, no lease has room for so many requests.
    refused_until: float = float("-inf")
    refused_cost: int = 0

    @property
    def left(self) -> int:
        return self.granted - self.used

    def give_up(self) -> int:
        """Ends the share and the lease; returns the requests to report."""
        spent = self.used - self.reported
        self.granted = self.reported = self.used
        return spent

    def settled(self, at: float) -> None:
        """Notes a stored settlement of that time."""
        self.settled_at = max(self.settled_at, at)
        # It may have ended a lease that was granted meanwhile.
        self.granted = self.used

    def unsettled(self, spent: int) -> None:
        """Notes that the report of these requests may have failed."""
        self.reported -= spent


class RateLimiter:
    """One rate for many clients, each with windows of its own."""

    def __init__(  # noqa: PLR0913 (what counts, and how a lease waits)
        self,
        name: str,
        rate: Rate,
        *,
        clock: Callable[[], float],
        leases: MongoQuotas | None = None,
        max_clients: int = MAX_CLIENTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`name` is the policy's name in the headers; `clock`, in seconds, is that of `leases`.

        Without `leases` the rate is counted in this process alone, in windows that begin with the
        first request.
        """
        self._name = name
        self._rate = rate
        self._clock = clock
        self._leases = leases
        self._max_clients = max_clients
        self._sleep = sleep
        self._policy = f'"{name}";q={rate.count};w={rate.window}'
        #: The oldest first; they end nearly in that order.
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        #: Clients for whom a lease is being requested.
        self._leasing = SingleFlight[_Window]()
        self._local_until = float("-inf")
        if leases is not None:
            leases.add(self)

    @property
    def clients(self) -> int:
        """Number of clients with a window."""
        return len(self._windows)

    async def take(self, client: str, cost: int = 1) -> Quota:
        """Counts the requests if all of them fit the quota, else none; returns which."""
        window = self._window(client)
        if not self._is_decided(window, cost):
            window = await self._with_room(client, cost)
        allowed = window.left >= cost
        if allowed:
            window.used += cost
        return self._quota(window, allowed=allowed)

    def give_back(self, client: str) -> None:
        """Uncounts one request, if its window has not ended."""
        window = self._known(client)
        if window is not None and window.used > window.reported:
            window.used -= 1

    def look(self, client: str) -> Quota:
        """Returns the quota now, without counting a request."""
        full = _Window(self._clock(), granted=self._rate.count)
        return self._quota(self._known(client) or full, allowed=True)

    def recalled(self, window_id: str, ends: int, at: float) -> _Window | None:
        """Returns the window, if it holds something that a recall of that time ends."""
        prefix, suffix = f"{self._name}:", f"/{self._rate.window}"
        if self._leases is None or not (
            window_id.startswith(prefix) and window_id.endswith(suffix)
        ):
            return None
        now, _ = self._leases.window(window_id.removesuffix(suffix), self._rate)
        if now.ends != ends:
            return None
        # A client without a window gets one, so that it uses no share from now on.
        window = self._window(window_id[len(prefix) : -len(suffix)])
        if window.shared != now or window.is_leasing or window.settled_at >= at:
            return None
        if window.has_leased or window.used > window.reported:
            return window
        window.settled(at)
        return None

    def holding(self) -> Iterable[_Window]:
        """Returns the windows with leases."""
        return [each for each in self._windows.values() if each.has_leased and each.left > 0]

    def _is_decided(self, window: _Window, cost: int) -> bool:
        if window.shared is None:
            return True
        if cost >= window.refused_cost and self._clock() < window.refused_until:
            return True
        if self._leases is None or self._clock() >= self._leases.follows_until:
            return False
        return window.left >= cost

    async def _with_room(self, client: str, cost: int) -> _Window:
        """Returns the client's window after a lease; requests of one moment share it."""
        while await self._leasing.ended(client):
            window = self._window(client)
            if self._is_decided(window, cost):
                return window
        return await self._leasing(client, partial(self._leased, client, cost))

    async def _leased(self, client: str, cost: int) -> _Window:
        """Returns the client's window after a lease, for which recalls are awaited."""
        while True:
            window = self._window(client)
            if self._is_decided(window, cost):
                return window
            try:
                if await self._has_caught_up(window, cost):
                    return window
                lease = await self._lease(window, cost)
            except Unavailable:
                _LEASES.labels("unavailable").inc()
                self._local_until = self._clock() + _LOCAL_FOR
                return self._alone(window)
            _LEASES.labels("granted" if lease.granted else "refused").inc()
            if window.left >= cost:
                return window
            if not lease.wait or window.waits == _MAX_WAITS:
                # Without a recall no gateway holds anything until the window ends.
                wait = lease.wait or window.ends - self._clock()
                window.refused_until, window.refused_cost = self._clock() + wait, cost
                return window
            window.waits += 1
            await self._sleep(lease.wait)

    async def _has_caught_up(self, window: _Window, cost: int) -> bool:
        """Returns True if the window has room, once recalls are read; raises Unavailable."""
        now = self._clock()
        if self._leases is not None and now >= self._leases.follows_until:
            # After a pause of this process one read replaces a lease for every client.
            if now < self._local_until:
                raise Unavailable("reads wait after a failure")
            await self._leases.catch_up()
        return self._is_decided(window, cost)

    async def _lease(self, window: _Window, cost: int) -> Lease:
        """Returns a new lease for the window; raises Unavailable."""
        if self._leases is None or window.shared is None or self._clock() < self._local_until:
            raise Unavailable("leases wait after a failure")
        spent = window.give_up()
        window.is_leasing = True
        try:
            lease = await self._leases.lease(window.shared, self._rate, cost=cost, spent=spent)
        except BaseException:
            window.unsettled(spent)
            raise
        finally:
            window.is_leasing = False
        window.settled(lease.at)
        window.granted += lease.granted
        window.unleased = lease.unleased
        window.has_leased = True
        return lease

    def _alone(self, window: _Window) -> _Window:
        """Returns the window, counted in this process alone from now on."""
        window.shared, window.granted, window.unleased = None, self._rate.count, 0
        return window

    def _quota(self, window: _Window, *, allowed: bool) -> Quota:
        reset = ceil(window.ends - self._clock())
        remaining = max(0, window.left + window.unleased)
        state = f'"{self._name}";r={remaining};t={reset}'
        return Quota(allowed, self._name, self._policy, state, reset, remaining, self._rate)

    def _window(self, client: str) -> _Window:
        """Returns the client's window, which begins now if the last has ended."""
        window = self._known(client)
        if window is not None:
            return window
        self._windows.pop(client, None)
        if len(self._windows) == self._max_clients:
            self._windows.popitem(last=False)
        window = self._windows[client] = self._begun(client)
        return window

    def _begun(self, client: str) -> _Window:
        count, now = self._rate.count, self._clock()
        if self._leases is None:
            return _Window(now + self._rate.window, granted=count)
        shared, seconds = self._leases.window(f"{self._name}:{client}", self._rate)
        share = self._leases.share(shared, self._rate)
        return _Window(now + seconds, granted=share, unleased=count - share, shared=shared)

    def _known(self, client: str) -> _Window | None:
        """Returns the client's window, unless it has ended; drops the oldest windows that have."""
        now = self._clock()
        while self._windows and next(iter(self._windows.values())).ends <= now:
            self._windows.popitem(last=False)
        window = self._windows.get(client)
        return None if window is None or window.ends <= now else window
