"""Lifetime of a worker process. Imports nothing that is slow to start."""

import os
import signal
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def follow_parent() -> None:
    """Ends this process when its parent ends, even when it was killed, and not before."""
    # Ctrl-C reaches the whole process group; the parent decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A killed parent cannot stop its workers, and their queue alone would never end.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)
