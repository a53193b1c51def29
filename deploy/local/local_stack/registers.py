"""Sample registers: invented companies, loaded like real registers."""

import hashlib
import shutil
import sys
from pathlib import Path

from local_stack.processes import complete
from local_stack.run_files import State
from local_stack.system import System

#: Seconds for making the samples, and for loading one file.
_TIMEOUT = 900.0


def make_samples(folder: Path, *, companies: int) -> dict[str, Path]:
    """Returns files of invented companies by source, the same for the same number of companies."""
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--out", str(folder), "--companies", str(companies)]
    made = complete([sys.executable, "-m", "register_samples", *options], {}, seconds=_TIMEOUT)
    # A line for each, companies before their other records.
    named = (line.split(maxsplit=1) for line in made.splitlines())
    return {kind: Path(path) for kind, path in named}


def import_options(kind: str, file: Path) -> tuple[str, ...]:
    """Returns what an import of a file of the samples needs beside it."""
    return ("--documents", str(file.parent / "documents")) if kind == "dk-regnskab" else ()


def load_sample(kind: str, file: Path, state: State, system: System) -> bool:
    """Loads a file and notes that in the state, unless it is the last loaded one of its source."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if state.loaded.get(kind) == digest:
        return False
    # Forced, because a trial may load fewer records of a real register afterwards.
    options = ("--force", *import_options(kind, file))
    system.demand("ingest", "import", *options, kind, str(file), seconds=_TIMEOUT)
    state.loaded[kind] = digest
    return True
