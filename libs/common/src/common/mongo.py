"""The way to MongoDB: how to connect, what counts as its being away.

PyMongo's own asyncio client, see docs/adr/0009.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import pymongo.errors
from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from common.contracts.outage import Outage

Client = AsyncMongoClient[Mapping[str, Any]]
Database = AsyncDatabase[dict[str, Any]]

#: A request must learn within 2 s that the database is away (spec: 503), so choosing a server and
#: each operation end before that.
SELECTION_LIMIT = timedelta(seconds=1)
REQUEST_LIMIT = timedelta(milliseconds=1200)
#: The driver's heartbeats have this time as well, and it drops every connection when one is late:
#: they run in our loop, and a busy moment must not look like a dead server. An operation with a
#: limit waits no longer for a connection than that.
_CONNECT_LIMIT = timedelta(seconds=5)

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


@asynccontextmanager
async def connected(
    url: str, *, name: str, operation_limit: timedelta | None = REQUEST_LIMIT
) -> AsyncIterator[Client]:
    """A client for the body's time; `operation_limit` None is for streams and long loads."""
    client: Client = AsyncMongoClient(
        url,
        appname=name,
        tz_aware=True,
        serverSelectionTimeoutMS=_milliseconds(SELECTION_LIMIT),
        connectTimeoutMS=_milliseconds(_CONNECT_LIMIT),
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
def outages() -> Iterator[None]:
    """Turns the driver's ways of saying that the database is away into `Outage`."""
    try:
        yield
    except _AWAY as error:
        raise Outage("the database cannot be reached") from error
    except pymongo.errors.PyMongoError as error:
        if error.timeout:
            raise Outage("the database did not answer in time") from error
        if _lacks_majority(error):
            raise Outage("no majority of the database has what was written") from error
        raise


def ping(client: Client) -> Callable[[], Awaitable[str | None]]:
    """A health check: None, or a word on what is wrong."""

    async def check() -> str | None:
        try:
            with outages():
                await client.admin.command("ping")
        except Outage as outage:
            return str(outage)
        return None

    return check


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
