"""MongoDB: connecting, translating its errors, measuring its commands; reads, and its clock."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import pymongo.errors
import pymongo.lock
import structlog
from bson.codec_options import CodecOptions
from prometheus_client import Counter, Gauge, Histogram
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
    ConnectionCheckedInEvent,
    ConnectionCheckedOutEvent,
    ConnectionCheckOutFailedEvent,
    ConnectionClosedEvent,
    ConnectionCreatedEvent,
    ConnectionPoolListener,
)

from common.contracts.failures import Unavailable
from common.mongo_spans import CommandSpans
from common.runtime import tracing
from common.runtime.tasks import CannotContinue, background, hedged, wait_for

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

_MILLISECOND = timedelta(milliseconds=1)

#: Seconds between two checks for a primary.
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

#: OutOfDiskSpace.
_NO_ROOM = 14031

#: AuthenticationFailed and Unauthorized: they also occur while a password or a role is being
#: changed.
_NOT_ALLOWED = frozenset({18, 13})
_REJECTED = "the database rejects this service's credentials"
#: Seconds for a check, which has more time than its operation: the driver may exceed its timeout.
_PING_TIMEOUT = 1.3

log = structlog.get_logger()


# The driver waits for a server or a connection with it. With `asyncio.wait_for` an operation that
# is cancelled in the moment in which that wait times out does not get its lock back, and releases
# that of another: `RuntimeError`, or a lock that stays held and stops the client for good. In
# Python 3.11 with every timeout, from 3.12 on with one of 0, as at the end of an operation's own.
setattr(pymongo.lock, "wait_for", wait_for)  # noqa: B010 (not exported)

_COMMANDS = Histogram(
    "mongodb_command_duration_seconds",
    "From a command to its reply, by outcome; a getMore of a change stream waits for a change",
    ["client", "command", "outcome"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_OPEN = Gauge("mongodb_pool_connections", "Open connections, those in use among them", ["client"])
_IN_USE = Gauge("mongodb_pool_connections_in_use", "Connections with an operation", ["client"])
_WAITS = Histogram(
    "mongodb_pool_wait_seconds",
    "Wait of an operation for a connection, with the time to open a new one",
    ["client"],
    buckets=(0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
_FAILED_WAITS = Counter(
    "mongodb_pool_wait_failures_total", "Operations that got no connection", ["client", "reason"]
)
#: Reasons that PyMongo gives, as labels.
_REASONS = {"poolClosed": "pool_closed", "connectionError": "connection_error"}
_TIMEOUT = "timeout"


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
    async with open_client(url, name=name, operation_timeout=operation_timeout) as client:
        if primary_timeout is None:
            yield client
        else:
            async with background(_end_when_replaced(client, url, primary_timeout)):
                yield client


@asynccontextmanager
async def open_client(
    url: str,
    *,
    name: str,
    operation_timeout: timedelta | None,
    selection_timeout: timedelta | None = None,
) -> AsyncIterator[Client]:
    """A client during the body, which waits `selection_timeout` for a primary."""
    listeners: list[CommandListener | ConnectionPoolListener] = [
        PoolMetrics(name),
        CommandMetrics(name),
    ]
    if tracing.tracer is not None:
        listeners.append(CommandSpans(tracing.tracer))
    client: Client = AsyncMongoClient(
        url,
        appname=name,
        tz_aware=True,
        serverSelectionTimeoutMS=(selection_timeout or SELECTION_TIMEOUT) // _MILLISECOND,
        connectTimeoutMS=_CONNECT_TIMEOUT // _MILLISECOND,
        timeoutMS=None if operation_timeout is None else operation_timeout // _MILLISECOND,
        w="majority",
        retryWrites=True,
        event_listeners=listeners,
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

    A client remembers the latest election that it saw and rejects primaries of earlier ones. After
    a replica set is initiated again, as for a restore, these are all of them. The process ends and
    is started again, because it has caches and an index of the former data.
    """
    clock = asyncio.get_running_loop().time
    found = clock()
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if await _finds_primary(client):
            found = clock()
        elif clock() - found >= timeout.total_seconds():
            async with open_client(url, name="primary", operation_timeout=OPERATION_TIMEOUT) as new:
                is_there = await _finds_primary(new)
            # Checked again: the primary may have just returned, as after a partition or a
            # suspension.
            if is_there and not await _finds_primary(client):
                log.error("database.replaced", timeout_s=timeout.total_seconds())
                raise CannotContinue("the replica set was initiated anew")


async def _finds_primary(client: Client) -> bool:
    try:
        return await client.is_primary
    except pymongo.errors.PyMongoError:
        return False


def database(client: Client, name: str) -> Database:
    """Returns a database whose times come back as UTC."""
    return client.get_database(name, codec_options=CodecOptions(tz_aware=True))


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translates the driver's errors of an unavailable database to `Unavailable`."""
    try:
        yield
    except _AWAY as error:
        raise Unavailable("the database cannot be reached") from error
    except pymongo.errors.PyMongoError as error:
        if error.timeout:
            raise Unavailable("the database did not answer in time") from error
        if _is_rejection(error):
            raise Unavailable(_REJECTED) from error
        if isinstance(error, pymongo.errors.ConfigurationError) and "Sessions" in str(error):
            # A member that answers before its state in the replica set is known.
            raise Unavailable("a member of the database is starting") from error
        if isinstance(error, pymongo.errors.OperationFailure) and error.code == _NO_ROOM:
            raise Unavailable("the database has no room on its disk") from error
        if _lacks_majority(error):
            raise Unavailable("no majority of the database has acknowledged the write") from error
        raise


def ping(client: Client) -> Callable[[], Awaitable[str | None]]:
    """Returns a health check, which raises `Unavailable`."""

    async def check() -> None:
        try:
            with translated_errors():
                async with asyncio.timeout(_PING_TIMEOUT):
                    await client.admin.command("ping")
        except (Unavailable, TimeoutError):
            # After a rejection the driver looks for a server, and finds none before the next one.
            for server in client.topology_description.server_descriptions().values():
                if _is_rejection(server.error):
                    raise Unavailable(_REJECTED) from server.error
            raise

    return check


def _is_rejection(error: Exception | None) -> bool:
    return isinstance(error, pymongo.errors.OperationFailure) and error.code in _NOT_ALLOWED


def _lacks_majority(error: pymongo.errors.PyMongoError) -> bool:
    match error:
        case pymongo.errors.WriteConcernError():
            return error.code in _NO_MAJORITY
        case pymongo.errors.BulkWriteError():
            # Other failures recur when the writes are retried.
            return bool(error.details["writeConcernErrors"])
        case _:
            return False


class CommandMetrics(CommandListener):
    """Durations of the commands of one client, by command and outcome."""

    def __init__(self, client: str) -> None:
        self._client = client
        # Cached, since looking up a labelled child costs more than observing with it.
        self._children: dict[tuple[str, str], Histogram] = {}

    def started(self, event: CommandStartedEvent) -> None:
        """Does nothing: the event of the end has the duration."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Observes the duration of a command that succeeded."""
        self._observe(event.command_name, "succeeded", event.duration_micros)

    def failed(self, event: CommandFailedEvent) -> None:
        """Observes the duration of a command that failed."""
        self._observe(event.command_name, "failed", event.duration_micros)

    def _observe(self, command: str, outcome: str, microseconds: int) -> None:
        child = self._children.get((command, outcome))
        if child is None:
            child = _COMMANDS.labels(self._client, command, outcome)
            self._children[command, outcome] = child
        child.observe(microseconds / 1_000_000)


class PoolMetrics(ConnectionPoolListener):
    """Connections of one client: open, in use, and the waits for a free one."""

    def __init__(self, client: str) -> None:
        # Plain numbers, read at a scrape: three of these methods run with each operation.
        self._open = self._in_use = 0
        _OPEN.labels(client).set_function(lambda: self._open)
        _IN_USE.labels(client).set_function(lambda: self._in_use)
        self._waits = _WAITS.labels(client)
        # Prometheus sees no increase in a counter's first sample.
        self._failed = {
            reason: _FAILED_WAITS.labels(client, reason)
            for reason in (*_REASONS.values(), _TIMEOUT)
        }

    def connection_created(self, event: ConnectionCreatedEvent) -> None:  # noqa: ARG002
        """Counts a new connection."""
        self._open += 1

    def connection_closed(self, event: ConnectionClosedEvent) -> None:  # noqa: ARG002
        """Subtracts a closed connection."""
        self._open -= 1

    def connection_checked_out(self, event: ConnectionCheckedOutEvent) -> None:
        """Counts a connection in use and observes the wait for it."""
        self._in_use += 1
        self._waits.observe(event.duration or 0.0)

    def connection_checked_in(self, event: ConnectionCheckedInEvent) -> None:  # noqa: ARG002
        """Subtracts a connection that is free again."""
        self._in_use -= 1

    def connection_check_out_failed(self, event: ConnectionCheckOutFailedEvent) -> None:
        """Counts a failed wait by its reason."""
        self._failed[_REASONS.get(event.reason, _TIMEOUT)].inc()

    def pool_created(self, event: object) -> None:
        """Does nothing, like the handlers of the other events without a metric."""

    pool_ready = pool_cleared = pool_closed = pool_created
    connection_ready = connection_check_out_started = pool_created


T = TypeVar("T")
M = TypeVar("M")
Document = dict[str, Any]

#: Seconds that a read waits for the primary; one takes a millisecond.
PATIENCE = 0.3
#: Seconds that a secondary has to answer until another is read as well.
SECONDARY_PATIENCE = 0.1
#: Seconds for which the primary is spared reads after one waited for it in vain.
_SPARED = 1.0


class Reads:
    """Reads of a database; each method of its collections raises Unavailable.

    The driver notices a closed connection at once, but a primary that hangs or is cut off only
    after timeouts that outlast a lookup. So a read that the primary has not answered within
    `PATIENCE` is made from a secondary, which may lack the last moments; and from another one if
    that does not answer either. Rows of the table of faults: a primary that is stepped down,
    restarted or cut off, after which a member that is back does not answer for seconds.
    """

    def __init__(
        self, database: Database, *, from_secondaries: bool = True, patience: float = PATIENCE
    ) -> None:
        """Without `from_secondaries` all reads are the primary's, and wait for it."""
        preference = (
            ReadPreference.PRIMARY_PREFERRED if from_secondaries else ReadPreference.PRIMARY
        )
        self._first = database.with_options(read_preference=preference)
        self._second = database.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
        self._patience = patience if from_secondaries else None
        self._away_until = float("-inf")

    def __getitem__(self, name: str) -> "ReadCollection":
        return ReadCollection(self, self._first[name], self._second[name])

    async def ping(self) -> None:
        """Raises Unavailable if no member that reads go to answers."""
        await self.first(_ping, self._first, self._second)

    async def first(self, read: Callable[[M], Awaitable[T]], primary: M, secondary: M) -> T:
        """Returns what is read from the primary, or from a secondary if that takes too long."""
        clock = asyncio.get_running_loop().time
        with translated_errors():
            if self._patience is None:
                return await read(primary)
            if clock() >= self._away_until:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._patience):
                        return await read(primary)
                self._away_until = clock() + _SPARED
            # Of two secondaries the driver chooses the one with fewer operations.
            return await hedged(lambda: read(secondary), after=SECONDARY_PATIENCE)


async def _ping(database: Database) -> None:
    await database.command("ping", read_preference=database.read_preference)


class ReadCollection:
    """A collection that is only read."""

    def __init__(self, reads: Reads, *members: AsyncCollection[Document]) -> None:
        self._reads = reads
        self._members = members

    async def find(
        self, condition: Mapping[str, Any], fields: Mapping[str, Any], **options: Any
    ) -> list[Document]:
        """Returns all documents that fit, with these fields; options as the driver's."""

        async def read(collection: AsyncCollection[Document]) -> list[Document]:
            return await collection.find(condition, fields, **options).to_list(None)

        return await self._reads.first(read, *self._members)

    async def find_one(self, condition: Mapping[str, Any], *fields: Any) -> Document | None:
        """Returns the first document that fits."""

        async def read(collection: AsyncCollection[Document]) -> Document | None:
            return await collection.find_one(condition, *fields)

        return await self._reads.first(read, *self._members)

    async def aggregate(self, pipeline: list[Document]) -> list[Document]:
        """Returns the results of a pipeline."""

        async def read(collection: AsyncCollection[Document]) -> list[Document]:
            return await (await collection.aggregate(pipeline)).to_list(None)

        return await self._reads.first(read, *self._members)


#: Seconds between readings of the database's clock; a monotonic clock drifts little meanwhile.
_MEASURE_EVERY = 10.0
_MEASURE_AGAIN = 0.5
#: Seconds. A slower answer does not replace a known time.
_SLOW_ANSWER = 1.0
#: Seconds that a wall clock may be off before the health check reports it.
_WRONG = 5.0


def _since_boot() -> float:
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
        """Returns the time to the millisecond, the database's precision."""
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
    async with background(clock.run()):
        await clock.measured.wait()
        yield clock
