"""Imports of a register: rate and memory."""

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
    empty, unchanged, memory = _rates(system, file, entities)
    return [
        at_least("import on an empty register", empty, "entities/s", 10_000),
        at_least("import of unchanged entities", unchanged, "entities/s", 25_000),
        at_most("import, peak memory of a process", memory, "MB", 500),
    ]


def grown(system: System, file: Path, *, entities: int) -> list[Figure]:
    """The same at one of several sizes; small ones are mostly the process's own start."""
    empty, unchanged, memory = _rates(system, file, entities)
    size = f"{entities:,} companies"
    return [
        Figure(f"import on an empty register, {size}", empty, "entities/s"),
        Figure(f"import of unchanged entities, {size}", unchanged, "entities/s"),
        at_most(f"import, peak memory of a process, {size}", memory, "MB", 500),
    ]


def _rates(system: System, file: Path, entities: int) -> tuple[float, float, float]:
    """New and unchanged entities a second, and the peak of memory in megabytes."""
    empty, memory = _timed(system, file)
    unchanged, memory_again = _timed(system, file)
    return entities / empty, entities / unchanged, max(memory, memory_again)


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
    # In a separate process, so that the peak is that of the import alone.
    subprocess.run(sys.argv[1:], check=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _PER_MEGABYTE)
