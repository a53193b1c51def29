"""The folder of built indexes; one of them is current.

A file names it, with its format, and is replaced atomically: after a crash either the old or the
new index is current, and each is complete.
"""

import fcntl
import shutil
from pathlib import Path
from typing import IO

from lookup.search.find.segments import replace_durably
from lookup.search.index.schema import FORMAT

_POINTER, _LOCK = "current", "lock"


def lock(root: Path) -> IO[str]:
    """Keeps other processes out until the returned file is closed; raises BlockingIOError."""
    root.mkdir(parents=True, exist_ok=True)
    held = (root / _LOCK).open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise
    return held


def current(root: Path) -> Path | None:
    """Returns the current index; None if there is none of this format."""
    try:
        written, name = (root / _POINTER).read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    folder = root / name
    return folder if written == str(FORMAT) and folder.is_dir() else None


def unused(root: Path) -> Path:
    """Returns a folder for a new index, numbered by creation."""
    taken = [int(folder.name) for folder in root.iterdir() if folder.name.isdecimal()]
    return root / str(max(taken, default=0) + 1)


def make_current(folder: Path) -> None:
    """Makes an index current durably, and removes all others."""
    root = folder.parent
    replace_durably(root / _POINTER, f"{FORMAT} {folder.name}\n".encode())
    for other in root.iterdir():
        if other.is_dir() and other != folder:
            shutil.rmtree(other, ignore_errors=True)
