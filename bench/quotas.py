"""Processor time of the quotas at the default rates, in a gateway and in MongoDB.

Several gateways share this process and one MongoDB. In each round every load runs with quotas that
all gateways share and with ones that each counts alone, whose processor time is subtracted.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from bench.figures import Figure, at_most
from bench.processes import family, processor_seconds
from bench.scale import Scale
from bench.setup import servers
from common.mongo import Client, connected, database
from common.mongo_indexes import create_indexes
from common.runtime.tasks import background
from gateway.access.keys import Rate
from gateway.access.quotas import QUOTA_INDEXES, RateLimiter, SharedQuotas

#: 3 % of what a lookup costs all processes together in long batches, in microseconds.
_GOAL: Final = 11
_GATEWAYS = (1, 3, 10)
#: Concurrent requests.
_CONNECTIONS = 256
ADDRESS, KEY = Rate(60, 60), Rate(1200, 60)


@dataclass(frozen=True, slots=True)
class _Load:
    name: str
    rate: Rate
    clients: int
    #: Of each client.
    requests: int
    #: True if a client stays with one gateway.
    stays: bool = False


def _loads(clients: int) -> list[_Load]:
    return [
        _Load("one request of each of {} addresses", ADDRESS, clients, 1),
        _Load("a tenth of the rate of {} addresses", ADDRESS, clients // 10, 6),
        _Load("a third of the rate of {} keys", KEY, clients // 100, 400),
        _Load("all of the rate of {} keys", KEY, clients // 500, 1200),
        _Load("200 times the rate of {} key", KEY, 1, 200 * 1200),
        _Load(
            "all of the rate of {} addresses, each at one gateway",
            ADDRESS,
            clients // 50,
            60,
            stays=True,
        ),
        _Load("all of the rate of {} addresses", ADDRESS, clients // 50, 60),
    ]


def measure(scale: Scale) -> Iterator[Figure]:
    with servers() as own:
        programs = {
            Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in family(os.getpid())
        }
        for gateways in _GATEWAYS:
            yield from asyncio.run(_measured(scale, own.mongo.url, programs["mongod"], gateways))


async def _measured(scale: Scale, url: str, mongod: int, gateways: int) -> list[Figure]:
    figures = []
    async with connected(url, name="bench") as client:
        for load in _loads(scale.quota_clients):
            shared, alone = [], []
            for _ in range(scale.rounds):
                shared.append(await _cost(load, gateways, mongod, client))
                alone.append(await _cost(load, gateways, mongod, None))
            costs = [one - other for one, other in zip(shared, alone, strict=True)]
            some = "1 gateway" if gateways == 1 else f"{gateways} gateways"
            name = f"{load.name.format(f'{load.clients:,}')}, {some}"
            figures.append(at_most(name, median(costs), "µs", _GOAL))
    return figures


async def _cost(load: _Load, gateways: int, mongod: int, client: Client | None) -> float:
    """Returns the microseconds of a request, of this process and of MongoDB."""
    clock = time.monotonic
    if client is None:
        limiters = [RateLimiter("bench", load.rate, clock=clock) for _ in range(gateways)]
        return await _processor_time(load, limiters, mongod)
    access = database(client, "access")
    await access["quota_windows"].delete_many({})
    await access["gateways"].delete_many({})
    quotas = [SharedQuotas(access, instance=f"g{n}") for n in range(gateways)]
    await create_indexes(access, QUOTA_INDEXES)
    for each in [*quotas, *quotas]:
        await each.count_gateways()
    limiters = [each.limiter("bench", load.rate) for each in quotas]
    async with background(*(each.run() for each in quotas)):
        return await _processor_time(load, limiters, mongod)


async def _processor_time(load: _Load, limiters: Sequence[RateLimiter], mongod: int) -> float:
    waiting = iter(range(load.clients))
    before = time.process_time() + processor_seconds(mongod)

    async def connection() -> None:
        for client in waiting:
            random = Random(client)
            own = random.choice(limiters)
            for n in range(load.requests):
                (own if load.stays else random.choice(limiters)).take(str(client))
                if n % 100 == 0:
                    await asyncio.sleep(0)

    await asyncio.gather(*(connection() for _ in range(_CONNECTIONS)))
    passed = time.process_time() + processor_seconds(mongod) - before
    return passed * 1e6 / (load.clients * load.requests)
