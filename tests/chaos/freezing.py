"""Processes that are suspended for a while: their connections stay, and nothing answers."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from local_stack.processes import Process


@contextmanager
def frozen(processes: Sequence[Process]) -> Iterator[None]:
    """Suspends the processes, with those that they started, during the body."""
    for process in processes:
        os.killpg(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGCONT)
