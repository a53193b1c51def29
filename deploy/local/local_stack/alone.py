"""One run at a time in a folder, even after an earlier one was killed, and its processes."""

import fcntl
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from local_stack import SetupError
from local_stack.processes import STOP_TIMEOUT, Process, wait_for
from local_stack.run_files import remove_env_file

#: Seconds for a whole stack to stop.
_RUN_STOP_TIMEOUT = 60.0
#: Seconds between two checks of the processes.
_PAUSE = 0.5


class Watch:
    """The processes of a run, all of which have to run until its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[Process] = []

    def add(self, *processes: Process) -> None:
        """Adds processes, whose end ends the run; if it is killed, the next run ends them."""
        self._processes += processes
        note_children(self._folder, (process.pid for process in self._processes))

    def follow(self) -> None:
        """Waits until a process ends; raises SetupError with the tail of its log."""
        while True:
            for process in self._processes:
                if process.exit_status is not None:
                    raise SetupError(process.end_report())
            time.sleep(_PAUSE)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder during the body; raises SetupError when another run holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_file(folder) as file:
        if not _taken(file):
            raise SetupError(f"A run is already here (process {file.read()}): “make stop” ends it.")
        end_leftovers(folder)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def stop(folder: Path) -> bool:
    """Ends a folder's run and the processes of killed ones; returns True if there were any."""
    if not folder.exists():
        return False
    with _lock_file(folder) as file:
        if _taken(file):
            return end_leftovers(folder)
        holder = file.read()
        if not holder.isdigit():
            raise SetupError("The run has only just begun: try again in a second.")
        pid = int(holder)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if not wait_for(lambda: _taken(file), seconds=_RUN_STOP_TIMEOUT):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda: _taken(file), seconds=STOP_TIMEOUT)
        end_leftovers(folder)
    return True


def note_children(folder: Path, pids: Iterable[int]) -> None:
    """Writes the list of running processes, in case this one is killed."""
    lines = (f"{pid} {started}\n" for pid in pids if (started := start_of(pid)) is not None)
    _children(folder).write_text("".join(lines))


def end_leftovers(folder: Path) -> bool:
    """Ends processes that a killed run has left, and deletes their list; True if there were any."""
    noted = [line.split() for line in _read(_children(folder)).splitlines()]
    left = [int(pid) for pid, started in noted if start_of(int(pid)) == started]
    # They received a signal when their run was killed, and may need some more seconds.
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        if wait_for(lambda: not any(map(start_of, left)), seconds=STOP_TIMEOUT):
            break
    _children(folder).unlink(missing_ok=True)
    remove_env_file(folder)
    return bool(left)


def start_of(pid: int) -> str | None:
    """Returns the start of a running process in the kernel's ticks; None if there is none.

    Process ids are reused, but an id together with a start is unique.
    """
    # The name, in parentheses, may hold anything; the start is the 20th field after it.
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    # A zombie has ended: only its parent has not yet read its status.
    return None if not fields or fields[0] == "Z" else fields[19]


def _children(folder: Path) -> Path:
    return folder / "children"


def _lock_file(folder: Path) -> IO[str]:
    return (folder / "lock").open("a+")


def _taken(file: IO[str]) -> bool:
    """Locks the file, left at its beginning; returns False if another process holds the lock."""
    file.seek(0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
