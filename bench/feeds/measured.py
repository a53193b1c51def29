"""All benchmarks of following a register and of the event feed, each on its own system."""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.feeds import latency, rates, reading, reconciling
from bench.figures import Figure
from local_stack.certificates import certificates
from local_stack.system import System


@dataclass(frozen=True, slots=True)
class Size:
    #: Entries of a feed that one pass reads.
    entries: int
    #: Changes that are timed until a receiver has their events.
    changes: int
    #: Entities, of which a million have not ended and are in the whole file.
    entities: int
    #: Duration of the events for readers that are killed.
    seconds: int
    #: Clients that wait for events.
    clients: int


FULL = Size(entries=20_000, changes=150, entities=1_050_000, seconds=60, clients=1_000)
QUICK = Size(entries=300, changes=5, entities=2_000, seconds=5, clients=50)


def measure(
    size: Size,
    system_of: Callable[[], AbstractContextManager[System]],
    key_of: Callable[[System], str],
) -> list[Figure]:
    """`system_of` gives an empty system, `key_of` a key to it with every scope."""
    with system_of() as system:
        found = asyncio.run(rates.measure(system, entries=size.entries))
    with system_of() as system:
        trusted = certificates(system.folder / "receiver")
        system.environment = {
            **system.environment,
            "WEBHOOK_EXTRA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOK_EXTRA_CA_FILE": str(trusted.ca_file),
        }
        key = key_of(system)
        found += asyncio.run(latency.measure(system, trusted, key, changes=size.changes))
    with system_of() as system:
        found += asyncio.run(reconciling.measure(system, system.folder, entities=size.entities))
    return found


def measure_events(size: Size) -> list[Figure]:
    """The event feed, on separate servers."""
    with tempfile.TemporaryDirectory(prefix="bench-events-") as folder:
        found = asyncio.run(reading.under_faults(Path(folder), seconds=size.seconds))
        return found + asyncio.run(
            reading.waiting(Path(folder), clients=size.clients, seconds=size.seconds / 2)
        )
