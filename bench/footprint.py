"""Footprint of the services: time to start, memory, and processor time when idle."""

import time
from collections.abc import Iterator

from bench.figures import Figure, at_most
from bench.processes import Used, megabytes
from bench.scale import Scale
from bench.setup import empty_system

_SERVICES = ("lookup", "ingest", "webhook_registry", "dispatcher", "gateway")
#: Seconds after its start in which a process still grows.
_SETTLED = 10


def measure(scale: Scale) -> Iterator[Figure]:
    """Yields the start and the idle memory of each service on an empty register."""
    with empty_system() as system:
        for module in _SERVICES:
            started = time.monotonic()
            system.start(module).wait_until_ready()
            name = f"{module.replace('_', '-')} ready after its start"
            yield at_most(name, time.monotonic() - started, "s", 2)
        time.sleep(_SETTLED)
        pids = {name: service.process.pid for name, service in system.services.items()}
        used = Used(pids)
        time.sleep(scale.idle_seconds)
        share = sum(used.cores().values()) * 100
        yield at_most("all services idle, processor time", share, "% of a core", 2)
        memory = sum(map(megabytes, pids.values()))
        yield at_most("all services idle, memory", memory, "MB", 400)
