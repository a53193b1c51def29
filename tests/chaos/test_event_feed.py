"""Readers of the event feed miss and repeat nothing."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import pytest

from common.contracts.failures import Unavailable
from common.leases import LEASES
from common.mongo import translated_errors
from local_stack.replica_set import ReplicaSet
from local_stack.system import Service, System
from tests.chaos.feed_readers import (
    Producer,
    Reader,
    by_pages,
    by_stream,
    is_in_order,
    producing,
)
from tests.commanding import run_here
from tests.delivery.waiting import SOON, eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

EVENTS = 600
#: Events stored at once, and seconds between two such writes.
BURST, PAUSE = 30, 0.2


@dataclass
class Feed:
    system: System
    producer: Producer
    url: str
    key: str
    #: The publisher.
    first: Service

    async def produce(self) -> None:
        for first in range(0, EVENTS, BURST):
            numbers = range(first, first + BURST)
            await eventually(partial(self.producer.store, numbers), bool)
            await asyncio.sleep(PAUSE)

    async def expire_the_lease(self) -> None:
        await _until_done(
            lambda: self.producer.register[LEASES].update_one(
                {"_id": "outbox"}, {"$set": {"until": datetime(1970, 1, 1, tzinfo=UTC)}}
            )
        )


async def _until_done(write: Callable[[], Awaitable[object]]) -> None:
    async def is_done() -> bool:
        with suppress(Unavailable), translated_errors():
            await write()
            return True
        return False

    await eventually(is_done, bool)


@pytest.fixture
async def feed(tmp_path: Path, amqp_url: str, three_members: ReplicaSet) -> AsyncIterator[Feed]:
    """A gateway with its lookups, a publisher, and a broker with a queue that takes the events."""
    mark = uuid.uuid4().hex
    names = {"REGISTER_DB": f"register-{mark}", "ACCESS_DB": f"access-{mark}"}
    settings = {**names, "WEBHOOKS_DB": f"webhooks-{mark}", "KEY_RATE": "100000/second"}
    system = System(tmp_path, amqp_url, three_members.url, settings)
    async with producing(three_members.url, amqp_url, names["REGISTER_DB"]) as producer:
        services = [system.start(module) for module in ("lookup", "gateway", "ingest")]
        try:
            issue = ("keys", "issue", "--owner", "acme", "--name", "test", "--scope", "events")
            _, key, _ = await asyncio.to_thread(run_here, system, "gateway", *issue)
            for service in services:
                await asyncio.to_thread(service.wait_until_ready)
            yield Feed(system, producer, f"{system.base_url}/api/events", key.strip(), services[-1])
        finally:
            await asyncio.to_thread(system.close)


async def test_readers_that_restart_have_each_event_once_and_in_order(
    feed: Feed, three_members: ReplicaSet
) -> None:
    """While the publisher is killed, its successor takes over, and the primary steps down."""
    paging = Reader(feed.url, feed.key, Random(1), by_pages)
    streaming = Reader(feed.url, feed.key, Random(2), by_stream)
    readers = (paging, streaming)

    async def until_read(count: int) -> None:
        async def read() -> int:
            return min(len(reader.events) for reader in readers)

        await eventually(read, lambda number: number >= count)

    async with asyncio.TaskGroup() as group:
        group.create_task(feed.produce())
        reading = [group.create_task(reader.read_until(EVENTS)) for reader in readers]
        await until_read(1)
        second = feed.system.start("ingest", name="second")
        await asyncio.to_thread(second.wait_until_ready)
        await until_read(EVENTS // 4)
        await asyncio.to_thread(feed.first.process.kill)
        await feed.expire_the_lease()
        await until_read(EVENTS // 2)
        await asyncio.to_thread(three_members.step_down)
        async with asyncio.timeout(SOON):
            await asyncio.gather(*reading)

    assert sorted(event["id"] for event in paging.events) == sorted(feed.producer.stored)
    assert is_in_order(paging.events)
    assert streaming.events == paging.events
