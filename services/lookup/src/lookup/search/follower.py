"""The search index follows MongoDB: it is built once and updated from the change stream.

The change stream is opened before the register is read, so no change is missed; applying a change
twice is harmless. A saved index continues from its resume token. If MongoDB no longer has the
token, the old index serves while a new one is built.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import bson
import pymongo.errors
import structlog
from prometheus_client import Counter, Gauge
from pymongo.asynchronous.change_stream import AsyncChangeStream

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.processes import Workers, release_freed_memory
from common.runtime.tasks import delays
from lookup.search.index.documents import Batch, StoredParts, indexed, stored_batch
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed_company import searched_core
from register_store.documents import COMPANIES, HELD_NAMES, Document
from register_store.lists import StoredEinvoicing

#: Timeout of one read in seconds.
_READ_TIMEOUT = 60.0


class BatchReader:
    """Batches that the loop reads on request of a thread that builds an index."""

    def __init__(self, batches: AsyncIterator[Batch], loop: asyncio.AbstractEventLoop) -> None:
        self._batches = batches
        self._loop = loop
        self._stopped = False
        self._reading: Future[Batch | None] | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yields in the thread; raises CancelledError once stopped, `Unavailable` when late."""
        while batch := self._next():
            if self._stopped:
                raise CancelledError
            yield batch

    def stop(self) -> None:
        """Stops the thread at its next batch; called in the loop."""
        self._stopped = True
        if self._reading is not None:
            self._reading.cancel()

    def _next(self) -> Batch | None:
        self._reading = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
        if self._stopped:  # stopped between the check and the read
            self._reading.cancel()
        try:
            return self._reading.result(_READ_TIMEOUT)
        except TimeoutError:
            self._reading.cancel()
            raise Unavailable("no response of the database in time") from None

    async def _following(self) -> Batch | None:
        # Not `anext(batches, None)`, which fails at the end of a generator.
        async for batch in self._batches:
            return batch
        return None


#: Operations on the whole collection, which invalidate the index.
_INVALIDATING = ("drop", "dropDatabase", "rename", "invalidate")


class RegisterReplaced(Exception):
    """The collection was dropped or renamed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed company: its stored parts, or None if it was removed."""

    key: CompanyKey
    stored: StoredParts | None
    at: datetime
    #: False if another part changed: its owners, a unit or an e-invoicing identifier.
    of_core: bool = True


_FIELDS = (
    "documentKey",
    "operationType",
    "clusterTime",
    "fullDocument.core",
    "fullDocument.owners",
    f"fullDocument.{HELD_NAMES}",
)
_CORE = "updateDescription.updatedFields.core"


def pipeline(country: Country) -> list[Mapping[str, Any]]:
    """Returns the stages of a country's stream.

    They match every new revision: one may have other owners, or receive e-invoices now.
    """
    return [
        {
            "$match": {
                "$or": [
                    {
                        "operationType": {"$in": ["insert", "replace", "delete"]},
                        "documentKey._id": {"$regex": f"^{country}:"},
                    },
                    {
                        "operationType": "update",
                        "documentKey._id": {"$regex": f"^{country}:"},
                        "updateDescription.updatedFields.revision": {"$exists": True},
                    },
                    {"operationType": {"$in": _INVALIDATING}},
                ]
            }
        },
        {"$project": {**dict.fromkeys(_FIELDS, 1), "core": {"$type": f"${_CORE}"}}},
    ]


def read_change(document: Mapping[str, Any]) -> Change:
    """Returns a change of the stream; raises RegisterReplaced."""
    if document["operationType"] in _INVALIDATING:
        raise RegisterReplaced(document["operationType"])
    # An update of a company that has been removed since comes without the document.
    full = document.get("fullDocument") or {}
    return Change(
        CompanyKey.parse(document["documentKey"]["_id"]),
        None if full.get("core") is None else stored_parts(full),
        document["clusterTime"].as_datetime(),
        document["operationType"] != "update" or document["core"] != "missing",
    )


def stored_parts(document: Mapping[str, Any], *, is_receiver: bool = False) -> StoredParts:
    """Returns the searched parts of a company's document."""
    core = searched_core(document["core"], document.get(HELD_NAMES, ()))
    return StoredParts(core, document.get("owners") or b"", is_receiver)


#: Companies per read while an index is built, and concurrent batches.
_READ = 2_000
_AHEAD = 6
#: Maximum changes per commit.
_MAX_CHANGES = 2_000
#: Maximum seconds by which the index is behind when a copy reads it; less than those after which
#: the feed has a change for certain.
_MAX_LAG = 10.0
#: Seconds after which the resume token is saved without a change, so that it does not expire in a
#: quiet register.
_SAVE_POINT_EVERY = 300.0
_LAG = Gauge(
    "search_index_lag_seconds",
    "Time since the index was known to be current, computed at each scrape",
    ["country"],
)
_BUILDS = Counter("search_index_builds_total", "Index rebuilds", ["country"])
_APPLIED = Counter("search_index_changes_total", "Changes applied to the index", ["country"])

log = structlog.get_logger()


class Follower:
    """Keeps one country's index up to date."""

    def __init__(  # noqa: PLR0913 (the dependencies of a follower)
        self,
        database: Database,
        index: SearchIndex,
        country: Country,
        *,
        interval: float,
        random: Random,
        builders: Workers,
    ) -> None:
        """`interval` is the maximum time in seconds for which changes are gathered for a commit.

        A large index is built in the processes of `builders`, so that this one can serve.
        """
        self._companies = database[COMPANIES]
        self._einvoicing = StoredEinvoicing(database)
        self._index = index
        self._country = country
        self._interval = interval
        self._random = random
        self._builders = builders

        self.can_answer = False
        self._current_at = time.monotonic()
        self._has_caught_up = False
        _LAG.labels(country).set_function(lambda: time.monotonic() - self._current_at)

    async def run(self) -> None:
        """Runs until cancelled; retries with backoff while MongoDB is unavailable."""
        waits = delays(self._random)
        while True:
            try:
                await self._follow()
            except Unavailable as outage:
                log.warning("index.waiting", country=self._country, reason=str(outage))
                await asyncio.sleep(next(waits))
            else:
                waits = delays(self._random)

    def check_lag(self) -> None:
        """Raises `Unavailable` unless the index has every change from before the last 10 s."""
        if not self._has_caught_up or time.monotonic() - self._current_at > _MAX_LAG:
            raise Unavailable("the search index is behind")

    async def _follow(self) -> None:
        with translated_errors():
            point = await asyncio.to_thread(lambda: self._index.save_point)
            if point is None:
                point = await self._build()
            self.can_answer = True
            try:
                async with await self._watch(point) as stream:
                    await self._take_changes(stream)
            except (pymongo.errors.OperationFailure, RegisterReplaced) as error:
                # MongoDB reports an expired resume token in several ways. Any other error, such as
                # a missing permission, fails the build and is reported there.
                log.warning("index.resume_failed", country=self._country, reason=str(error))
                await self._build()

    async def _build(self) -> bytes:
        async with await self._watch(None) as stream:
            await stream.try_next()
            point = _point(stream)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await self._rebuilt(BatchReader(self._all(), loop), point)
        await asyncio.to_thread(release_freed_memory)
        _BUILDS.labels(self._country).inc()
        log.info(
            "index.built",
            country=self._country,
            companies=self._index.size.companies,
            seconds=round(loop.time() - started, 1),
        )
        return point

    async def _rebuilt(self, documents: "BatchReader", point: bytes) -> None:
        """Builds in a thread; a cancellation waits for the end of the thread.

        Otherwise the thread would request documents from a loop that waits for it.
        """
        building = asyncio.create_task(
            asyncio.to_thread(self._index.rebuild_from, documents, point)
        )
        try:
            await asyncio.shield(building)
        except asyncio.CancelledError:
            documents.stop()
            await asyncio.gather(building, return_exceptions=True)
            raise

    async def _all(self) -> AsyncIterator[Batch]:
        writing: deque[asyncio.Task[Batch]] = deque()
        try:
            async for stored in self._stored():
                writing.append(asyncio.create_task(self._written(stored)))
                if len(writing) == _AHEAD:
                    yield await writing.popleft()
            while writing:
                yield await writing.popleft()
        finally:
            for task in writing:
                task.cancel()

    async def _written(self, stored: Sequence[StoredParts]) -> Batch:
        if len(stored) < _READ:
            # The last batch is too small for a process.
            return await asyncio.to_thread(stored_batch, stored, self._country)
        return await self._builders.run(stored_batch, stored, self._country)

    async def _stored(self) -> AsyncIterator[Sequence[StoredParts]]:
        first, after_last = f"{self._country}:", f"{self._country};"  # ";" follows ":"
        receivers = await self._einvoicing.receivers(self._country)
        cursor = self._companies.find(
            {"_id": {"$gte": first, "$lt": after_last}, "core": {"$ne": None}},
            {"core": 1, "owners": 1, HELD_NAMES: 1},
            batch_size=_READ,
            # In natural order: by the index each document would be a random access, which takes
            # MongoDB twenty times as long once they do not fit into its memory.
            hint=[("$natural", 1)],
        )
        while documents := await cursor.to_list(_READ):
            yield [stored_parts(one, is_receiver=one["_id"] in receivers) for one in documents]

    async def _watch(self, point: bytes | None) -> AsyncChangeStream[Document]:
        return await self._companies.watch(
            pipeline(self._country),
            full_document="updateLookup",
            resume_after=None if point is None else bson.decode(point),
            max_await_time_ms=int(self._interval * 1000),
            batch_size=_MAX_CHANGES,
        )

    async def _take_changes(self, stream: AsyncChangeStream[Document]) -> None:
        loop = asyncio.get_running_loop()
        saved_at = loop.time()
        while True:
            changes, is_all = await self._gathered(stream)
            read_at = time.monotonic()
            if changes or loop.time() - saved_at > _SAVE_POINT_EVERY:
                receivers = await self._einvoicing.receivers_among(
                    [change.key for change in changes if change.stored is not None]
                )
                await asyncio.to_thread(self._apply, changes, _point(stream), receivers)
                saved_at = loop.time()
            if changes and not is_all:
                # More changes may wait, so the lag is the age of the newest.
                age = (datetime.now(UTC) - changes[-1].at).total_seconds()
                read_at = time.monotonic() - max(age, 0.0)
            self._current_at = read_at
            self._has_caught_up = True

    async def _gathered(self, stream: AsyncChangeStream[Document]) -> tuple[list[Change], bool]:
        """Returns the changes of an interval, and whether they are all; waits for the first."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._interval
        changes: list[Change] = []
        while len(changes) < _MAX_CHANGES and loop.time() < until:
            document = await stream.try_next()
            if document is None:
                return changes, True
            changes.append(read_change(document))
        return changes, False

    def _apply(
        self, changes: Sequence[Change], point: bytes, receivers: Collection[CompanyKey]
    ) -> None:
        newest = {change.key: change.stored for change in changes}
        of_core = {change.key for change in changes if change.of_core}
        companies = [
            indexed(stored._replace(einvoicing=key in receivers))
            for key, stored in newest.items()
            if stored is not None
        ]
        self._index.apply(
            [each for each in companies if each.key in of_core],
            [key for key, stored in newest.items() if stored is None],
            facts=[each.facts for each in companies if each.key not in of_core],
        )
        self._index.commit(point)
        if not changes:  # a save point alone, minutes after the last
            release_freed_memory()
        _APPLIED.labels(self._country).inc(len(newest))


def _point(stream: AsyncChangeStream[Document]) -> bytes:
    token = stream.resume_token
    if token is None:
        raise Unavailable("the database has not sent a resume token")
    return bson.encode(token)
