"""Leases of quota in MongoDB: database `access`, collection `quotas` (ADR 0029).

A document per client and policy holds the current window: `used` requests that gateways have
reported, and `leased` ones that they may still let through.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from pymongo import ReturnDocument, WriteConcern
from pymongo.errors import DuplicateKeyError, PyMongoError

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.tasks import repeat
from gateway.access.keys import Rate

#: Seconds for a lease. A slow database delays a request by no more.
TIMEOUT = 0.25
#: A fifth of the rate may be leased above it while other gateways hold unused leases, so that no
#: client gets less than its rate. Divided by the gateways, that is also the size of a lease.
_SPARE = 5
#: Seconds between two counts of the gateways, and for which a silent one is counted.
_COUNT_EVERY = 10.0
_SILENT_FOR = timedelta(seconds=30)

_NEVER = datetime.fromtimestamp(0, UTC)

log = structlog.get_logger()


class Lease(NamedTuple):
    """Requests of a client's rate that one gateway may let through."""

    #: 0: the rate is used up.
    granted: int
    #: Requests of the rate that no gateway has leased.
    unleased: int
    #: Seconds until the window ends.
    reset: float
    #: Identifies the window.
    window: object


class MongoQuotas:
    """Leases of quota for this gateway."""

    def __init__(self, database: Database, *, instance: str, timeout: float = TIMEOUT) -> None:
        """`instance` identifies this process among the gateways; `timeout` in seconds."""
        # A failover may lose a lease, which then is granted twice.
        self._quotas = database["quotas"].with_options(write_concern=WriteConcern(w=1))
        self._gateways = database["gateways"]
        self._instance = instance
        self._timeout = timeout
        self._count = 1

    async def create_indexes(self) -> None:
        """Ended windows and ended gateways are deleted."""
        await self._quotas.create_index("ends_at", expireAfterSeconds=60)
        await self._gateways.create_index("seen_at", expireAfterSeconds=60)

    async def run(self) -> None:
        """Counts the gateways until cancelled."""
        # While it fails, the last count stays in use.
        await repeat(
            self.count_gateways,
            every=_COUNT_EVERY,
            unavailable="quotas.gateways_not_counted",
            failed="quotas.counting_failed",
        )

    async def count_gateways(self) -> None:
        """Raises Unavailable."""
        recent = {"$gt": ["$seen_at", {"$subtract": ["$$NOW", _milliseconds(_SILENT_FOR)]}]}
        with translated_errors():
            await self._gateways.update_one(
                {"_id": self._instance}, [{"$set": {"seen_at": "$$NOW"}}], upsert=True
            )
            self._count = max(1, await self._gateways.count_documents({"$expr": recent}))

    async def lease(
        self, client: str, rate: Rate, *, cost: int, spent: int, window: object | None
    ) -> Lease:
        """Leases room for requests that count `cost`, and some more if there is.

        `spent` of the earlier leases of `window` were used. Raises Unavailable within 0.3 s.
        """
        several = max(cost, rate.count // _SPARE // self._count)
        pipeline = _pipeline(rate, (several, cost), spent=spent, window=window)
        try:
            async with asyncio.timeout(self._timeout):
                with translated_errors():
                    document = await self._updated(client, pipeline)
        except TimeoutError:
            raise Unavailable("the database did not answer in time") from None
        except PyMongoError as error:
            # Requests are served even if counting fails.
            log.warning("quotas.lease_failed", reason=repr(error))
            raise Unavailable("the database refused a lease") from error
        return Lease(
            granted=document["granted"],
            unleased=max(0, rate.count - document["used"] - document["leased"]),
            reset=(document["ends_at"] - document["at"]).total_seconds(),
            window=document["ends_at"],
        )

    async def _updated(self, client: str, pipeline: list[dict[str, Any]]) -> Mapping[str, Any]:
        while True:
            with suppress(DuplicateKeyError):  # another gateway began the window at the same time
                document = await self._quotas.find_one_and_update(
                    {"_id": client}, pipeline, upsert=True, return_document=ReturnDocument.AFTER
                )
                if document is not None:
                    return document


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def _pipeline(
    rate: Rate, wanted: tuple[int, int], *, spent: int, window: object | None
) -> list[dict[str, Any]]:
    """Begins a window if the last one has ended, books the requests spent, and grants a lease.

    `wanted` is the size of a lease, and its minimum.
    """
    several, cost = wanted
    ended = {"$lte": [{"$ifNull": ["$ends_at", _NEVER]}, "$$NOW"]}
    booked = {"$cond": [{"$eq": ["$ends_at", window]}, spent, 0]}
    length = _milliseconds(timedelta(seconds=rate.window))
    room = {"$subtract": [rate.count, {"$add": ["$used", "$leased"]}]}
    spare = max(1, rate.count // _SPARE)
    granted = {
        "$switch": {
            "branches": [
                {"case": {"$gte": [room, several]}, "then": several},
                {"case": {"$gte": [room, cost]}, "then": cost},
                {
                    "case": {
                        "$and": [
                            {"$lte": [{"$add": ["$used", cost]}, rate.count]},
                            {"$gte": [{"$add": [room, spare]}, cost]},
                        ]
                    },
                    "then": cost,
                },
            ],
            "default": 0,
        }
    }
    return [
        {
            "$set": {
                "at": "$$NOW",
                "ends_at": {"$cond": [ended, {"$add": ["$$NOW", length]}, "$ends_at"]},
                "used": {"$cond": [ended, 0, {"$add": ["$used", booked]}]},
                "leased": {"$cond": [ended, 0, {"$subtract": ["$leased", booked]}]},
            }
        },
        {"$set": {"granted": granted}},
        {"$set": {"leased": {"$add": ["$leased", "$granted"]}}},
    ]
