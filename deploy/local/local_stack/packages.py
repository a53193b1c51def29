"""Debian packages that servers and tests need, installed when they are missing."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local_stack import SetupError

#: A slow mirror, and Erlang is 60 MB.
INSTALL_TIMEOUT = 900.0

_POLICY = Path("/usr/sbin/policy-rc.d")


def install(packages: Sequence[str], *, why: str) -> None:
    """Installs them with apt-get; SetupError says what to type when we may not or cannot."""
    by_hand = f"{why} Install it with: sudo apt-get install {' '.join(packages)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(by_hand)
    print(f"{why} Installing {' '.join(packages)} …", flush=True)
    with _no_service_started():
        for command in (["update", "-qq"], ["install", "-y", "-qq", *packages]):
            done = subprocess.run(
                ["apt-get", "-o", "DPkg::Lock::Timeout=120", *command],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=INSTALL_TIMEOUT,
                check=False,
            )
            if done.returncode != 0:
                raise SetupError(f"{by_hand} (apt-get failed here:\n{done.stdout[-2000:]})")


def chromium() -> str:
    """The path of Chromium, in which tests open pages; Debian's is installed if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    present = next(filter(None, map(shutil.which, names)), None)
    if present is None:
        install(["chromium"], why="Chromium is missing.")
    return present or "/usr/bin/chromium"


@contextmanager
def _no_service_started() -> Iterator[None]:
    """Debian starts a server when it is installed; ours run under our own eyes instead."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
