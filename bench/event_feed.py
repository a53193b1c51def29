"""The event feed: its readers under load and faults, and very many clients that wait."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

import aiohttp
import orjson

from bench.feed_readers import START, Faults, Producer, Reader, by_pages, by_stream, producing
from bench.figures import Figure, at_most
from bench.processes import processor_seconds
from bench.scale import Scale
from bench.setup import issue_key, servers, system
from local_stack.replica_set import ReplicaSet
from local_stack.system import Service, System

#: Events a second, and seconds between two writes of them.
_RATE, _INTERVAL = 500, 0.1
#: Parts of the time after which the publisher is killed, and the primary steps down.
_KILL, _STEP_DOWN = 0.25, 0.6
#: Seconds for the readers to reach the end, which includes a lease that must expire.
_TIMEOUT = 600
#: Maximum seconds that a request waits.
_WAIT = 30


@dataclass(frozen=True, slots=True)
class Feed:
    """A gateway, a producer of events, and a key for reading them."""

    system: System
    mongo: ReplicaSet
    producer: Producer
    key: str

    @property
    def url(self) -> str:
        return f"{self.system.base_url}/api/events"

    async def start_lookup(self, name: str) -> Service:
        index_dir = str(self.system.folder / f"index-{name}")
        service = self.system.start("lookup", name=name, index_dir=index_dir)
        await asyncio.to_thread(service.wait_until_ready)
        return service


def measure(scale: Scale) -> list[Figure]:
    return [
        *asyncio.run(_under_faults(scale.reader_seconds)),
        *asyncio.run(_waiting(scale.waiting_clients, scale.reader_seconds / 2)),
    ]


async def _under_faults(seconds: int) -> list[Figure]:
    """Four readers that are cut off at random, while a publisher and a primary fail over."""
    async with _feed() as feed:
        first, _ = [await feed.start_lookup(name) for name in ("first", "second")]
        readers = [
            Reader(feed.url, feed.key, Random(number), read)
            for number, read in enumerate((by_pages, by_stream) * 2)
        ]
        count = _RATE * seconds
        started = time.monotonic()
        async with asyncio.timeout(seconds + _TIMEOUT), asyncio.TaskGroup() as group:
            for reader in readers:
                group.create_task(reader.read_until(count))
            group.create_task(_after(_KILL * seconds, first.process.kill))
            group.create_task(_after(_STEP_DOWN * seconds, feed.mongo.step_down))
            await _produce(feed.producer, count)
            produced = time.monotonic() - started
        order = await _read_all(feed)
    faults = [Faults.of(reader, feed.producer.stored, order) for reader in readers]
    name = f"event feed, {len(readers)} readers for {seconds} s"
    return [
        Figure(f"{name}, events stored", count / produced, "/s"),
        Figure(f"{name}, readers cut off", sum(reader.killed for reader in readers), "times"),
        Figure(f"{name}, events read", sum(len(reader.events) for reader in readers), ""),
        at_most(f"{name}, lost", sum(each.lost for each in faults), "", 0),
        at_most(f"{name}, repeated", sum(each.repeated for each in faults), "", 0),
        at_most(f"{name}, out of order", sum(each.out_of_order for each in faults), "", 0),
    ]


async def _waiting(clients: int, seconds: float) -> list[Figure]:
    """Processor time of gateway and lookup service while clients wait and nothing happens."""
    figures = []
    async with _feed(max_event_readers=str(clients)) as feed:
        gateway = feed.system.services["gateway"]
        services = [gateway, await feed.start_lookup("lookup")]
        idle = await _cores(services, seconds)
        for label, client in (("requests", _request), ("streams", _stream)):
            async with aiohttp.ClientSession(
                headers={"X-API-Key": feed.key},
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
            ) as session:
                tasks = [asyncio.create_task(client(session, feed.url)) for _ in range(clients)]
                await _until_readers(gateway, clients)
                used = await _cores(services, seconds)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            # Until the service has noticed it, they count as readers, of which a key has a maximum.
            await _until_readers(gateway, 0)
            name = f"{clients:,} waiting {label}, processor time above none"
            figures.append(at_most(name, (used - idle) * 100, "% of a core", 5))
    return figures


async def _request(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        await _read(session, f"{url}?wait={_WAIT}&after=latest")


async def _stream(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        await _read(session, f"{url}/stream")


async def _read(session: aiohttp.ClientSession, url: str) -> None:
    """Reads an answer to its end; a busy service may refuse some of many concurrent ones."""
    try:
        async with session.get(url, raise_for_status=True) as response:
            async for _ in response.content:
                pass
    except aiohttp.ClientError:
        await asyncio.sleep(1)


async def _until_readers(gateway: Service, count: int) -> None:
    """Returns when so many clients wait."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            async with session.get(f"{gateway.admin_url}/metrics") as response:
                lines = (await response.text()).splitlines()
            if f"event_readers {count}.0" in lines:
                return
            await asyncio.sleep(0.2)


async def _cores(services: Iterable[Service], seconds: float) -> float:
    """The cores that the services use."""
    before = [processor_seconds(service.process.pid) for service in services]
    started = time.monotonic()
    await asyncio.sleep(seconds)
    after = [processor_seconds(service.process.pid) for service in services]
    return (sum(after) - sum(before)) / (time.monotonic() - started)


async def _produce(producer: Producer, count: int) -> None:
    """Stores events at their times; those delayed by a failover follow immediately."""
    size, started = int(_RATE * _INTERVAL), time.monotonic()
    for first in range(0, count, size):
        await asyncio.sleep(started + first / _RATE - time.monotonic())
        while not await producer.store(range(first, min(first + size, count))):  # noqa: ASYNC110
            await asyncio.sleep(_INTERVAL)


async def _after(seconds: float, act: Callable[[], object]) -> None:
    await asyncio.sleep(seconds)
    await asyncio.to_thread(act)


async def _read_all(feed: Feed) -> list[str]:
    """The events in the order of the feed, as an undisturbed reader has them."""
    found: list[str] = []
    cursor, has_more = START, True
    headers = {"X-API-Key": feed.key}
    async with aiohttp.ClientSession(headers=headers, raise_for_status=True) as session:
        while has_more:
            async with session.get(f"{feed.url}?limit=200&after={cursor}") as response:
                page = orjson.loads(await response.read())
            found += [event["id"] for event in page["events"]]
            cursor, has_more = page["cursor"], page["has_more"]
    return found


@asynccontextmanager
async def _feed(**settings: str) -> AsyncIterator[Feed]:
    """A feed on three database members; the settings are the gateway's."""
    with ExitStack() as stack:
        own = await asyncio.to_thread(stack.enter_context, servers(members=3))
        found = await asyncio.to_thread(stack.enter_context, system(own))
        async with producing(found.mongo_url, found.amqp_url, "register") as producer:
            gateway = found.start("gateway", **settings)
            await asyncio.to_thread(gateway.wait_until_ready)
            yield Feed(found, own.mongo, producer, issue_key(found))
