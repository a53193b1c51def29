"""Rate limits: fixed windows of each client, counted for all gateways together (ADR 0070).

In MongoDB, database `access`, collection `quota_windows`, a document per client, policy and window
holds the requests `used` at all gateways. A gateway writes it only for clients that have used more
than its share of their rate, once a second.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from prometheus_client import Counter
from pymongo import IndexModel, UpdateOne, WriteConcern

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.public_port.rates import Rate, RateLimiter, Window
from common.runtime.tasks import background, repeat

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
