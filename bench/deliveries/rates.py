"""Deliveries recorded per second, compared with the bare loop in the same run."""

import asyncio
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.deliveries.world import (
    HOSTS,
    WEBHOOKS,
    Listener,
    World,
    groups,
    size_of_an_event,
    vat_of,
    world,
)
from bench.figures import Figure, at_least, at_most
from bench.servers import Servers
from common.mongo import Database

#: Webhooks per event unless stated otherwise.
FAN = 10

_GOAL = 1_800
_GOAL_CPU_MS = 0.35
_GOAL_OF_BARE = 0.2


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float
    #: Milliseconds of processor time that a delivery costs the dispatchers.
    cpu_ms: float


async def measure(
    own: Servers, folder: Path, *, deliveries: int, seconds: float, rounds: int
) -> list[Figure]:
    """Ours and the bare loop in turns, so that variations of the machine affect both."""
    ours, bare = [], []
    for _ in range(rounds):
        async with world(own, folder) as around:
            bare.append(await _bare(around.listener, seconds))
            ours.append(await _recorded(around, deliveries=deliveries, fan=FAN))
    rate = statistics.median(one.per_second for one in ours)
    posts = statistics.median(bare)
    figures = [
        at_least("deliveries recorded, one dispatcher", rate, "/s", _GOAL),
        Figure("bare aiohttp posts", posts, "/s"),
        at_least("deliveries recorded, share of bare posts", rate / posts, "×", _GOAL_OF_BARE),
        at_most(
            "deliveries, processor time of the dispatcher for each",
            statistics.median(one.cpu_ms for one in ours),
            "ms",
            _GOAL_CPU_MS,
        ),
    ]
    for fan in (1, WEBHOOKS):
        async with world(own, folder) as around:
            other = await _recorded(around, deliveries=deliveries // 2, fan=fan)
        name = f"deliveries recorded, each event for {fan} of the webhooks"
        figures.append(Figure(name, other.per_second, "/s"))
    async with world(own, folder) as around:
        two = await _recorded(around, deliveries=deliveries, fan=FAN, dispatchers=2)
    figures.append(Figure("deliveries recorded, two dispatchers", two.per_second, "/s"))
    figures.append(
        Figure("deliveries recorded, two dispatchers to one", two.per_second / rate, "×")
    )
    return figures


async def _recorded(around: World, *, deliveries: int, fan: int, dispatchers: int = 1) -> Rate:
    """All events wait in the broker before they are fanned out, posted and recorded."""
    await around.webhooks(groups(fan))
    events = [
        around.event(vat_of(number % (WEBHOOKS // fan))) for number in range(deliveries // fan)
    ]
    await around.publish_all(events)
    names = [f"dispatcher-{number}" for number in range(dispatchers)]
    services = await asyncio.gather(*map(around.dispatcher, names))
    count = len(events) * fan
    await around.recorded(count)
    used = sum(cpu_seconds(service.process.pid) for service in services)
    return Rate(count / await _span(around.db), used / count * 1000)


async def _span(db: Database) -> float:
    """Seconds from the first row's insert to the last one's record."""
    ends = {"first": {"$min": "$due_at"}, "last": {"$max": "$ended_at"}}
    grouped = await db["deliveries"].aggregate([{"$group": {"_id": None, **ends}}])
    [found] = await grouped.to_list(None)
    seconds: float = (found["last"] - found["first"]).total_seconds()
    return seconds


async def _bare(listener: Listener, seconds: float) -> float:
    """Posts per second of the bare loop, with one in flight per webhook."""
    urls = [listener.url(number, "/") for number in range(len(HOSTS))]
    asked = (str(listener.ca_file), str(seconds), str(WEBHOOKS), str(size_of_an_event()))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.peers.bare_posts", *asked, *urls),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with asyncio.timeout(seconds + 60):
        out, _ = await process.communicate()
    return float(out)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
