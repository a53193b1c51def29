"""How a rendering process lives. Imports nothing that takes long to start."""

import os
import signal
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def follow_parent() -> None:
    """Makes this process end when the gateway does, however that ends, and not before."""
    # Ctrl-C reaches the whole process group; the gateway decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A killed gateway cannot tell its workers to go, and their queue alone would never end.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(0)
