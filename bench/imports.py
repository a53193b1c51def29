"""Loading a register: how fast, in how much memory."""

import resource
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Figure, at_least, at_most
from local_stack.system import System

#: Kilobytes in the unit of `ru_maxrss` on Linux.
_PER_MEGABYTE = 1024


def measure(system: System, file: Path, *, entities: int) -> list[Figure]:
    """The same file twice: on an empty register, and when nothing has changed."""
    empty, memory = _timed(system, file)
    unchanged, memory_again = _timed(system, file)
    return [
        at_least("import on an empty register", entities / empty, "entities/s", 10_000),
        at_least("import of unchanged entities", entities / unchanged, "entities/s", 25_000),
        at_most("import, peak memory", max(memory, memory_again), "MB", 500),
    ]


def _timed(system: System, file: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of one import."""
    probe = [sys.executable, "-m", "bench.imports", sys.executable, "-m", "lookup", "import"]
    started = time.monotonic()
    done = subprocess.run(
        [*probe, "no-enheter", str(file)],
        env=system.full_environment(),
        capture_output=True,
        text=True,
        timeout=3600,
        check=True,
    )
    return time.monotonic() - started, float(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    # A process of its own between, so that the peak is that of the import and of nothing else.
    subprocess.run(sys.argv[1:], check=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _PER_MEGABYTE)
