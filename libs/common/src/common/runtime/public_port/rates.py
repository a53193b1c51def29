"""Rates of clients: fixed windows, counted in this process, and which client a request is of."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Final, NamedTuple
from zlib import crc32

from aiohttp import hdrs, web
from pydantic import BeforeValidator
from pydantic_settings import NoDecode

from common.domain.clients import Network, client_of

#: Maximum clients per rate, about 20 MB; beyond, the oldest window is dropped.
MAX_CLIENTS: Final = 100_000

SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}

_RATE: Final = re.compile(rf"(?P<count>[1-9][0-9]{{0,8}})/(?P<unit>{'|'.join(SECONDS)})")


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests that a client may make in each window."""

    count: int
    #: Length of the window in seconds.
    window: int

    def __str__(self) -> str:
        return f"{self.count} in {self.window} s"


def parse_rate(text: str) -> Rate:
    """Reads `<count>/<second|minute|hour>`; raises ValueError for anything else."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("write a rate as <count>/<second|minute|hour>, such as 60/minute")
    return Rate(int(match["count"]), SECONDS[match["unit"]])


def _rate(value: object) -> object:
    return parse_rate(value) if isinstance(value, str) else value


RateSetting = Annotated[Rate, NoDecode, BeforeValidator(_rate)]


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
class Window:
    """Requests of one client between two times, by the limiter's clock."""

    client: str
    begins: float
    ends: float
    #: Requests that this gateway has let through, and how many of them the others know of.
    used: int = 0
    reported: int = 0
    #: Requests that other gateways have reported.
    elsewhere: int = 0

    def report(self) -> int:
        """Returns the requests that the others do not know of yet, and notes that they do."""
        unreported, self.reported = self.used - self.reported, self.used
        return unreported


class RateLimiter:
    """One rate for many clients, each with windows of its own."""

    def __init__(
        self,
        name: str,
        rate: Rate,
        *,
        clock: Callable[[], float],
        aligned: bool = False,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        """`name` is the policy's name in the headers; `clock` is in seconds.

        A window begins with the first request; with `aligned`, at times that depend on the clock
        and the client alone, and so are the same at all gateways.
        """
        self.name = name
        self.rate = rate
        self._clock = clock
        self._aligned = aligned
        self._max_clients = max_clients
        self._policy = f'"{name}";q={rate.count};w={rate.window}'
        #: The oldest first; they end nearly in that order.
        self._windows: OrderedDict[str, Window] = OrderedDict()

    @property
    def clients(self) -> int:
        """Number of clients with a window."""
        return len(self._windows)

    def take(self, client: str, cost: int = 1) -> Quota:
        """Counts the requests if all of them fit the quota, else none; returns which."""
        window = self._window(client)
        allowed = window.used + window.elsewhere + cost <= self.rate.count
        if allowed:
            window.used += cost
        return self._quota(window, allowed=allowed)

    def give_back(self, client: str) -> None:
        """Uncounts one request that is not reported yet, if its window has not ended."""
        window = self._known(client)
        if window is not None and window.used > window.reported:
            window.used -= 1

    def look(self, client: str) -> Quota:
        """Returns the quota now, without counting a request."""
        now = self._clock()
        return self._quota(self._known(client) or Window(client, now, now), allowed=True)

    def unreported(self, share: int) -> Iterator[Window]:
        """Yields the current windows in which more than `share` requests, and new ones, passed."""
        now = self._clock()
        for window in self._windows.values():
            if window.used > max(share, window.reported) and window.ends > now:
                yield window

    def _quota(self, window: Window, *, allowed: bool) -> Quota:
        reset = ceil(window.ends - self._clock())
        remaining = max(0, self.rate.count - window.used - window.elsewhere)
        state = f'"{self.name}";r={remaining};t={reset}'
        return Quota(allowed, self.name, self._policy, state, reset, remaining, self.rate)

    def _window(self, client: str) -> Window:
        window = self._known(client)
        if window is not None:
            return window
        self._windows.pop(client, None)
        if len(self._windows) == self._max_clients:
            self._windows.popitem(last=False)
        window = self._windows[client] = self._new_window(client)
        return window

    def _new_window(self, client: str) -> Window:
        begins, length = self._clock(), self.rate.window
        if self._aligned:
            # Clients' windows begin at different times, so that their reports do.
            phase = crc32(client.encode()) % length
            begins = (begins - phase) // length * length + phase
        return Window(client, begins, begins + length)

    def _known(self, client: str) -> Window | None:
        now = self._clock()
        while self._windows and next(iter(self._windows.values())).ends <= now:
            self._windows.popitem(last=False)
        window = self._windows.get(client)
        return None if window is None or window.ends <= now else window


def address_of(request: web.BaseRequest, trusted_proxies: Sequence[Network]) -> str:
    """Returns the address of a request's client: an IPv4 address, or an IPv6 /64."""
    hops: list[str] = []
    if hdrs.X_FORWARDED_FOR in request.headers:
        given = ",".join(request.headers.getall(hdrs.X_FORWARDED_FOR))
        hops = [hop.strip() for hop in given.split(",")]
    return client_of(request.remote, hops, trusted_proxies)
