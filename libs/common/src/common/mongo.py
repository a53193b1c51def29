"""The way to MongoDB: how to connect, what counts as its being away, and its clock.

PyMongo's own asyncio client, see docs/adr/0009.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pymongo.errors
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from common.contracts.failures import Unavailable
from common.runtime.tasks import beside

Client = AsyncMongoClient[Mapping[str, Any]]
Database = AsyncDatabase[dict[str, Any]]

#: A request must learn within 2 s that the database is away (spec: 503), so choosing a server and
#: each operation end before that.
SELECTION_TIMEOUT = timedelta(seconds=1)
OPERATION_TIMEOUT = timedelta(milliseconds=1200)
#: The driver's heartbeats have this time as well, and it drops every connection when one is late:
#: they run in our loop, and a busy moment must not look like a dead server. An operation with a
#: limit waits no longer for a connection than that.
_CONNECT_TIMEOUT = timedelta(seconds=5)

#: What the driver raises when the database cannot be reached or cannot answer now.
_AWAY = (
    pymongo.errors.ConnectionFailure,
    pymongo.errors.ExecutionTimeout,
    pymongo.errors.WTimeoutError,
    pymongo.errors.WaitQueueTimeoutError,
)
#: MongoDB's codes of a write that no majority is known to have, for it changes its primary, is
#: shutting down or took too long: ShutdownInProgress, PrimarySteppedDown, InterruptedAtShutdown,
#: InterruptedDueToReplStateChange, NotWritablePrimary, NotPrimaryNoSecondaryOk,
#: NotPrimaryOrSecondary, WriteConcernTimeout.
_NO_MAJORITY = frozenset({91, 189, 11600, 11602, 10107, 13435, 13436, 64})


#: Seconds between two readings of the database's clock; meanwhile a steady clock drifts little.
_MEASURE_EVERY = 10.0
_MEASURE_AGAIN = 0.5
#: Seconds. An answer that takes longer leaves a known time as it is.
_SLOW_ANSWER = 1.0
#: Seconds that a wall clock may be off before that is said.
_WRONG = 5.0


def _since_boot() -> float:
    """Seconds by a clock that nobody sets, and that counts on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@asynccontextmanager
async def connected(
    url: str, *, name: str, operation_limit: timedelta | None = OPERATION_TIMEOUT
) -> AsyncIterator[Client]:
    """A client for the body's time; `operation_limit` None is for streams and long loads."""
    client: Client = AsyncMongoClient(
        url,
        appname=name,
        tz_aware=True,
        serverSelectionTimeoutMS=_milliseconds(SELECTION_TIMEOUT),
        connectTimeoutMS=_milliseconds(_CONNECT_TIMEOUT),
        timeoutMS=None if operation_limit is None else _milliseconds(operation_limit),
        w="majority",
        retryWrites=True,
    )
    try:
        yield client
    finally:
        await client.close()


def database(client: Client, name: str) -> Database:
    """A database whose times come back as UTC."""
    return client.get_database(name, codec_options=CodecOptions(tz_aware=True))  # type: ignore[return-value]


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turns the driver's ways of saying that the database is away into `Unavailable`."""
    try:
        yield
    except _AWAY as error:
        raise Unavailable("the database cannot be reached") from error
    except pymongo.errors.PyMongoError as error:
        if error.timeout:
            raise Unavailable("the database did not answer in time") from error
        if _lacks_majority(error):
            raise Unavailable("no majority of the database has what was written") from error
        raise


def ping(client: Client) -> Callable[[], Awaitable[str | None]]:
    """A health check: None, or a word on what is wrong."""

    async def check() -> str | None:
        try:
            with translated_errors():
                await client.admin.command("ping")
        except Unavailable as outage:
            return str(outage)
        return None

    return check


class DatabaseClock:
    """The time by the database's clock, which its processes share (ADR 0017).

    Between two measurements this machine's steady clock counts on. Its wall clock is not used: it
    may be wrong, and may jump.
    """

    def __init__(self, client: Client, *, steady: Callable[[], float] = _since_boot) -> None:
        self._client = client
        self._steady = steady
        self._epoch: datetime | None = None
        #: Set once the time is known.
        self.measured = asyncio.Event()

    def __call__(self) -> datetime:
        """The time to the millisecond, as the database keeps it."""
        if self._epoch is None:
            raise RuntimeError("the database's clock has not been read")
        now = self._epoch + timedelta(seconds=self._steady())
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    async def measure(self) -> None:
        """Reads the database's clock. Raises `Unavailable`."""
        began = self._steady()
        with translated_errors():
            hello = await self._client.admin.command("hello")
        took = self._steady() - began
        # It was read at some moment in between: a slow answer says less than what is known.
        if took < _SLOW_ANSWER or self._epoch is None:
            # A command's own answer has times in UTC without saying so.
            at: datetime = hello["localTime"].replace(tzinfo=UTC)
            self._epoch = at - timedelta(seconds=began + took / 2)
            self.measured.set()

    async def run(self) -> None:
        """Measures until cancelled."""
        while True:
            with suppress(Unavailable):  # the check of the database reports it
                await self.measure()
            await asyncio.sleep(_MEASURE_EVERY if self.measured.is_set() else _MEASURE_AGAIN)

    async def check(self) -> str | None:
        """A health check: a word on this machine's wall clock if it is wrong."""
        behind = (self() - datetime.now(UTC)).total_seconds()
        if abs(behind) < _WRONG:
            return None
        return f"{abs(behind):.0f} s {'behind' if behind > 0 else 'ahead of'} the database's clock"


@asynccontextmanager
async def database_clock(client: Client) -> AsyncIterator[DatabaseClock]:
    """Keeps the database's time for the body's time, which begins when it is known."""
    clock = DatabaseClock(client)
    async with beside(clock.run()):
        await clock.measured.wait()
        yield clock


def _lacks_majority(error: pymongo.errors.PyMongoError) -> bool:
    """Whether the writes were made, and may yet be rolled back."""
    match error:
        case pymongo.errors.WriteConcernError():
            return error.code in _NO_MAJORITY
        case pymongo.errors.BulkWriteError():
            # Whatever failed beside them comes again when they are written again.
            return bool(error.details["writeConcernErrors"])
        case _:
            return False


def _milliseconds(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)
