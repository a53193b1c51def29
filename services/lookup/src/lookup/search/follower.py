"""The search index follows MongoDB: built from it once, then changed as it changes.

The change stream is opened before the register is read, so nothing that changes meanwhile is
missed; applying a change twice does no harm. A saved index goes on from its resume point. One
whose resume point MongoDB no longer has answers on while a new one is built beside it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
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
from common.runtime.backoff import delays
from common.runtime.processes import Workers
from lookup.search.index.documents import written_cores
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed import IndexedCompany, indexed_core, searched_core
from lookup.store.documents import COMPANIES, HELD_NAMES, Document

#: Companies read at once while an index is built, and such lists that are under way.
_READ = 2_000
_AHEAD = 6
#: Seconds that one such read may take.
_READ_LIMIT = 60.0
#: Changes taken into the index at once.
_MOST_CHANGES = 2_000
#: Seconds after which the resume point is saved though nothing changed, so that a quiet register
#: does not outlive MongoDB's memory of its changes.
_SAVE_POINT_EVERY = 300.0
#: What happens to the whole collection; nothing that was indexed is sure to be there any more.
_UPHEAVALS = ("drop", "dropDatabase", "rename", "invalidate")

_LAG = Gauge("index_lag_seconds", "How long ago the newest applied change was made", ["country"])
_BUILDS = Counter("index_builds_total", "Indexes built anew from the register", ["country"])
_APPLIED = Counter("index_changes_total", "Changes taken into the index", ["country"])

log = structlog.get_logger()


class RegisterReplaced(Exception):
    """The collection was dropped or renamed."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one company: its stored JSON, or None when it is gone."""

    key: CompanyKey
    core: bytes | None
    at: datetime


class Follower:
    """Keeps one country's index up to date."""

    def __init__(  # noqa: PLR0913 (what following needs)
        self,
        database: Database,
        index: SearchIndex,
        country: Country,
        *,
        interval: float,
        random: Random,
        builders: Workers,
    ) -> None:
        """`interval` is how many seconds changes are gathered for one commit, at the most.

        A large index is made in the processes of `builders`, so that this one goes on answering.
        """
        self._companies = database[COMPANIES]
        self._index = index
        self._country = country
        self._interval = interval
        self._random = random
        self._builders = builders

        self.can_answer = False

    async def run(self) -> None:
        """Follows until cancelled; an outage is waited out."""
        waits = delays(self._random)
        while True:
            try:
                await self._follow()
            except Unavailable as outage:
                log.warning("index.waiting", country=self._country, reason=str(outage))
                await asyncio.sleep(next(waits))
            else:
                waits = delays(self._random)

    async def _follow(self) -> None:
        """Returns when the index has to be built anew."""
        with translated_errors():
            point = await asyncio.to_thread(self._save_point)
            if point is None:
                point = await self._build()
            self.can_answer = True
            try:
                async with await self._watch(point) as stream:
                    await self._take_changes(stream)
            except (pymongo.errors.OperationFailure, RegisterReplaced) as error:
                # MongoDB has many words for a resume point that it no longer has. If it is
                # something else, such as a missing right, the build fails with it, for all to see.
                log.warning("index.cannot_go_on", country=self._country, reason=str(error))
                await self._build()

    def _save_point(self) -> bytes | None:
        return self._index.save_point

    async def _build(self) -> bytes:
        async with await self._watch(None) as stream:
            await stream.try_next()
            point = _point(stream)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await self._rebuilt(_Pulled(self._all(), loop), point)
        _BUILDS.labels(self._country).inc()
        log.info(
            "index.built",
            country=self._country,
            companies=self._index.size.companies,
            seconds=round(loop.time() - started, 1),
        )
        return point

    async def _rebuilt(self, documents: "_Pulled", point: bytes) -> None:
        """Builds in a thread; when it is cancelled, the thread ends first.

        Left alone, the thread would ask a loop for documents that waits for it to let go.
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

    async def _all(self) -> AsyncIterator[Sequence[str]]:
        """The documents of all companies, in lists."""
        writing: deque[asyncio.Task[Sequence[str]]] = deque()
        try:
            async for cores in self._cores():
                writing.append(asyncio.create_task(self._written(cores)))
                if len(writing) == _AHEAD:
                    yield await writing.popleft()
            while writing:
                yield await writing.popleft()
        finally:
            for task in writing:
                task.cancel()

    async def _written(self, cores: Sequence[bytes]) -> Sequence[str]:
        if len(cores) < _READ:
            # All there is, or the last of it: not worth a process.
            return await asyncio.to_thread(written_cores, cores, self._country)
        return await self._builders.run(written_cores, cores, self._country)

    async def _cores(self) -> AsyncIterator[Sequence[bytes]]:
        first, behind_last = f"{self._country}:", f"{self._country};"  # ";" follows ":"
        cursor = self._companies.find(
            {"_id": {"$gte": first, "$lt": behind_last}, "core": {"$ne": None}},
            {"_id": 0, "core": 1, HELD_NAMES: 1},
            batch_size=_READ,
            # As they lie: by the index each would be looked up where chance has put it, which costs
            # MongoDB twenty times as much once they do not fit into its memory.
            hint=[("$natural", 1)],
        )
        while documents := await cursor.to_list(_READ):
            yield [searched_core(one["core"], one.get(HELD_NAMES, ())) for one in documents]

    async def _watch(self, point: bytes | None) -> AsyncChangeStream[Document]:
        return await self._companies.watch(
            _pipeline(self._country),
            full_document="updateLookup",
            resume_after=None if point is None else bson.decode(point),
            max_await_time_ms=int(self._interval * 1000),
            batch_size=_MOST_CHANGES,
        )

    async def _take_changes(self, stream: AsyncChangeStream[Document]) -> None:
        loop = asyncio.get_running_loop()
        saved_at = loop.time()
        while True:
            changes = await self._gathered(stream)
            if changes or loop.time() - saved_at > _SAVE_POINT_EVERY:
                await asyncio.to_thread(self._apply, changes, _point(stream))
                saved_at = loop.time()
            newest = max((change.at for change in changes), default=None)
            age = 0.0 if newest is None else (datetime.now(UTC) - newest).total_seconds()
            _LAG.labels(self._country).set(max(age, 0.0))

    async def _gathered(self, stream: AsyncChangeStream[Document]) -> list[Change]:
        """The changes of one interval, or of none: the stream itself waits for the first."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._interval
        changes: list[Change] = []
        while len(changes) < _MOST_CHANGES and loop.time() < until:
            document = await stream.try_next()
            if document is None:
                break
            changes.append(_change(document))
        return changes

    def _apply(self, changes: Sequence[Change], point: bytes) -> None:
        newest = {change.key: change.core for change in changes}
        upserts = _indexed([core for core in newest.values() if core is not None])
        removals = [key for key, core in newest.items() if core is None]
        self._index.apply(upserts, removals)
        self._index.commit(point)
        _APPLIED.labels(self._country).inc(len(newest))


_FIELDS = (
    "documentKey",
    "operationType",
    "clusterTime",
    "fullDocument.core",
    f"fullDocument.{HELD_NAMES}",
)


def _pipeline(country: Country) -> list[Mapping[str, Any]]:
    """Only what the index shows: not every raised revision."""
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
                        "updateDescription.updatedFields.core": {"$exists": True},
                    },
                    {"operationType": {"$in": _UPHEAVALS}},
                ]
            }
        },
        {"$project": dict.fromkeys(_FIELDS, 1)},
    ]


def _change(document: Mapping[str, Any]) -> Change:
    if document["operationType"] in _UPHEAVALS:
        raise RegisterReplaced(document["operationType"])
    # An update whose company has been removed since comes without it: it is gone.
    full = document.get("fullDocument") or {}
    core = full.get("core")
    return Change(
        CompanyKey(document["documentKey"]["_id"]),
        None if core is None else searched_core(core, full.get(HELD_NAMES, ())),
        document["clusterTime"].as_datetime(),
    )


class _Pulled:
    """What the loop reads, for a thread that builds: the next list is read when it is wanted."""

    def __init__(
        self, lists: AsyncIterator[Sequence[str]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._lists = lists
        self._loop = loop
        self._stopped = False
        self._reading: Future[Sequence[str]] | None = None

    def __iter__(self) -> Iterator[str]:
        """In the thread. Raises CancelledError once stopped, `Unavailable` when a read hangs."""
        while documents := self._next():
            for document in documents:
                if self._stopped:
                    raise CancelledError
                yield document

    def stop(self) -> None:
        """In the loop. The thread ends at the next document, wherever it is."""
        self._stopped = True
        if self._reading is not None:
            self._reading.cancel()

    def _next(self) -> Sequence[str]:
        self._reading = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
        if self._stopped:  # between the two, where `stop` has missed this read
            self._reading.cancel()
        try:
            return self._reading.result(_READ_LIMIT)
        except TimeoutError:
            self._reading.cancel()
            raise Unavailable("the database did not answer in time") from None

    async def _following(self) -> Sequence[str]:
        # Not `anext(lists, ())`, which fails at the end of a generator.
        async for documents in self._lists:
            return documents
        return ()


def _indexed(cores: Sequence[bytes]) -> list[IndexedCompany]:
    return [indexed_core(core) for core in cores]


def _point(stream: AsyncChangeStream[Document]) -> bytes:
    """Where the stream stands; known as soon as it has answered once."""
    token = stream.resume_token
    if token is None:
        raise Unavailable("the database has not told where its change stream stands")
    return bson.encode(token)
