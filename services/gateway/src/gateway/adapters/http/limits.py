"""Rates, counted in this process with the `limits` library.

The library's own memory storage starts a thread every 10 ms under load that walks over all
buckets, and reads the wall clock. `Windows` is a storage for its strategy that needs neither.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from limits import RateLimitItemPerSecond
from limits.storage import Storage
from limits.strategies import FixedWindowRateLimiter

from gateway.domain.rates import Rate

#: Buckets kept at once for one rate, about 25 MB; beyond, the oldest is forgotten.
MOST_BUCKETS = 100_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left for one client."""

    allowed: bool
    #: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
    policy: str
    state: str
    #: Whole seconds until the window ends.
    reset: int


class _PerClient(RateLimitItemPerSecond):
    """A rate whose buckets are named by the client alone: their storage serves no other rate."""

    def key_for(self, *identifiers: str | bytes | float) -> str:
        return str(identifiers[0])


class Limiter:
    """One rate for many clients: a window of its own for each, from its first request on."""

    def __init__(self, name: str, rate: Rate, *, clock: Callable[[], float]) -> None:
        """`name` is shown to clients as the policy's; `clock` is monotonic, in seconds."""
        self._name = name
        self._clock = clock
        self._item = _PerClient(rate.count, rate.window)
        self._limiter = FixedWindowRateLimiter(Windows(clock))
        self._policy = f'"{name}";q={rate.count};w={rate.window}'

    def take(self, client: str, cost: int = 1) -> Allowance:
        """Counts so many requests if all of them may pass, else none; says which."""
        # One request more than fits does no harm in the count, so that most need no look ahead.
        fits = cost == 1 or self._limiter.test(self._item, client, cost=cost)
        allowed = fits and self._limiter.hit(self._item, client, cost=cost)
        return self._allowance(client, allowed=allowed)

    def look(self, client: str) -> Allowance:
        """What a request would find, without counting it."""
        return self._allowance(client, allowed=True)

    def _allowance(self, client: str, *, allowed: bool) -> Allowance:
        ends, remaining = self._limiter.get_window_stats(self._item, client)
        reset = max(0, ceil(ends - self._clock()))
        state = f'"{self._name}";r={remaining};t={reset}'
        return Allowance(allowed, self._policy, state, reset)


class Windows(Storage):
    """A storage of `limits`: counts by key, each forgotten when its window ends.

    It serves one rate only: then windows end in the order in which they began, and what is over is
    always at the front.
    """

    STORAGE_SCHEME = None  # never made from a URL

    def __init__(self, clock: Callable[[], float], *, most: int = MOST_BUCKETS) -> None:
        super().__init__()
        self._clock = clock
        self._most = most
        self._counts: dict[str, int] = {}
        #: In the order of the ends. A plain dict would be slow to take from at its front.
        self._ends: OrderedDict[str, float] = OrderedDict()

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        now = self._clock()
        self._forget(now)
        count = self._counts.get(key, 0) + amount
        if count == amount:
            self._ends[key] = now + expiry
        self._counts[key] = count
        return count

    def get(self, key: str) -> int:
        self._forget(self._clock())
        return self._counts.get(key, 0)

    def get_expiry(self, key: str) -> float:
        return self._ends.get(key, self._clock())

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        count = len(self._counts)
        self._counts.clear()
        self._ends.clear()
        return count

    def clear(self, key: str) -> None:
        self._counts.pop(key, None)
        self._ends.pop(key, None)

    def _forget(self, now: float) -> None:
        """Drops what is over, and the oldest beyond `most`."""
        while self._ends:
            key = next(iter(self._ends))
            if self._ends[key] > now and len(self._ends) <= self._most:
                return
            self.clear(key)
