"""How a process lives that works for another one. Imports nothing that takes long to start."""

import os
import signal
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def follow_parent() -> None:
    """Makes this process end when its parent does, however that ends, and not before."""
    # Ctrl-C reaches the whole process group; the parent decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A killed parent cannot tell its workers to go, and their queue alone would never end.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)
