"""Readers of the event feed that are cut off and resume, and the producer of its events."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Protocol

import aiohttp
import orjson
from pymongo.errors import BulkWriteError

from bench.events import publishing, renamed, vat_of
from common.contracts.failures import Unavailable
from common.mongo import Database, connected, database, translated_errors
from register_store.documents import OUTBOX
from register_store.indexes import make_indexes
from tests.builders.companies import an_outbox_row_of

#: The cursor before the oldest event.
START = "000000000000"

_COMPANIES = 7
_DUPLICATE = 11000


@dataclass
class Producer:
    """Stores events as importers do, through every failover."""

    register: Database
    stored: list[str] = field(default_factory=list)

    async def store(self, numbers: range) -> bool:
        """Stores the events of these numbers; False if the database is unavailable."""
        now = datetime.now(UTC)
        events = [renamed(vat_of(number % _COMPANIES), number, now) for number in numbers]
        documents = [an_outbox_row_of(event) for event in events]
        with suppress(Unavailable), translated_errors():
            try:
                await self.register[OUTBOX].insert_many(documents, ordered=False)
            except BulkWriteError as error:
                # An earlier attempt, whose answer was lost, stored them.
                if any(each["code"] != _DUPLICATE for each in error.details["writeErrors"]):
                    raise
            self.stored += [document["_id"] for document in documents]
            return True
        return False


@asynccontextmanager
async def producing(mongo_url: str, amqp_url: str, name: str) -> AsyncIterator[Producer]:
    """A producer of a register of this name, and a broker with a queue for the events."""
    timeout = timedelta(seconds=10)
    async with (
        connected(mongo_url, name="bench", operation_timeout=timeout) as client,
        publishing(amqp_url),
    ):
        register = database(client, name)
        await make_indexes(register)
        yield Producer(register)


class Read(Protocol):
    async def __call__(self, session: aiohttp.ClientSession, reader: "Reader") -> None:
        """Reads events into the reader, and moves its cursor with them."""


@dataclass
class Reader:
    """Stores processed events with its cursor; all other state is lost when it is killed."""

    url: str
    key: str
    random: Random
    read: Read
    cursor: str = START
    events: list[dict[str, Any]] = field(default_factory=list)

    async def read_until(self, count: int) -> None:
        """Reads so many events, and is killed every few moments, wherever it is."""
        while len(self.events) < count:
            # A refused connection, a 503 while a dependency fails over, or its own death.
            with suppress(aiohttp.ClientError, TimeoutError):
                async with (
                    aiohttp.ClientSession(headers={"X-API-Key": self.key}) as session,
                    asyncio.timeout(self.random.uniform(0.05, 3)),
                ):
                    await self.read(session, self)


async def by_pages(session: aiohttp.ClientSession, reader: Reader) -> None:
    while True:
        limit = reader.random.randrange(1, 200)
        url = f"{reader.url}?wait=20&limit={limit}&after={reader.cursor}"
        async with session.get(url, raise_for_status=True) as response:
            page = orjson.loads(await response.read())
        reader.events += page["events"]
        reader.cursor = page["cursor"]


async def by_stream(session: aiohttp.ClientSession, reader: Reader) -> None:
    headers = {"Last-Event-ID": reader.cursor}
    async with session.get(
        f"{reader.url}/stream", headers=headers, raise_for_status=True
    ) as response:
        while True:
            frame = await response.content.readuntil(b"\n\n")
            if frame.startswith(b"id: "):
                lines = frame.decode().splitlines()
                reader.events.append(orjson.loads(lines[2].removeprefix("data: ")))
                reader.cursor = lines[0].removeprefix("id: ")


def is_in_order(events: Sequence[dict[str, Any]]) -> bool:
    """Whether the revisions of each company rise."""
    revisions: dict[str, int] = {}
    return all(
        event["revision"] > revisions.get(event["vat"], -1)
        and not revisions.update({event["vat"]: event["revision"]})
        for event in events
    )
