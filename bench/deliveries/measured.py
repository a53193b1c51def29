"""All benchmarks of deliveries, on separate servers."""

import asyncio
import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path

import structlog

from bench.deliveries import latency, matching, memory, rates
from bench.figures import Figure
from bench.servers import Servers, servers


@dataclass(frozen=True, slots=True)
class Size:
    deliveries: int
    rounds: int
    #: Seconds of load for each figure of latency.
    seconds: float
    #: Rows that are due while the dispatcher's memory is looked at.
    rows: int
    webhooks: tuple[int, ...]
    matched: int


FULL = Size(
    deliveries=30_000,
    rounds=3,
    seconds=15,
    rows=1_000_000,
    webhooks=(10, 100, 1_000, 10_000, 100_000),
    matched=2_000,
)
QUICK = Size(deliveries=1_000, rounds=1, seconds=1, rows=5_000, webhooks=(10, 1_000), matched=100)


def measure(size: Size) -> list[Figure]:
    # Only failures are logged: the measurements have figures of their own.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with (
        tempfile.TemporaryDirectory(prefix="bench-deliveries-") as folder,
        servers(Path(folder)) as own,
    ):
        return asyncio.run(_measured(own, Path(folder), size))


async def _measured(own: Servers, folder: Path, size: Size) -> list[Figure]:
    found = await rates.measure(
        own, folder, deliveries=size.deliveries, seconds=size.seconds / 3, rounds=size.rounds
    )
    half = found[0].value / 2
    return [
        *found,
        *await latency.measure(own, folder, half=half, seconds=size.seconds),
        *await latency.beside_a_hanging_one(own, folder, seconds=size.seconds, rounds=size.rounds),
        *await latency.delays(own, folder),
        *await matching.measure(own, webhooks=size.webhooks, events=size.matched),
        *await memory.measure(own, folder, rows=size.rows, seconds=size.seconds),
    ]
