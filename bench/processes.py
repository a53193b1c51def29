"""Processor time and memory of processes, as the kernel accounts for them.

`python -m bench.processes COMMAND…` runs a command and prints its resource usage as a line of JSON.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Timeout of a command in seconds: the import of 3 million companies on a slow machine.
_TIMEOUT = 3600
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """The duration of a command, and the resources of all its processes."""

    seconds: float
    processor_seconds: float
    #: Peak of its largest process.
    megabytes: float


def run_measured(*command: str, environment: Mapping[str, str]) -> tuple[list[str], Usage]:
    """Returns the output lines of a Python module's command, and its resource usage."""
    # A process inherits the peak memory of its parent, so a small process starts it.
    python = (sys.executable, "-m")
    done = subprocess.run(
        [*python, "bench.processes", *python, *command],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_TIMEOUT,
        check=True,
    )
    *lines, usage = done.stdout.splitlines()
    return lines, Usage(**json.loads(usage))


def processor_seconds(pid: int) -> float:
    """Returns user and system time of a process and its descendants, also of ended ones."""
    return sum(map(_ticks, family(pid))) / _TICKS


class Used:
    """The processor time of processes and their descendants since this object was created."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._before = self._now()
        self._started = time.monotonic()

    def seconds(self) -> dict[str, float]:
        """Returns the seconds by the name of the process."""
        return {name: each - self._before[name] for name, each in self._now().items()}

    def cores(self) -> dict[str, float]:
        """Returns the average cores of each."""
        passed = time.monotonic() - self._started
        return {name: each / passed for name, each in self.seconds().items()}

    def _now(self) -> dict[str, float]:
        return {name: processor_seconds(pid) for name, pid in self._pids.items()}


def megabytes(pid: int) -> float:
    """Returns private memory of a process and its descendants, and their share of shared memory."""
    return sum(_field(f"/proc/{each}/smaps_rollup", "Pss") for each in family(pid))


def resident_megabytes() -> dict[str, float]:
    """Returns this process's private memory and mapped files, which can be reclaimed."""
    fields = {"private": "RssAnon", "mapped files": "RssFile"}
    return {label: _field("/proc/self/status", name) for label, name in fields.items()}


def family(pid: int) -> list[int]:
    """Returns a process and its descendants, which any of its threads may have started."""
    threads: list[Path] = []
    with suppress(FileNotFoundError):  # it has ended
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    children = [child for each in threads for child in _children(each)]
    return [pid, *(each for child in children for each in family(int(child)))]


def _children(thread: Path) -> list[str]:
    with suppress(FileNotFoundError):  # it has ended
        return (thread / "children").read_text().split()
    return []


def _ticks(pid: int) -> int:
    # After the name, in parentheses, the 12th to 15th fields are user and system time of the
    # process, and of its children that have ended.
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0


def _field(path: str, name: str) -> float:
    """Returns a field in kilobytes, as megabytes."""
    for line in Path(path).read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"{path} has no field {name}")


def _main() -> None:
    started = time.monotonic()
    subprocess.run(sys.argv[1:], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    usage = {
        "seconds": time.monotonic() - started,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "megabytes": used.ru_maxrss / 1024,
    }
    print(json.dumps(usage))


if __name__ == "__main__":
    _main()
