"""Readiness: whether lookups reach a server from here and from other gateways (ADR 0073).

A gateway that is cut off from the broker cannot know by itself whether the broker is down for all
of them. So each gateway records, in its row of the collection `gateways`, the time at which a
server of a country last answered it. A gateway that is cut off from the database knows by its
servers' answers that others read it: a server without a database does not answer.
"""

import asyncio
from collections.abc import Collection
from typing import Any, Protocol

from common.contracts.company import Country
from common.contracts.failures import Unavailable
from common.messaging.requests import LOOK_UP
from common.messaging.rpc_servers import Route
from common.mongo import Database, Reads, translated_errors
from common.runtime.tasks import repeat

#: Seconds between two probes of the servers, and without an answer until those of other gateways
#: are read: a probe or two may be lost with a node.
_INTERVAL = 3.0
_PATIENCE = 8.0
#: Seconds that another gateway's answer is old at most to count, and younger than the last one here
#: at least: when no server answers any gateway, their last answers are less than this apart.
_RECENT, _APART = 15.0, 5.0


class Servers(Protocol):
    """`RpcClient`, which probes servers."""

    async def is_served(self, route: Route) -> bool:
        """Returns True if a server of the route answers a probe now."""


class LookupReadiness:
    """Not ready while servers of a country answer other gateways and not this one.

    With no server anywhere, or no database to know it by, a gateway stays ready: a whole outage
    must not empty the load balancer.
    """

    def __init__(
        self, database: Database, servers: Servers, *, instance: str, patience: float = _PATIENCE
    ) -> None:
        """`instance` identifies this process among the gateways."""
        self._gateways = database["gateways"]
        self._reads = Reads(database)
        self._servers = servers
        self._instance = instance
        self._patience = patience
        self._answered_at = dict.fromkeys(Country, float("-inf"))
        self._missing: Collection[Country] = ()
        #: Time at which a member of the database last answered; None before the first answer.
        self._read_at: float | None = None
        self._has_no_database = False

    async def run(self) -> None:
        """Probes the servers until cancelled."""
        await repeat(
            self.look,
            every=_INTERVAL,
            unavailable="readiness.unknown",
            failed="readiness.failed",
        )

    async def check(self) -> str | None:
        """Checks that lookups of each country are as ready as elsewhere; returns a message."""
        if self._has_no_database:
            return "the database does not answer, and the servers reach it"
        if not self._missing:
            return None
        countries = ", ".join(sorted(self._missing))
        return f"no server of {countries} answers, and another gateway reaches one"

    async def look(self) -> None:
        """Probes the servers once; raises Unavailable."""
        now = asyncio.get_running_loop().time()
        served = await asyncio.gather(*map(self._servers.is_served, map(LOOK_UP.route, Country)))
        answered = [one for one, is_served in zip(Country, served, strict=True) if is_served]
        self._answered_at |= dict.fromkeys(answered, now)
        silent = {
            country: now - at
            for country, at in self._answered_at.items()
            if country not in answered and now - at >= self._patience
        }
        try:
            with translated_errors():
                if answered:
                    await self._record(answered)
                self._missing = [
                    country
                    for country, seconds in silent.items()
                    if await self._is_served(country, within=min(seconds - _APART, _RECENT))
                ]
        except Unavailable:
            self._missing = ()
            await self._judge_database(now, others_have_it=bool(answered))
            raise
        self._read_at, self._has_no_database = now, False

    async def _judge_database(self, now: float, *, others_have_it: bool) -> None:
        """Notes whether this gateway alone is cut off from all members, and not for a moment."""
        try:
            await self._reads.ping()
        except Unavailable:
            since = now if self._read_at is None else self._read_at
            self._has_no_database = others_have_it and now - since >= self._patience
        else:  # there is no primary
            self._read_at, self._has_no_database = now, False

    async def _record(self, countries: Collection[Country]) -> None:
        times: dict[str, Any] = {f"answered.{country}": "$$NOW" for country in countries}
        await self._gateways.update_one(
            {"_id": self._instance}, [{"$set": {"seen_at": "$$NOW", **times}}], upsert=True
        )

    async def _is_served(self, country: Country, *, within: float) -> bool:
        """Returns True if a server of the country answered another gateway in so many seconds."""
        since = {"$subtract": ["$$NOW", int(within * 1000)]}
        is_recent = {"$gt": [f"$answered.{country}", since]}
        found = await self._gateways.find_one(
            {"_id": {"$ne": self._instance}, "$expr": is_recent}, {"_id": 1}
        )
        return found is not None
