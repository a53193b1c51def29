"""The search index follows MongoDB: it is built once and updated from the change stream.

The change stream is opened before the register is read, so no change is missed; applying a change
twice is harmless. A saved index continues from its resume token. If MongoDB no longer has the
token, the old index serves while a new one is built.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, ParamSpec, TypeVar

import bson
import pymongo.errors
import structlog
from prometheus_client import Counter, Gauge
from pymongo.asynchronous.change_stream import AsyncChangeStream

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from common.runtime.processes import Workers, processors, release_freed_memory, workers
from common.runtime.tasks import delays
from lookup.search.index.documents import Batch, StoredParts, indexed, stored_batch
from lookup.search.index.search_index import SearchIndex
from lookup.search.indexed_company import newest_accounts, searched_core
from register_store.accounts import NewestAccounts
from register_store.documents import COMPANIES, HELD_NAMES, Document
from register_store.lists import StoredEinvoicing

P = ParamSpec("P")
T = TypeVar("T")

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


def stored_parts(
    document: Mapping[str, Any], *, is_receiver: bool = False, accounts: Sequence[bytes] = ()
) -> StoredParts:
    """Returns the searched parts of a company's document."""
    core = searched_core(document["core"], document.get(HELD_NAMES, ()))
    owners = document.get("owners") or b""
    return StoredParts(core, owners, is_receiver, newest_accounts(accounts))


#: Companies per read while an index is built, the seconds that a read may take, and concurrent
#: batches.
_READ, _READ_TIMEOUT = 2_000, 60.0
_AHEAD = 6
#: Companies that this process reads itself, in less processor time than a start of processes that
#: read more takes; and the maximum of these, of 75 MB each.
_READ_HERE, _BUILDERS = 10_000, 2
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
        building: asyncio.Lock,
    ) -> None:
        """`interval` is the maximum time in seconds for which changes are gathered for a commit.

        A build holds the lock `building`: those of two countries would share the processors. That
        of a large index is mostly done in processes of its own, so that this one can serve.
        """
        self._companies = database[COMPANIES]
        self._einvoicing = StoredEinvoicing(database)
        self._accounts = NewestAccounts(database)
        self._index = index
        self._country = country
        self._interval = interval
        self._random = random
        self._building = building

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
            except pymongo.errors.ExecutionTimeout:
                raise  # an outage, not a lost token
            except (pymongo.errors.OperationFailure, RegisterReplaced) as error:
                # MongoDB reports an expired resume token in several ways. Any other error, such as
                # a missing permission, fails the build and is reported there.
                log.warning("index.resume_failed", country=self._country, reason=str(error))
                await self._build()

    async def _build(self) -> bytes:
        async with self._building, workers(min(processors(), _BUILDERS)) as builders:
            return await self._built(builders)

    async def _built(self, builders: Workers) -> bytes:
        async with await self._watch(None) as stream:
            await stream.try_next()
            point = _point(stream)
        loop = asyncio.get_running_loop()
        started = loop.time()
        built = await _in_thread(self._index.new)
        try:
            async with aclosing(self._all(builders)) as batches:
                async for batch in batches:
                    await _in_thread(built.add, batch)
            await _in_thread(built.commit, point)
        except BaseException as error:
            await _in_thread(built.discard)
            if isinstance(error, TimeoutError):
                raise Unavailable("no response of the database in time") from None
            raise
        await _in_thread(built.close)
        await _in_thread(self._index.switch, built)
        await asyncio.to_thread(release_freed_memory)
        _BUILDS.labels(self._country).inc()
        log.info(
            "index.built",
            country=self._country,
            companies=self._index.size.companies,
            seconds=round(loop.time() - started, 1),
        )
        return point

    async def _all(self, builders: Workers) -> AsyncGenerator[Batch, None]:
        writing: deque[asyncio.Task[Batch]] = deque()
        read = 0
        try:
            async for stored in self._stored():
                read += len(stored)
                if read <= _READ_HERE:
                    yield await asyncio.to_thread(stored_batch, stored, self._country)
                    continue
                written = builders.run(stored_batch, stored, self._country)
                writing.append(asyncio.create_task(written))
                if len(writing) == _AHEAD:
                    yield await writing.popleft()
            while writing:
                yield await writing.popleft()
        finally:
            for task in writing:
                task.cancel()

    async def _stored(self) -> AsyncIterator[Sequence[StoredParts]]:
        first, after_last = f"{self._country}:", f"{self._country};"  # ";" follows ":"
        reading = self._einvoicing.receivers(self._country)
        receivers = await asyncio.wait_for(reading, _READ_TIMEOUT)
        cursor = self._companies.find(
            {"_id": {"$gte": first, "$lt": after_last}, "core": {"$ne": None}},
            {"core": 1, "owners": 1, HELD_NAMES: 1},
            batch_size=_READ,
            # In natural order: by the index each document would be a random access, which takes
            # MongoDB twenty times as long once they do not fit into its memory.
            hint=[("$natural", 1)],
        )
        while documents := await asyncio.wait_for(cursor.to_list(_READ), _READ_TIMEOUT):
            keys = [CompanyKey.parse(one["_id"]) for one in documents]
            accounts = await asyncio.wait_for(self._accounts(keys), _READ_TIMEOUT)
            yield [
                stored_parts(
                    one, is_receiver=one["_id"] in receivers, accounts=accounts.get(key, ())
                )
                for key, one in zip(keys, documents, strict=True)
            ]

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
                keys = [change.key for change in changes if change.stored is not None]
                receivers = await self._einvoicing.receivers_among(keys)
                accounts = await self._accounts(keys)
                await asyncio.to_thread(self._apply, changes, _point(stream), receivers, accounts)
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
        self,
        changes: Sequence[Change],
        point: bytes,
        receivers: Collection[CompanyKey],
        accounts: Mapping[CompanyKey, Sequence[bytes]],
    ) -> None:
        newest = {change.key: change.stored for change in changes}
        of_core = {change.key for change in changes if change.of_core}
        companies = [
            indexed(
                stored._replace(
                    einvoicing=key in receivers, accounts=newest_accounts(accounts.get(key, ()))
                )
            )
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


async def _in_thread(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Calls a function in a thread; a cancellation waits for the end of the thread."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
