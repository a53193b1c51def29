"""All that is measured of following a register, each on a system of its own."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bench.feeds import latency, rates, reconciling
from bench.figures import Figure
from local_stack.certificates import certificates
from local_stack.system import System


@dataclass(frozen=True, slots=True)
class Size:
    #: Of a feed that are brought in one pass.
    entries: int
    #: Whose way to a receiver is timed.
    changes: int
    #: Of which the whole file has those that have not ended: a million.
    entities: int


FULL = Size(entries=20_000, changes=150, entities=1_050_000)
QUICK = Size(entries=300, changes=5, entities=2_000)


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
