"""Reading the event feed: under load and faults, and by very many clients that wait."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
import orjson

from bench.deliveries.rates import cpu_seconds
from bench.feeds.readers import START, Faults, Producer, Reader, by_pages, by_stream, producing
from bench.figures import Figure, at_most
from local_stack import rabbitmq
from local_stack.replica_set import ReplicaSet
from local_stack.servers import own_replica_set
from local_stack.system import Service, System

_RATE = 500
#: Seconds between two writes of events.
_EVERY = 0.1
#: Parts of the time after which the publisher is killed, and the primary steps down.
_KILL, _STEP_DOWN = 0.25, 0.6
#: Seconds for the readers to come to the end, which includes a lease that must expire.
_REST = 600
_GOAL_CORE = 5
#: Seconds that a client's request waits: the longest.
_WAIT = 30


async def under_faults(folder: Path, *, seconds: int) -> list[Figure]:
    """Four readers that are killed at random while events come."""
    async with _feed(folder) as (system, members, producer, key):
        first, _ = [await _lookup(system, name) for name in ("first", "second")]
        url = f"{system.base_url}/api/events"
        readers = [
            Reader(url, key, Random(number), read)
            for number, read in enumerate((by_pages, by_stream) * 2)
        ]
        count = _RATE * seconds
        started = time.monotonic()
        async with asyncio.timeout(seconds + _REST), asyncio.TaskGroup() as group:
            for reader in readers:
                group.create_task(reader.read_until(count))
            group.create_task(_later(_KILL * seconds, first.process.kill))
            group.create_task(_later(_STEP_DOWN * seconds, members.step_down))
            await _produce(producer, count)
            produced = time.monotonic() - started
        order = await _everything(url, key)
    found = [Faults.of(reader, producer.stored, order) for reader in readers]
    name = f"event feed, {len(readers)} readers for {seconds} s"
    return [
        Figure(f"{name}, events stored", count / produced, "/s"),
        Figure(f"{name}, readers killed", sum(reader.killed for reader in readers), "times"),
        Figure(f"{name}, events read", sum(len(reader.events) for reader in readers), ""),
        at_most(f"{name}, lost", sum(each.lost for each in found), "", 0),
        at_most(f"{name}, repeated", sum(each.repeated for each in found), "", 0),
        at_most(f"{name}, out of order", sum(each.out_of_order for each in found), "", 0),
    ]


async def waiting(folder: Path, *, clients: int, seconds: float) -> list[Figure]:
    """Processor time of gateway and lookup service while clients wait and nothing happens."""
    figures = []
    async with _feed(folder, max_event_readers=str(clients)) as (system, _, _, key):
        services = [system.services["gateway"], await _lookup(system, "lookup")]
        idle = await _used(services, seconds)
        for label, client in (("requests", _request), ("streams", _stream)):
            async with aiohttp.ClientSession(
                headers={"X-API-Key": key},
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
            ) as session:
                url = f"{system.base_url}/api/events"
                held = [asyncio.create_task(client(session, url)) for _ in range(clients)]
                await _readers(services[0], clients)
                used = await _used(services, seconds)
                for task in held:
                    task.cancel()
                await asyncio.gather(*held, return_exceptions=True)
            # Until the service has noticed it, they count as readers, of which a key has a maximum.
            await _readers(services[0], 0)
            name = f"{clients:,} waiting {label}, processor time above none"
            figures.append(at_most(name, (used - idle) * 100, "% of a core", _GOAL_CORE))
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


async def _readers(gateway: Service, count: int) -> None:
    """Returns when so many wait."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            async with session.get(f"{gateway.admin_url}/metrics") as response:
                lines = (await response.text()).splitlines()
            if f"event_readers {count}.0" in lines:
                return
            await asyncio.sleep(0.2)


async def _used(services: list[Service], seconds: float) -> float:
    """Cores that the services use."""
    before = [cpu_seconds(service.process.pid) for service in services]
    started = time.monotonic()
    await asyncio.sleep(seconds)
    after = [cpu_seconds(service.process.pid) for service in services]
    return (sum(after) - sum(before)) / (time.monotonic() - started)


async def _produce(producer: Producer, count: int) -> None:
    """Stores events at their times; those delayed by a failover follow immediately."""
    size, started = int(_RATE * _EVERY), time.monotonic()
    for first in range(0, count, size):
        await asyncio.sleep(started + first / _RATE - time.monotonic())
        while not await producer.store(range(first, min(first + size, count))):  # noqa: ASYNC110
            await asyncio.sleep(_EVERY)


async def _later(seconds: float, act: Callable[[], object]) -> None:
    await asyncio.sleep(seconds)
    await asyncio.to_thread(act)


async def _everything(url: str, key: str) -> list[str]:
    """The events in the order of the feed, as a reader has them that is not disturbed."""
    found: list[str] = []
    cursor, more = START, True
    async with aiohttp.ClientSession(headers={"X-API-Key": key}, raise_for_status=True) as session:
        while more:
            async with session.get(f"{url}?limit=200&after={cursor}") as response:
                page = orjson.loads(await response.read())
            found += [event["id"] for event in page["events"]]
            cursor, more = page["cursor"], page["has_more"]
    return found


async def _lookup(system: System, name: str) -> Service:
    service = system.start("lookup", name=name, index_dir=str(system.folder / f"index-{name}"))
    await asyncio.to_thread(service.wait_until_ready)
    return service


@asynccontextmanager
async def _feed(
    folder: Path, **settings: str
) -> AsyncIterator[tuple[System, ReplicaSet, Producer, str]]:
    """A gateway on a separate broker and three database members, and a key for events."""
    rabbitmq.ensure_installed()
    mark = uuid.uuid4().hex[:8]
    own = folder / mark
    with ExitStack() as stack:
        broker = rabbitmq.RabbitMQ(own / "rabbitmq", rabbitmq.RabbitPorts.free())
        stack.callback(broker.kill)
        await asyncio.to_thread(broker.start)
        members = own_replica_set(own / "mongodb", members=3, election_timeout=1)
        stack.callback(members.kill)
        await asyncio.to_thread(members.start)
        register = f"register-{mark}"
        names = {"REGISTER_DB": register, "ACCESS_DB": f"access-{mark}"}
        names |= {"WEBHOOKS_DB": f"webhooks-{mark}", "KEY_RATE": "100000000/second"}
        system = System(own, f"{broker.amqp_url}/", members.url, names)
        stack.callback(system.close)
        async with producing(members.url, f"{broker.amqp_url}/", register) as producer:
            issue = ("keys", "issue", "--owner", "bench", "--name", "bench", "--scope", "events")
            _, key, _ = await asyncio.to_thread(system.run, "gateway", *issue)
            gateway = system.start("gateway", **settings)
            await asyncio.to_thread(gateway.wait_until_ready)
            yield system, members, producer, key.strip()
