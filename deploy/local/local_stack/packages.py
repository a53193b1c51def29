"""Debian packages that servers and tests need, installed if they are missing."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TextIO

from local_stack import SetupError

#: Seconds for a slow mirror; Erlang has 60 MB.
INSTALL_TIMEOUT = 900.0

#: Seconds between two lines of progress without a terminal.
_LINE_EVERY = 5.0
#: Steps as apt-get names them: `Get:3 <mirror> <suite> <arch> erlang …`, `Unpacking erlang …`.
_STEP = re.compile(
    r"(?:(?P<get>Get):\d+ \S+ \S+ \S+ |(?P<step>Unpacking|Setting up) )(?P<package>[\w.+-]+)"
)

_BROWSER = "chromium-headless-shell"

_POLICY = Path("/usr/sbin/policy-rc.d")
_LISTS = "/var/lib/apt/lists"


def install(packages: Sequence[str], *, why: str) -> None:
    """Installs packages with apt-get; raises SetupError with the command to type if it cannot."""
    by_hand = f"{why} Install it with: sudo apt-get install {' '.join(packages)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(by_hand)
    print(f"{why} Installing {' '.join(packages)} …", flush=True)
    with _one_at_a_time(), _no_service_started():
        for command in (["update", "-q"], ["install", "-y", "-q", *packages]):
            status, last = _apt_get(command)
            if status != 0:
                raise SetupError(f"{by_hand} (apt-get failed here:\n{last})")


def _apt_get(command: Sequence[str]) -> tuple[int, str]:
    """Runs apt-get and shows its progress; returns its exit status and its last lines."""
    with subprocess.Popen(
        ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3", *command],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        timer = Timer(INSTALL_TIMEOUT, running.kill)
        timer.start()
        try:
            last = show_progress(running.stdout or (), sys.stdout, time.monotonic)
        finally:
            timer.cancel()
    return running.returncode, last


def show_progress(lines: Iterable[str], screen: TextIO, clock: Callable[[], float]) -> str:
    """Shows the steps of apt-get and returns its last lines.

    On a terminal one line is rewritten; elsewhere there is a line every `_LINE_EVERY` seconds.
    """
    last: deque[str] = deque(maxlen=20)
    due = clock()
    for line in lines:
        last.append(line)
        step = _STEP.match(line)
        if step is None:
            continue
        text = f"  {'Downloading' if step['get'] else step['step']} {step['package']}"
        if screen.isatty():
            screen.write(f"\r\033[K{text}")
        elif clock() >= due:
            screen.write(f"{text}\n")
            due = clock() + _LINE_EVERY
        screen.flush()
    if screen.isatty():
        screen.write("\r\033[K")
    return "".join(last)


def chromium() -> str:
    """Returns the path of Chromium, for tests of pages; installs Debian's if there is none.

    That without windows takes half of the processor time of the whole browser.
    """
    names = (_BROWSER, "chromium", "chromium-browser", "google-chrome")
    present = next(filter(None, map(shutil.which, names)), None)
    if present is None:
        install([_BROWSER], why="Chromium is missing.")
    return present or f"/usr/bin/{_BROWSER}"


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Waits for another test process that installs: apt-get fails if its lists are locked.

    That process has `INSTALL_TIMEOUT` for each of its two commands.
    """
    folder = os.open(_LISTS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextmanager
def _no_service_started() -> Iterator[None]:
    """Prevents Debian from starting a server when it is installed."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
