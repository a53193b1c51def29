"""Whole deployments under loads: `python -m bench.capacity.deployments` prints what each used.

Points and runs are measured in the same way, on servers of their own.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.deliveries.environment import Environment, environment
from bench.events import key_of
from bench.figures import machine
from bench.load import Load as Requests
from bench.load import Pace, paced
from bench.processes import Used, megabytes
from bench.publishing import outbox_rows
from bench.setup import entities_file, import_entities, number_paths, pids_of, servers
from common.contracts.webhooks import WebhookFilter
from common.mongo import Database, connected, database
from common.runtime.tasks import beside
from lookup.store.documents import OUTBOX

#: Seconds of load that do not count, and those that do.
_WARM_UP, _MEASURED = 3, 12
#: Seconds between two inserts of events, as a sync stores them.
_EVERY = 0.05
#: The fan-outs that events may have, and the companies of each.
_FAN_OUTS, _COMPANIES = (1, 4, 10), 50
_TIMEOUT = timedelta(seconds=60)
_NO_LOOKUPS = Pace(0)
#: Each part's processes in the order of the calculator's table.
PARTS = ("gateway", "lookup", "dispatcher", "RabbitMQ", "MongoDB")


@dataclass(frozen=True, slots=True)
class Deployment:
    """Its processes, and its register."""

    companies: int
    gateways: int = 1
    lookups: int = 1
    dispatchers: int = 1


@dataclass(frozen=True, slots=True)
class Applied:
    """A load; rates are per second."""

    pace: Pace = _NO_LOOKUPS
    events: int = 0
    fan_out: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """What happened a second, and what each part used."""

    lookups: float
    events: float
    deliveries: float
    cores: Mapping[str, float]
    #: Megabytes of each process of a service.
    memory: Mapping[str, float]
    #: Bytes of the databases' files, and the events and deliveries in them.
    disk: int
    stored_events: int
    stored_deliveries: int


#: Loads that the calculator's points are made of, with one and with two of each process. Requests
#: pause, as clients that do not know of each other do not send in step.
POINTS: Mapping[str, tuple[Deployment, Sequence[Applied]]] = {
    "points": (
        Deployment(companies=20_000),
        (
            Applied(),
            Applied(Pace(1, pause=20)),
            Applied(Pace(4, pause=20)),
            Applied(Pace(16, pause=20)),
            Applied(Pace(48, pause=20)),
            Applied(Pace(128, pause=20)),
            Applied(events=20, fan_out=1),
            Applied(events=20, fan_out=10),
            Applied(events=100, fan_out=1),
            Applied(events=100, fan_out=10),
            Applied(events=600, fan_out=1),
        ),
    ),
    "points_of_two": (
        Deployment(companies=20_000, gateways=2, lookups=2, dispatchers=2),
        (
            Applied(),
            Applied(events=20, fan_out=1),
            Applied(events=100, fan_out=10),
        ),
    ),
}
#: Deployments that the calculator is compared with, and that it is not made from.
RUNS: Mapping[str, tuple[Deployment, Sequence[Applied]]] = {
    "lookups": (Deployment(companies=60_000, gateways=2), (Applied(Pace(60, 30)),)),
    "events": (
        Deployment(companies=20_000, lookups=2, dispatchers=2),
        (Applied(events=250, fan_out=1),),
    ),
    "mixed": (
        Deployment(companies=50_000, gateways=2, lookups=2),
        (Applied(Pace(24, 40), events=30, fan_out=10),),
    ),
}


@dataclass(frozen=True, slots=True)
class Running:
    """A deployment that serves."""

    env: Environment
    register: Database
    key: str
    paths: Sequence[str]
    deployment: Deployment

    async def under(self, applied: Applied) -> Measured:
        """Applies a load for a while, and measures it after its start."""
        async with beside(self._store(applied)):
            await asyncio.to_thread(self._request, applied, _WARM_UP)
            used, before, at = Used(pids_of(self.env.system)), await self._counts(), time.time()
            requests = await asyncio.to_thread(self._request, applied, _MEASURED)
            cores, counts, passed = used.cores(), await self._counts(), time.time() - at
        events, deliveries = [(now - one) / passed for one, now in zip(before, counts, strict=True)]
        return Measured(
            requests.rate,
            events,
            deliveries,
            _by_part(cores),
            self._memory(),
            await self._disk(),
            *counts,
        )

    def _request(self, applied: Applied, seconds: int) -> Requests:
        if not applied.pace.connections:
            time.sleep(seconds)
            return Requests(0, 0, 0, 0, 0)
        url = self.env.system.base_url
        return paced(url, self.paths, key=self.key, pace=applied.pace, seconds=seconds)

    async def _store(self, applied: Applied) -> None:
        """Stores events at the rate as a sync does, until cancelled."""
        first = _COMPANIES * _FAN_OUTS.index(applied.fan_out)
        started, stored = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - started) * applied.events)
            if rows := self._rows(range(stored, due), first):
                await self.register[OUTBOX].insert_many(rows, ordered=False)
            stored = due
            await asyncio.sleep(_EVERY)

    def _rows(self, numbers: range, first: int) -> list[dict[str, Any]]:
        revision = time.time_ns() // 1000
        return [
            row
            for number in numbers
            for row in outbox_rows([first + number % _COMPANIES], revision=revision + number)
        ]

    def _memory(self) -> dict[str, float]:
        services = self.env.system.services.items()
        used = {name: megabytes(service.process.pid) for name, service in services}
        return {part: fmean(_of(part, used)) for part in PARTS if _of(part, used)}

    async def _disk(self) -> int:
        """Bytes of the files of registers and webhooks, after what was written has reached them."""
        await self.register.client.admin.command("fsync")
        databases = (self.register, self.env.db)
        sizes = [await one.command("dbStats") for one in databases]
        return sum(int(each["storageSize"] + each["indexSize"]) for each in sizes)

    async def _counts(self) -> tuple[int, int]:
        published = await self.register[OUTBOX].count_documents({"published_at": {"$ne": None}})
        return published, await self.env.attempts()


def _by_part(cores: Mapping[str, float]) -> dict[str, float]:
    """Processes of one service together."""
    return {part: sum(_of(part, cores)) for part in PARTS}


def _of(part: str, values: Mapping[str, float]) -> list[float]:
    """Returns the values of a part's processes."""
    return [each for name, each in values.items() if name.startswith(part)]


@asynccontextmanager
async def running(deployment: Deployment) -> AsyncIterator[Running]:
    """Servers, a register, webhooks, and every process."""
    with servers() as own:
        async with environment(own) as env:
            system = env.system
            for module in ("gateway", "lookup", "webhook_registry"):
                await asyncio.to_thread(system.demand, module, "indexes")
            file = await asyncio.to_thread(entities_file, system, deployment.companies)
            await asyncio.to_thread(import_entities, system, file)
            await env.subscribe(_filters())
            key = await asyncio.to_thread(system.issue_key, "bench")
            await asyncio.to_thread(_start, env, deployment)
            async with connected(system.mongo_url, name="bench", operation_timeout=_TIMEOUT) as one:
                paths = number_paths(deployment.companies)
                yield Running(env, database(one, "register"), key, paths, deployment)


def _filters() -> list[WebhookFilter]:
    """Filters of webhooks that follow a company each, as many as its fan-out."""
    return [
        WebhookFilter(companies=(key_of(_COMPANIES * group + company),))
        for group, fan_out in enumerate(_FAN_OUTS)
        for company in range(_COMPANIES)
        for _ in range(fan_out)
    ]


def _start(env: Environment, deployment: Deployment) -> None:
    settings = {"key_rate": "100000000/second", "http_port_shared": "true"}
    started = [env.system.start("webhook_registry")]
    for module, count in (
        ("lookup", deployment.lookups),
        ("dispatcher", deployment.dispatchers),
        ("gateway", deployment.gateways),
    ):
        for number in range(count):
            name = f"{module}-{number}"
            index = {"index_dir": str(env.system.folder / name)}
            started.append(env.system.start(module, name=name, **settings, **index))
    for service in started:
        service.wait_until_ready()


async def _measure(name: str, deployment: Deployment, loads: Sequence[Applied]) -> None:
    async with running(deployment) as deployed:
        for applied in loads:
            found = await deployed.under(applied)
            print(_toml(name, deployment, applied, found), flush=True)


def _toml(name: str, deployment: Deployment, applied: Applied, found: Measured) -> str:
    """Returns a measured load as a table."""
    cores = ", ".join(f"{part} = {each:.4f}" for part, each in found.cores.items())
    memory = ", ".join(f"{part} = {each:.0f}" for part, each in found.memory.items())
    return f"""
[[{name}]]
companies = {deployment.companies}
gateways = {deployment.gateways}
lookup_processes = {deployment.lookups}
dispatchers = {deployment.dispatchers}
connections = {applied.pace.connections}
pause = {applied.pace.pause}
lookups = {found.lookups:.1f}
events = {found.events:.1f}
fan_out = {applied.fan_out}
deliveries = {found.deliveries:.1f}
cores = {{ {cores} }}
megabytes = {{ {memory} }}
disk = {found.disk}
stored_events = {found.stored_events}
stored_deliveries = {found.stored_deliveries}"""


def main() -> None:
    """Measures the named deployments."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity.deployments")
    known = {**POINTS, **RUNS}
    parser.add_argument("names", nargs="+", choices=known)
    names = parser.parse_args().names
    print(f"# {datetime.now(UTC).date()}, {machine()}, {Path('/proc/loadavg').read_text().strip()}")
    for name in names:
        deployment, loads = known[name]
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        asyncio.run(_measure(name, deployment, loads))


if __name__ == "__main__":
    main()
