"""Lifetime and garbage of a worker process. Imports nothing that is slow to start."""

import gc
import os
import signal
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Final

#: Net allocations after which the garbage collector examines the youngest generation.
_ALLOCATIONS: Final = 25_000


def follow_parent() -> None:
    """Ends this process when its parent ends, even when it was killed, and not before."""
    # Ctrl-C reaches the whole process group; the parent decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    spare_the_collector()


def _end_with_parent() -> None:
    # A killed parent cannot stop its workers, and their queue alone would never end.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)


def spare_the_collector() -> None:
    """Keeps the garbage collector from traversing the whole process repeatedly.

    What a process has at its start lives as long as it does, and nearly all objects of a request or
    a document are freed by reference counting: with Python's default thresholds the search for
    cycles took a seventh of the time of a lookup, and a fifth of that of a large document.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
