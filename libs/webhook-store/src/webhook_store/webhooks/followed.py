"""The index of webhooks in memory, brought up to date before each use.

Each write of a webhook sets `updated_at`, by the clock of the database, so one indexed read finds
what has changed since the last: an event is matched with every webhook that was acknowledged before
it, as if the webhooks themselves were read (ADR 0054).
"""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import structlog
from prometheus_client import Gauge
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.read_concern import ReadConcern

from common.mongo import Database, translated_errors
from webhook_store.webhooks.documents import DELETED, WEBHOOKS, Document
from webhook_store.webhooks.match_index import MatchIndex

#: Maximum time from reading a write's time to its commit, in which a later write may be seen first.
_LATE: Final = timedelta(seconds=10)
#: Seconds after which no write with an earlier time than the newest is under way.
_SETTLED: Final = 60.0
#: Seconds after which the index is rebuilt, so that no missed change persists.
_REBUILT_EVERY: Final = 3600.0
#: Webhooks of one read.
_PAGE: Final = 5_000

_INDEXED: Final = {
    "generation": 1,
    "status": 1,
    "events": 1,
    "updated_at": 1,
    "match_keys": 1,
    **{f"filter.{part}": 1 for part in ("forms", "industries", "municipalities", "fields")},
}
#: All but those that follow companies by number alone.
_IN_MEMORY: Final = {
    "$or": [
        {"filter.companies.0": {"$exists": False}},
        {"filter.watchlists.0": {"$exists": True}},
    ]
}

_SIZE = Gauge("webhooks_indexed", "Webhooks in memory, to be matched with events")

log = structlog.get_logger()


@dataclass(slots=True)
class _Position:
    """The newest time that was seen in a collection, and when this process first saw it."""

    field: str
    newest: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    seen_at: float = 0.0

    def see(self, at: datetime) -> None:
        if at > self.newest:
            self.newest, self.seen_at = at, time.monotonic()

    @property
    def following(self) -> Document:
        """The condition that finds what is new, and what may have been written late."""
        if time.monotonic() - self.seen_at > _SETTLED:
            return {self.field: {"$gt": self.newest}}
        return {self.field: {"$gt": self.newest - _LATE}}


class FollowedWebhooks:
    """The index of one process. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        # A failover must not roll back what is in the index.
        majority = ReadConcern("majority")
        self._webhooks = database.get_collection(WEBHOOKS, read_concern=majority)
        self._deleted = database.get_collection(DELETED, read_concern=majority)
        self._one_at_a_time = asyncio.Lock()
        self._index: MatchIndex | None = None
        self._built_at = 0.0

    async def index(self) -> MatchIndex:
        """Returns the index with every change that was acknowledged before this call."""
        async with self._one_at_a_time:
            if self._index is None or time.monotonic() - self._built_at > _REBUILT_EVERY:
                self._index = await self._built()
            await self._follow(self._index)
            return self._index

    async def _built(self) -> MatchIndex:
        started, index = time.monotonic(), MatchIndex()
        self._changed, self._removed = _Position("updated_at"), _Position("deleted_at")
        # Before the webhooks are read: what changes meanwhile is read again.
        for collection, position in self._followed:
            position.see(await _newest(collection, position))
        last = ""
        while page := await self._page(last):
            for document in page:
                index.put(document)
            last = page[-1]["_id"]
            await asyncio.sleep(0)
        self._built_at = time.monotonic()
        seconds = round(self._built_at - started, 2)
        log.info("webhooks.indexed", webhooks=len(index), seconds=seconds)
        return index

    @property
    def _followed(self) -> tuple[tuple[AsyncCollection[Document], _Position], ...]:
        return (self._webhooks, self._changed), (self._deleted, self._removed)

    async def _page(self, last: str) -> list[dict[str, Any]]:
        query = {"_id": {"$gt": last}, **_IN_MEMORY}
        with translated_errors():
            return await self._webhooks.find(
                query, _INDEXED, sort=[("_id", 1)], limit=_PAGE, batch_size=_PAGE + 1
            ).to_list(None)

    async def _follow(self, index: MatchIndex) -> None:
        with translated_errors():
            changed, removed = await asyncio.gather(
                self._webhooks.find(self._changed.following, _INDEXED).to_list(None),
                self._deleted.find(self._removed.following).to_list(None),
            )
        for document in changed:
            index.put(document)
            self._changed.see(document["updated_at"])
        for document in removed:
            index.remove(document["_id"])
            self._removed.see(document["deleted_at"])
        _SIZE.set(len(index))


async def _newest(collection: AsyncCollection[Document], position: _Position) -> datetime:
    with translated_errors():
        found = await collection.find_one({}, {position.field: 1}, sort=[(position.field, -1)])
    newest: datetime = position.newest if found is None else found[position.field]
    return newest
