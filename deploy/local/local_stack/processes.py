"""Child processes: they are awaited with a timeout, log to a file and end with this process."""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from local_stack import SetupError

#: Seconds between two checks of an awaited condition.
POLL = 0.05
#: Seconds for a process to end after SIGTERM; RabbitMQ itself takes 6.
STOP_TIMEOUT = 20.0

# Ends a child whose parent died before `setpriv` took effect; otherwise becomes the program.
_UNLESS_ORPHANED = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'
# For the kernel the parent has died when the thread that started the child ends, so a thread that
# lasts as long as this process starts every child.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="processes")


def wait_for(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Returns True if the condition held in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start: `environment` is added to this process's, output is appended to `log`."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class Process:
    """A program in a process group of its own, so that Ctrl-C does not reach it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._popen = _STARTER.submit(_started, program).result()

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status as in a shell (128 and the signal's number); None while it runs."""
        status = self._popen.poll()
        return status if status is None or status >= 0 else 128 - status

    def wait_until(self, ready: Callable[[], bool], *, seconds: float) -> None:
        """Waits until it is ready; raises SetupError with the end of its log if it never is."""
        if wait_for(lambda: self.exit_status is not None or ready(), seconds=seconds):
            if self.exit_status is None:
                return
            raise SetupError(self.end_report())
        raise SetupError(
            f"{self.name} was not ready within {seconds:.0f} s. Its log ends:\n{self.log_tail()}"
        )

    def end_report(self) -> str:
        """Returns a message with the exit status of the ended process and its last output."""
        return f"{self.name} ended with status {self.exit_status}. Its log ends:\n{self.log_tail()}"

    def log_tail(self, lines: int = 20) -> str:
        log = self.program.log
        tail = log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(f"  {line}" for line in [*tail, f"(all of it: {log})"])

    def terminate(self) -> None:
        """Sends SIGTERM, and does not wait."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)

    def stop(self, seconds: float = STOP_TIMEOUT) -> None:
        """Sends SIGTERM, and kills it if it does not end in time."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        self.kill()

    def kill(self) -> None:
        """Kills it with its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait(STOP_TIMEOUT)


class Server(ABC):
    """A server that can be stopped and started again with its data, on the same ports."""

    def __init__(self) -> None:
        self._running: list[Process] = []

    @property
    def processes(self) -> tuple[Process, ...]:
        """Its processes while they run."""
        return tuple(self._running)

    @property
    def running(self) -> bool:
        """True if it was started and not stopped since."""
        return bool(self._running)

    @abstractmethod
    def begin(self) -> None:
        """Starts the processes, and does not wait for them to be ready."""

    @abstractmethod
    def ready(self) -> None:
        """Waits until it answers."""

    def start(self) -> None:
        self.begin()
        self.ready()

    def stop(self) -> None:
        """Stops it in order, without a loss."""
        for process in reversed(self._running):
            process.stop()
        self._running = []

    def kill(self) -> None:
        """Kills it, like a power failure."""
        for process in reversed(self._running):
            process.kill()
        self._running = []


def complete(command: Sequence[str], environment: Mapping[str, str], *, seconds: float) -> str:
    """Runs a command to its end and returns its output; raises SetupError if it failed."""
    shown = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(
            _dying_with_us(command),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            process_group=0,
            check=False,
        )
    except subprocess.TimeoutExpired as slow:
        raise SetupError(f"“{shown}” did not end within {seconds:.0f} s.") from slow
    if done.returncode != 0:
        last = "\n".join(f"  {line}" for line in done.stderr.splitlines()[-20:])
        raise SetupError(f"“{shown}” ended with status {done.returncode}:\n{last}")
    return done.stdout


def _dying_with_us(command: Sequence[str]) -> list[str]:
    """Returns the command that the kernel ends with SIGTERM when this process ends."""
    # `setpriv` sets that in the child itself; Popen's preexec_fn may hang in a process with
    # threads.
    to_end = ["setpriv", "--pdeathsig", "TERM"]
    return [*to_end, "sh", "-c", _UNLESS_ORPHANED, "sh", str(os.getpid()), *command]


def _started(program: Program) -> subprocess.Popen[bytes]:
    program.log.parent.mkdir(parents=True, exist_ok=True)
    with program.log.open("ab") as log:
        return subprocess.Popen(
            _dying_with_us(program.command),
            env={**os.environ, **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
