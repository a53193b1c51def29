"""Usage of the service: requests by owner, and names of addresses that last for a day.

In MongoDB, database `access`: collection `key_usage` has a document per key and day (UTC) with its
`requests`, those that were `refused` by a rate (429) and the `heavy` ones, for 31 days;
`client_salts` has a random salt per day, for two. A gateway adds what it has counted every 10 s.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from prometheus_client import REGISTRY, CollectorRegistry, Counter
from pymongo import DESCENDING, IndexModel, UpdateOne, WriteConcern

from common.mongo import Database, translated_errors
from common.runtime.tasks import repeat
from gateway.access.keys import ApiKey

#: Owners with a label of their own in the metrics of a process, the first that it has seen.
MAX_OWNERS = 50
ANONYMOUS, OTHERS = "anonymous", "others"

#: Days for which use is kept.
KEPT_DAYS = 31
#: Maximum keys that are counted between two reports.
_MAX_KEYS = 10_000
_REPORT_EVERY = 10.0
_SALT_EVERY = 60.0
_SALT_KEPT = timedelta(days=2)

_USAGE, _SALTS = "key_usage", "client_salts"
USAGE_INDEXES = {
    _USAGE: [
        IndexModel("ends_at", expireAfterSeconds=0),
        IndexModel([("owner", 1), ("day", DESCENDING)]),
    ],
    _SALTS: [IndexModel("ends_at", expireAfterSeconds=0)],
}


class OwnerMetrics:
    """Requests by owner; a process has the first `MAX_OWNERS` owners, and the others as one."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._requests = Counter(
            "http_owner_requests_total",
            "Requests by owner of the key, weight of the route (heavy: it costs a search or "
            "more) and outcome (refused: by a rate, failed: with a 5xx)",
            ["owner", "weight", "outcome"],
            registry=registry,
        )
        self._children: dict[tuple[str, bool, str], Counter] = {}
        self._owners: set[str] = set()

    def done(self, key: ApiKey | None, *, is_heavy: bool, outcome: str) -> None:
        """Counts a finished request."""
        owner = ANONYMOUS if key is None else self._labelled(key.owner)
        labels = (owner, is_heavy, outcome)
        child = self._children.get(labels)
        if child is None:
            weight = "heavy" if is_heavy else "light"
            child = self._children[labels] = self._requests.labels(owner, weight, outcome)
        child.inc()

    def _labelled(self, owner: str) -> str:
        if owner not in self._owners:
            if len(self._owners) >= MAX_OWNERS:
                return OTHERS
            self._owners.add(owner)
        return owner


class Use(NamedTuple):
    """The usage of a key or an owner."""

    requests: int = 0
    refused: int = 0
    heavy: int = 0

    def plus(self, *, refused: bool, heavy: bool) -> "Use":
        """Returns it with one more request."""
        return Use(self.requests + 1, self.refused + refused, self.heavy + heavy)


class OwnerUse(NamedTuple):
    """The usage of an owner's keys since a day."""

    owner: str
    use: Use
    #: The last day with a request.
    last_day: str


class DayUse(NamedTuple):
    """The usage of a key on a day (UTC)."""

    day: str
    use: Use
    #: Its last request; of a document of an earlier release the beginning of the day.
    last_at: datetime


class _Counted(NamedTuple):
    use: Use
    last_at: datetime


class KeyUsage:
    """Counts what keys use, and adds it to the stored use of their day."""

    def __init__(self, database: Database, *, now: Callable[[], datetime]) -> None:
        self._stored = database[_USAGE]
        self._now = now
        #: By key, owner and day.
        self._counted: dict[tuple[str, str, str], _Counted] = {}

    def count(self, key: ApiKey, *, refused: bool, heavy: bool) -> None:
        """Counts a request."""
        now = self._now()
        entry = (key.id, key.owner, now.date().isoformat())
        counted = self._counted.get(entry)
        if counted is None and len(self._counted) >= _MAX_KEYS:
            return
        use = Use() if counted is None else counted.use
        self._counted[entry] = _Counted(use.plus(refused=refused, heavy=heavy), now)

    async def run(self) -> None:
        """Reports every 10 s, until cancelled."""
        await repeat(
            self.report,
            every=_REPORT_EVERY,
            unavailable="usage.not_reported",
            failed="usage.reporting_failed",
        )

    async def report(self) -> None:
        """Stores what was counted; raises Unavailable.

        A report that fails is not repeated, since it may have been stored: it is never too much.
        """
        counted, self._counted = self._counted, {}
        if not counted:
            return
        # A failover may lose ten seconds of counts.
        usage = self._stored.with_options(write_concern=WriteConcern(w=1))
        with translated_errors():
            await usage.bulk_write(
                [_added(*entry, one) for entry, one in counted.items()], ordered=False
            )

    async def by_owner(self, *, since: date, owner: str | None) -> list[OwnerUse]:
        """Returns the use of each owner since a day, the most requests first."""
        chosen: dict[str, Any] = {"day": {"$gte": since.isoformat()}}
        if owner is not None:
            chosen["owner"] = owner
        sums = {name: {"$sum": f"${name}"} for name in Use._fields}
        grouped = {"_id": "$owner", **sums, "last_day": {"$max": "$day"}}
        with translated_errors():
            found = await self._stored.aggregate([{"$match": chosen}, {"$group": grouped}])
            rows = [
                OwnerUse(one["_id"], Use(*(one[name] for name in Use._fields)), one["last_day"])
                async for one in found
            ]
        return sorted(rows, key=lambda row: (-row.use.requests, row.owner))

    async def by_key(self, owner: str, *, since: date) -> dict[str, list[DayUse]]:
        """Returns the use of an owner's keys since a day, by their ids, the oldest day first."""
        with translated_errors():
            found = self._stored.find({"owner": owner, "day": {"$gte": since.isoformat()}})
            rows = [one async for one in found.sort([("owner", 1), ("day", 1)])]
        of_key: dict[str, list[DayUse]] = {}
        for one in rows:
            use = Use(*(one.get(name, 0) for name in Use._fields))
            last_at = one.get("last_at") or _midnight(one["day"])
            of_key.setdefault(one["key_id"], []).append(DayUse(one["day"], use, last_at))
        return of_key

    async def remove_owner(self, owner: str, *, dry_run: bool) -> None:
        """Deletes what is stored of an owner's use."""
        if not dry_run:
            with translated_errors():
                await self._stored.delete_many({"owner": owner})


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def _added(key_id: str, owner: str, day: str, counted: _Counted) -> UpdateOne:
    ends_at = _midnight(day) + timedelta(days=KEPT_DAYS)
    return UpdateOne(
        {"_id": f"{key_id} {day}"},
        {
            "$inc": counted.use._asdict(),
            "$max": {"last_at": counted.last_at},
            "$setOnInsert": {"key_id": key_id, "owner": owner, "day": day, "ends_at": ends_at},
        },
        upsert=True,
    )


class DailyNames:
    """Names addresses for logs: the same at every gateway for a day (UTC), then another one.

    The name is a hash with a salt that is deleted, so it leads to no address afterwards.
    """

    def __init__(self, database: Database, *, now: Callable[[], datetime]) -> None:
        self._salts = database[_SALTS]
        self._now = now
        #: Of this process alone, until the shared one is read.
        self._salt = secrets.token_bytes(32)

    def of(self, address: str) -> str:
        """Returns the name of an address, 12 hexadecimal digits."""
        return hashlib.blake2b(address.encode(), key=self._salt, digest_size=6).hexdigest()

    async def run(self) -> None:
        """Reads the salt of the day every minute, until cancelled."""
        await repeat(
            self.renew,
            every=_SALT_EVERY,
            unavailable="usage.salt_not_read",
            failed="usage.salt_failed",
        )

    async def renew(self) -> None:
        """Reads the day's salt, which the first gateway of the day makes; raises Unavailable."""
        now = self._now()
        new = {"salt": secrets.token_bytes(32), "ends_at": now + _SALT_KEPT}
        day = {"_id": now.date().isoformat()}
        with translated_errors():
            # Another gateway may insert it at the same time: then it is there.
            await self._salts.update_one(day, {"$setOnInsert": new}, upsert=True)
            found = await self._salts.find_one(day)
        if found is not None:
            self._salt = bytes(found["salt"])


@dataclass(frozen=True, slots=True)
class Usage:
    """Records who made each request."""

    metrics: OwnerMetrics
    #: None: use is not stored.
    keys: KeyUsage | None
    names: DailyNames | None

    def done(self, key: ApiKey | None, *, is_heavy: bool, status: int) -> None:
        """Counts a finished request."""
        refused = status == 429
        outcome = "refused" if refused else "failed" if status >= 500 else "answered"
        self.metrics.done(key, is_heavy=is_heavy, outcome=outcome)
        if key is not None and self.keys is not None:
            self.keys.count(key, refused=refused, heavy=is_heavy)

    def name_of(self, address: str) -> str | None:
        """Returns the day's name of a client without a key."""
        return None if self.names is None or not address else self.names.of(address)
