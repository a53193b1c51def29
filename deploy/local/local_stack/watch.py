"""The processes that have to run until the end."""

import time
from pathlib import Path

from local_stack.alone import note_children
from local_stack.errors import SetupError
from local_stack.processes import Process

#: Seconds between two looks.
_PAUSE = 0.5


class Watch:
    """Tracks every process of a run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[Process] = []

    def add(self, *processes: Process) -> None:
        """From now on its end is the end of the run, and a killed run's successor ends it."""
        self._processes += processes
        note_children(self._folder, (process.pid for process in self._processes))

    def follow(self) -> None:
        """Never returns: SetupError, with the tail of its log, when one of them has ended."""
        while True:
            for process in self._processes:
                if process.exit_status is not None:
                    raise SetupError(process.obituary())
            time.sleep(_PAUSE)
