"""MongoDB: connecting, translating its errors, and its clock.

PyMongo's own asyncio client, see docs/adr/0009.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pymongo.errors
import structlog
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.database import AsyncDatabase

from common.contracts.failures import Unavailable
from common.mongo_metrics import CommandMetrics, PoolMetrics
from common.runtime.tasks import CannotContinue, beside

Client = AsyncMongoClient[dict[str, Any]]
Database = AsyncDatabase[dict[str, Any]]

#: A request must fail within 2 s when the database is unavailable (spec: 503), so server selection
#: and each operation end before that.
SELECTION_TIMEOUT = timedelta(seconds=1)
OPERATION_TIMEOUT = timedelta(milliseconds=1200)
#: The driver's heartbeats share this timeout, and it drops every connection when one is late: they
#: run in this event loop, and a busy loop must not look like a dead server. An operation with a
#: timeout waits no longer than that for a connection.
_CONNECT_TIMEOUT = timedelta(seconds=5)

#: Seconds between two looks for a primary.
_LOOK_EVERY = 1.0

#: Seconds to close a client.
CLOSE_TIMEOUT = 2.0

#: MongoDB's error code of a duplicate key.
DUPLICATE_KEY: Final = 11000

#: Exceptions of the driver when the database is unreachable or cannot answer now.
_AWAY = (
    pymongo.errors.ConnectionFailure,
    pymongo.errors.ExecutionTimeout,
    pymongo.errors.WTimeoutError,
    pymongo.errors.WaitQueueTimeoutError,
)
#: MongoDB's codes of a write not known to be on a majority, because of a failover, a shutdown or a
#: timeout: ShutdownInProgress, PrimarySteppedDown, InterruptedAtShutdown,
#: InterruptedDueToReplStateChange, NotWritablePrimary, NotPrimaryNoSecondaryOk,
#: NotPrimaryOrSecondary, WriteConcernTimeout.
_NO_MAJORITY = frozenset({91, 189, 11600, 11602, 10107, 13435, 13436, 64})

#: AuthenticationFailed and Unauthorized. While a password or a role is being changed nothing is
#: wrong with the request.
_NOT_ALLOWED = frozenset({18, 13})

#: Seconds between readings of the database's clock; a monotonic clock drifts little meanwhile.
_MEASURE_EVERY = 10.0
_MEASURE_AGAIN = 0.5
#: Seconds. A slower answer does not replace a known time.
_SLOW_ANSWER = 1.0
#: Seconds that a wall clock may be off before the health check reports it.
_WRONG = 5.0

log = structlog.get_logger()


def _since_boot() -> float:
    """Seconds of a monotonic clock that includes the time when the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@asynccontextmanager
async def connected(
    url: str,
    *,
    name: str,
    operation_timeout: timedelta | None = OPERATION_TIMEOUT,
    primary_timeout: timedelta | None = None,
) -> AsyncIterator[Client]:
    """A client during the body; `operation_timeout` None is for streams and long loads.

    After `primary_timeout` without a primary that a new client finds, the body is cancelled.
    """
    async with _client(url, name=name, operation_timeout=operation_timeout) as client:
        if primary_timeout is None:
            yield client
        else:
            async with beside(_end_when_replaced(client, url, primary_timeout)):
                yield client


@asynccontextmanager
async def _client(
    url: str, *, name: str, operation_timeout: timedelta | None
) -> AsyncIterator[Client]:
    client: Client = AsyncMongoClient(
        url,
        appname=name,
        tz_aware=True,
        serverSelectionTimeoutMS=_milliseconds(SELECTION_TIMEOUT),
        connectTimeoutMS=_milliseconds(_CONNECT_TIMEOUT),
        timeoutMS=None if operation_timeout is None else _milliseconds(operation_timeout),
        w="majority",
        retryWrites=True,
        event_listeners=[PoolMetrics(name), CommandMetrics(name)],
    )
    try:
        yield client
    finally:
        # The driver ends its sessions first, and waits 15 s for a server that does not answer.
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await client.close()


async def _end_when_replaced(client: Client, url: str, timeout: timedelta) -> None:
    """Raises `CannotContinue` when only a new client finds the primary.

    A client remembers the latest election that it saw, and takes a primary of an earlier one for a
    member that was left behind: so is every primary of a replica set that was initiated anew, as
    for a restore. The process has caches and an index of the former data, so it all starts again.
    """
    clock = asyncio.get_running_loop().time
    found = clock()
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if await _finds_primary(client):
            found = clock()
        elif clock() - found >= timeout.total_seconds():
            async with _client(url, name="primary", operation_timeout=OPERATION_TIMEOUT) as new:
                is_there = await _finds_primary(new)
            # Once more: it may have returned just now, as after a partition or a suspension.
            if is_there and not await _finds_primary(client):
                log.error("database.replaced", timeout_s=timeout.total_seconds())
                raise CannotContinue("the replica set was initiated anew")


async def _finds_primary(client: Client) -> bool:
    """Returns whether a primary is found within `SELECTION_TIMEOUT`; uses no pooled connection."""
    try:
        return await client.is_primary
    except pymongo.errors.PyMongoError:
        return False


def database(client: Client, name: str) -> Database:
    """Returns a database whose times come back as UTC."""
    return client.get_database(name, codec_options=CodecOptions(tz_aware=True))


def also_from_secondaries(database: Database) -> Database:
    """Reads from a secondary while there is no primary, so an election does not interrupt them.

    Only for reads that may miss the last moments before the primary was lost.
    """
    return database.with_options(read_preference=ReadPreference.PRIMARY_PREFERRED)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the driver's errors of an unavailable database to `Unavailable`."""
    try:
        yield
    except _AWAY as error:
        raise Unavailable("the database cannot be reached") from error
    except pymongo.errors.PyMongoError as error:
        if error.timeout:
            raise Unavailable("the database did not answer in time") from error
        if isinstance(error, pymongo.errors.OperationFailure) and error.code in _NOT_ALLOWED:
            raise Unavailable("the database rejects this service's credentials") from error
        if _lacks_majority(error):
            raise Unavailable("no majority of the database has acknowledged the write") from error
        raise


def ping(client: Client) -> Callable[[], Awaitable[str | None]]:
    """Returns a health check, which raises `Unavailable`."""

    async def check() -> None:
        with translated_errors():
            await client.admin.command("ping")

    return check


class DatabaseClock:
    """The database's time, shared by all processes (ADR 0017).

    Between two readings this machine's monotonic clock is used, never its wall clock: that may be
    wrong, and may jump.
    """

    def __init__(self, client: Client, *, steady: Callable[[], float] = _since_boot) -> None:
        self._client = client
        self._steady = steady
        #: Seconds since 1970 when the steady clock was 0.
        self._epoch: float | None = None
        #: Set once the time is known.
        self.measured = asyncio.Event()

    def __call__(self) -> datetime:
        """The time to the millisecond, the database's precision."""
        if self._epoch is None:
            raise RuntimeError("the database's clock has not been read")
        milliseconds = int((self._epoch + self._steady()) * 1000)
        return datetime.fromtimestamp(milliseconds / 1000, UTC)

    async def measure(self) -> None:
        """Reads the database's clock. Raises `Unavailable`."""
        began = self._steady()
        with translated_errors():
            hello = await self._client.admin.command("hello")
        took = self._steady() - began
        # The clock was read at some moment in between: a slow answer is less precise than the
        # known time.
        if took < _SLOW_ANSWER or self._epoch is None:
            # A command's reply has naive times, in UTC.
            at: datetime = hello["localTime"].replace(tzinfo=UTC)
            self._epoch = at.timestamp() - (began + took / 2)
            self.measured.set()

    async def run(self) -> None:
        """Measures until cancelled."""
        while True:
            with suppress(Unavailable):  # the check of the database reports it
                await self.measure()
            await asyncio.sleep(_MEASURE_EVERY if self.measured.is_set() else _MEASURE_AGAIN)

    async def check(self) -> str | None:
        """Checks the clock; returns a message if this machine's wall clock is wrong, else None."""
        behind = (self() - datetime.now(UTC)).total_seconds()
        if abs(behind) < _WRONG:
            return None
        return f"{abs(behind):.0f} s {'behind' if behind > 0 else 'ahead of'} the database's clock"


@asynccontextmanager
async def database_clock(client: Client) -> AsyncIterator[DatabaseClock]:
    """Tracks the database's time during the body, which starts once it is known."""
    clock = DatabaseClock(client)
    async with beside(clock.run()):
        await clock.measured.wait()
        yield clock


def _lacks_majority(error: pymongo.errors.PyMongoError) -> bool:
    """True if the writes were applied, but may be rolled back."""
    match error:
        case pymongo.errors.WriteConcernError():
            return error.code in _NO_MAJORITY
        case pymongo.errors.BulkWriteError():
            # Other failures recur when the writes are retried.
            return bool(error.details["writeConcernErrors"])
        case _:
            return False


def _milliseconds(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
