"""Leases of quota in MongoDB: database `access`, collection `quota_windows` (ADR 0060).

A document per client and policy is written once a client has used up its share at a gateway.
It holds the requests `used`, as gateways have reported them, and those `held` as leases (`leases`,
by gateway). A gateway that runs short sets `recalled`: all report, and give up what they hold.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import structlog
from pymongo import ReturnDocument, UpdateOne, WriteConcern

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.tasks import beside, repeat
from gateway.access.keys import Rate
from gateway.access.quota_batches import BatchedUpdates, Refused
from gateway.access.quota_rules import RECALL, Terms, booked, date, leased, milliseconds, terms
from gateway.access.single_flight import SingleFlight

#: Seconds for a lease or a settlement. A slow database delays a request by no more.
TIMEOUT = 0.25
#: Seconds between two counts of the gateways, and for which a silent one is counted.
_COUNT_EVERY = 10.0
_SILENT_FOR = timedelta(seconds=30)
#: Seconds between two reads of recalls, and for which shares and leases may be used after one: with
#: `TIMEOUT`, for a settlement, less than `RECALL`.
_READ_EVERY = 0.25
_READ_FOR = 0.6
#: Milliseconds by which the clock of a gateway may differ from the database's.
_MAX_SKEW = 100.0
#: Milliseconds by which reads of recalls overlap for that reason; the first covers the longest
#: window.
_OVERLAP = 2000
_LONGEST = 3_600_000

_MILLISECOND = timedelta(milliseconds=1)

log = structlog.get_logger()


class Window(NamedTuple):
    """A client's window, the same at all gateways."""

    #: The policy, the client and the window's length.
    id: str
    #: Milliseconds of the Unix epoch, by the database's clock.
    begins: int
    ends: int


class Lease(NamedTuple):
    """Requests of a client's rate that one gateway may let through."""

    #: 0: the rate is used up, or others hold what is left.
    granted: int
    #: Requests of the rate that no gateway has leased.
    unleased: int
    #: Seconds until a recall has ended, after which there may be more; 0 without one.
    wait: float
    #: Milliseconds of the Unix epoch: earlier recalls are settled by it.
    at: float


class Held(Protocol):
    """A window's share and lease at this gateway."""

    shared: Window | None

    def give_up(self) -> int:
        """Ends the share and the lease; returns the requests to report."""

    def settled(self, at: float) -> None:
        """A settlement of that time is written."""

    def unsettled(self, spent: int) -> None:
        """The requests may not have been reported."""


class Holder(Protocol):
    """Holds shares and leases of one policy."""

    def recalled(self, window_id: str, ends: int, at: float) -> Held | None:
        """Returns the window, if it holds something that a recall of that time ends."""

    def holding(self) -> Iterable[Held]:
        """Returns windows with leases."""


class MongoQuotas:
    """Leases of quota for this gateway."""

    def __init__(
        self,
        database: Database,
        *,
        instance: str,
        clock: Callable[[], float] = time.monotonic,
        timeout: float = TIMEOUT,
    ) -> None:
        """`instance` identifies this process among the gateways.

        `clock` is monotonic, in seconds, as is `timeout`.
        """
        # A failover may lose a lease, which then is granted twice.
        self._windows = database["quota_windows"].with_options(write_concern=WriteConcern(w=1))
        self._gateways = database["gateways"]
        self._instance = instance
        self._clock = clock
        self._timeout = timeout
        self._count = 1
        #: The database's time when `clock` was 0, in milliseconds; None before the first count.
        self._epoch: float | None = None
        #: Windows that began before this were divided without this gateway.
        self._counted_from = 0.0
        self._read_at = float("-inf")
        #: Until then, by `clock`, shares and leases may be used: no recall was missed.
        self.follows_until = float("-inf")
        self._holders: list[Holder] = []
        self._updates = BatchedUpdates(self._windows)
        self._catching_up = SingleFlight[None]()

    async def create_indexes(self) -> None:
        """Creates the indexes, two of which delete ended windows and gateways."""
        await self._windows.create_index("ends_at", expireAfterSeconds=60)
        await self._windows.create_index("recalled", sparse=True)
        await self._gateways.create_index("seen_at", expireAfterSeconds=60)

    def add(self, holder: Holder) -> None:
        """Adds a holder whose shares and leases recalls end."""
        self._holders.append(holder)

    async def run(self) -> None:
        """Counts the gateways and follows recalls until cancelled, and then ends its leases."""
        # While counting fails, the last count stays in use.
        counting = repeat(
            self.count_gateways,
            every=_COUNT_EVERY,
            unavailable="quotas.gateways_not_counted",
            failed="quotas.counting_failed",
        )
        try:
            async with beside(counting):
                await repeat(
                    self.follow_recalls,
                    every=_READ_EVERY,
                    unavailable="quotas.recalls_not_read",
                    failed="quotas.recalls_failed",
                )
        finally:
            await self.close()

    async def count_gateways(self) -> None:
        """Counts the gateways and reads the database's time; raises Unavailable."""
        recent = {"$gt": ["$seen_at", {"$subtract": ["$$NOW", _SILENT_FOR / _MILLISECOND]}]}
        with translated_errors():
            asked = self._clock()
            seen: Any = await self._gateways.find_one_and_update(
                {"_id": self._instance},
                [{"$set": {"seen_at": "$$NOW"}}],
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
            at = (asked + self._clock()) / 2
            self._count = max(1, await self._gateways.count_documents({"$expr": recent}))
        epoch = milliseconds(seen["seen_at"]) - at * 1000
        if self._epoch is None and self._count > 1:
            # All others have counted this one by then.
            self._counted_from = epoch + (at + 2 * _COUNT_EVERY) * 1000
        # Windows do not move with each slow reply.
        if self._epoch is None or abs(self._epoch - epoch) > _MAX_SKEW:
            self._epoch = epoch

    async def follow_recalls(self) -> None:
        """Settles the windows that other gateways have recalled; raises Unavailable."""
        if self._epoch is None:
            raise Unavailable("the gateways are not counted yet")
        read_at = self._clock()
        since = max(self._read_at * 1000 - _OVERLAP, read_at * 1000 - _LONGEST) + self._epoch
        try:
            async with asyncio.timeout(self._timeout):
                with translated_errors():
                    recalls = await self._windows.find(
                        {"recalled": {"$gt": date(since)}}, {"ends_at": 1, "recalled": 1}
                    ).to_list()
                    await self._settle(self._recalled(recalls))
        except TimeoutError:
            raise Unavailable("the database did not answer in time") from None
        self._read_at, self.follows_until = read_at, read_at + _READ_FOR

    async def close(self) -> None:
        """Gives unused leases back to the other gateways."""
        try:
            async with asyncio.timeout(self._timeout):
                with translated_errors():
                    await self._settle(held for each in self._holders for held in each.holding())
        except (TimeoutError, Unavailable) as error:
            log.warning("quotas.leases_not_returned", reason=repr(error))

    async def catch_up(self) -> None:
        """Reads recalls now, once for all requests that need it; raises Unavailable."""
        await self._catching_up("", self.follow_recalls)

    def window(self, client: str, rate: Rate) -> tuple[Window, float]:
        """Returns the client's window now, and the seconds until it ends."""
        window_id, length, now = f"{client}/{rate.window}", rate.window * 1000, self._now()
        # Clients' windows begin at different times, so that their leases do.
        phase = crc32(window_id.encode()) % length
        begins = int((now - phase) // length) * length + phase
        return Window(window_id, begins, begins + length), (begins + length - now) / 1000

    def share(self, window: Window, rate: Rate) -> int:
        """Returns the requests that this gateway lets through in a window without a lease."""
        is_counted = self._epoch is not None and window.begins >= self._counted_from
        return terms(rate, self._count).share if is_counted else 0

    async def lease(self, window: Window, rate: Rate, *, cost: int, spent: int) -> Lease:
        """Reports requests, ends the last lease, and leases room for `cost` requests or more.

        Raises Unavailable within 0.3 s.
        """
        if self._epoch is None:
            raise Unavailable("the gateways are not counted yet")
        at, agreed = self._now(), terms(rate, self._count)
        stages = leased(agreed, self._instance, date(at), cost)
        update = self._update(window.id, date(window.ends), spent, *stages)
        try:
            async with asyncio.timeout(self._timeout):
                document = await self._updates.send(window.id, update)
        except TimeoutError:
            raise Unavailable("the database did not answer in time") from None
        except Refused as error:
            # Requests are served even if counting fails.
            log.warning("quotas.lease_failed", reason=repr(error))
            raise Unavailable("the database refused a lease") from error
        if milliseconds(document["ends_at"]) != window.ends:
            return Lease(0, 0, 0.0, at)  # ended, by the clock of another gateway
        return self._lease(document, agreed, at)

    def _recalled(self, recalls: Sequence[Mapping[str, Any]]) -> list[Held]:
        found = (
            holder.recalled(
                each["_id"], milliseconds(each["ends_at"]), milliseconds(each["recalled"])
            )
            for each in recalls
            for holder in self._holders
        )
        return [held for held in found if held is not None]

    def _lease(self, document: Mapping[str, Any], agreed: Terms, at: float) -> Lease:
        recalled = document.get("recalled")
        passed = RECALL if recalled is None else (self._now() - milliseconds(recalled)) / 1000
        return Lease(
            granted=document["leases"][self._instance],
            unleased=max(0, agreed.rate - document["used"] - document["held"]),
            # Bounded, because another gateway's clock may differ.
            wait=min(RECALL, max(0.0, RECALL - passed)),
            at=at,
        )

    async def _settle(self, windows: Iterable[Held]) -> None:
        """Reports what this gateway has used, and ends its shares and leases."""
        at = self._now()
        reports = [(held, held.shared, held.give_up()) for held in windows]
        updates = [
            self._update(shared.id, date(shared.ends), spent)
            for _, shared, spent in reports
            if shared is not None
        ]
        try:
            await self._updates.report(updates)
        except BaseException:
            for held, _, spent in reports:
                held.unsettled(spent)
            raise
        for held, _, _ in reports:
            held.settled(at)

    def _update(
        self, window_id: str, ends: datetime, spent: int, *stages: dict[str, Any]
    ) -> UpdateOne:
        """Returns an update of the window, unless a later one has begun."""
        return UpdateOne(
            {"_id": window_id, "ends_at": {"$lte": ends}},
            [*booked(self._instance, ends, spent), *stages],
            upsert=True,
        )

    def _now(self) -> float:
        """Returns milliseconds of the Unix epoch, by the database's clock."""
        return (self._epoch or 0.0) + self._clock() * 1000
