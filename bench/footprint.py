"""Footprint of the services: time to start, memory, and processor time when idle."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.figures import Figure, at_most
from bench.load import load
from local_stack.system import Service, System

MODULES = ("lookup", "webhook_registry", "dispatcher", "gateway")

#: Seconds after its start in which a process still grows into its work.
_SETTLED = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")
_MEGABYTE_IN_KILOBYTES = 1024


def started(system: System) -> list[Figure]:
    """Starts every service, one after the other, on an empty register."""
    figures = []
    for module in MODULES:
        began = time.monotonic()
        system.start(module).wait_until_ready()
        seconds = time.monotonic() - began
        figures.append(at_most(f"{_name(module)} ready after its start", seconds, "s", 2))
    return figures


def idle(system: System, *, seconds: int) -> list[Figure]:
    """All services of the system, idle."""
    time.sleep(_SETTLED)
    services = list(system.services.values())
    before = sum(map(_processor_seconds, services))
    time.sleep(seconds)
    share = (sum(map(_processor_seconds, services)) - before) / seconds
    memory = sum(map(_memory, services))
    return [
        at_most("all services idle, processor time", share * 100, "% of a core", 2),
        at_most("all services idle, memory", memory, "MB", 400),
    ]


def memory_under_load(
    system: System, key: str, numbers: Sequence[str], *, seconds: int
) -> list[Figure]:
    """Growth of gateway and lookup from the first sixth of a load to its end."""
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]
    run = partial(load, system.base_url, paths, key=key, connections=32)
    with ThreadPoolExecutor(max_workers=1) as pool:
        loaded = pool.submit(run, seconds=seconds)
        time.sleep(seconds / 6)
        early = {name: _memory(service) for name, service in system.services.items()}
        loaded.result()
    figures = []
    for name in ("gateway", "lookup"):
        late = _memory(system.services[name])
        label = f"{name} after {seconds} s of load"
        figures.append(Figure(f"{label}, memory", late, "MB"))
        growth = (late / early[name] - 1) * 100
        figures.append(at_most(f"{label}, growth since its first sixth", growth, "%", 5))
    return figures


def processor_times(system: System) -> dict[str, float]:
    """Seconds of processor time so far of each service and of both servers."""
    commands = {"RabbitMQ": "beam.smp", "MongoDB": "mongod"}
    times = {name: _processor_seconds(service) for name, service in system.services.items()}
    ours = _family(os.getpid())
    for name, command in commands.items():
        [pid] = [pid for pid in ours if Path(f"/proc/{pid}/comm").read_text().strip() == command]
        times[name] = _ticks(pid) / _TICKS
    return times


def _name(module: str) -> str:
    return module.replace("_", "-")


def _processor_seconds(service: Service) -> float:
    """User and system time of the service's process and of its children."""
    return sum(_ticks(pid) for pid in _family(service.process.pid)) / _TICKS


def _ticks(pid: int) -> int:
    # After the name, in parentheses, the 12th and 13th field are user and system time.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _memory(service: Service) -> float:
    """Megabytes of private memory, and the service's share of shared memory."""
    return sum(_proportional(pid) for pid in _family(service.process.pid))


def _proportional(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / _MEGABYTE_IN_KILOBYTES
    raise LookupError(f"the kernel tells no memory of process {pid}")


def _family(pid: int) -> list[int]:
    """A process and its descendants, which any of its threads may have started."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    children = [child for one in threads for child in (one / "children").read_text().split()]
    return [pid, *(one for child in children for one in _family(int(child)))]
