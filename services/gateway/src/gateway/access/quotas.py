"""Rate limits: fixed windows of each client, counted for all gateways together (ADR 0070).

In MongoDB, database `access`, collection `quota_windows`, a document per client, policy and window
holds the requests `used` at all gateways. A gateway writes it only for clients that have used more
than its share of their rate, once a second.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from math import ceil
from typing import Any, NamedTuple
from zlib import crc32

from prometheus_client import Counter
from pymongo import IndexModel, UpdateOne, WriteConcern

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.tasks import background, repeat
from gateway.access.keys import Rate

#: Maximum clients per rate, about 20 MB; beyond, the oldest window is dropped.
MAX_CLIENTS = 100_000
#: Windows shorter than this, in seconds, are over before another gateway's count arrives: each
#: gateway counts them alone.
MIN_SHARED_WINDOW = 10
#: Seconds between two reports of what clients have used.
REPORT_EVERY = 1.0
#: Seconds between two counts of the gateways, and for which a silent one is counted.
_COUNT_EVERY = 10.0
_SILENT_FOR = 30.0
#: Maximum windows of one message.
_MAX_BATCH = 1000

_REPORTS = Counter(
    "rate_limit_reports_total", "Reports of used quota to the other gateways", ["outcome"]
)
for _outcome in ("sent", "unavailable"):
    _REPORTS.labels(_outcome)


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


_TOTALS, _GATEWAYS = "quota_windows", "gateways"
#: They delete ended windows and gateways.
QUOTA_INDEXES = {
    _TOTALS: [IndexModel("ends_at", expireAfterSeconds=60)],
    _GATEWAYS: [IndexModel("seen_at", expireAfterSeconds=60)],
}


class SharedQuotas:
    """Adds up what clients have used at all gateways."""

    def __init__(
        self, database: Database, *, instance: str, clock: Callable[[], float] = time.time
    ) -> None:
        """`instance` identifies this process among the gateways; `clock` gives Unix time.

        Clocks of gateways that differ by a second divide that second's requests differently.
        """
        # A failover may lose a second of counts.
        self._totals = database[_TOTALS].with_options(write_concern=WriteConcern(w=1))
        self._gateways = database[_GATEWAYS]
        self._instance = instance
        self._clock = clock
        self._count = 1
        self._limiters: list[RateLimiter] = []

    def limiter(self, name: str, rate: Rate) -> RateLimiter:
        """Returns a limiter that counts for all gateways."""
        limiter = RateLimiter(name, rate, clock=self._clock, aligned=True)
        if rate.window >= MIN_SHARED_WINDOW:
            self._limiters.append(limiter)
        return limiter

    async def run(self) -> None:
        """Counts the gateways, and reports every second, until cancelled."""
        # While counting fails, the last count stays in use.
        counting = repeat(
            self.count_gateways,
            every=_COUNT_EVERY,
            unavailable="quotas.gateways_not_counted",
            failed="quotas.counting_failed",
        )
        async with background(counting):
            await repeat(
                self.report,
                every=REPORT_EVERY,
                unavailable="quotas.not_reported",
                failed="quotas.reporting_failed",
            )

    async def count_gateways(self) -> None:
        """Counts the gateways that have been seen; raises Unavailable."""
        now = self._clock()
        with translated_errors():
            await self._gateways.update_one(
                {"_id": self._instance}, {"$set": {"seen_at": _date(now)}}, upsert=True
            )
            recent = {"seen_at": {"$gt": _date(now - _SILENT_FOR)}}
            self._count = max(1, await self._gateways.count_documents(recent))

    def share(self, rate: Rate) -> int:
        """Returns the requests of a window that a gateway lets through without a report.

        The shares of all gateways are half of the rate.
        """
        return rate.count // (2 * self._count)

    async def report(self) -> None:
        """Reports what clients have used beyond the share, and reads their totals.

        Raises Unavailable. A report that fails is not repeated, since it may have been stored: a
        client may then use more than its rate, never less.
        """
        unreported = self._unreported()
        while windows := dict(islice(unreported, _MAX_BATCH)):
            updates = [
                UpdateOne(
                    {"_id": key},
                    {
                        "$inc": {"used": window.report()},
                        "$setOnInsert": {"ends_at": _date(window.ends)},
                    },
                    upsert=True,
                )
                for key, window in windows.items()
            ]
            try:
                with translated_errors():
                    await self._totals.bulk_write(updates, ordered=False)
                    found: list[dict[str, Any]] = await self._totals.find(
                        {"_id": {"$in": list(windows)}}, {"used": 1}
                    ).to_list()
            except Unavailable:
                _REPORTS.labels("unavailable").inc()
                raise
            for total in found:
                window = windows[total["_id"]]
                window.elsewhere = max(0, total["used"] - window.reported)
            _REPORTS.labels("sent").inc()

    def _unreported(self) -> Iterator[tuple[str, Window]]:
        for limiter in self._limiters:
            prefix = f"{limiter.name}:{limiter.rate.count}/{limiter.rate.window}"
            for window in [*limiter.unreported(self.share(limiter.rate))]:
                yield f"{prefix}:{window.client}:{window.begins:.0f}", window


def _date(unix_time: float) -> datetime:
    return datetime.fromtimestamp(unix_time, UTC)
