"""Sample registers: invented companies, loaded the way that real registers are."""

import hashlib
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from local_stack.errors import SetupError
from local_stack.processes import complete
from local_stack.state import State

#: The kinds of `python -m lookup import`, companies before what belongs to them.
KINDS = (
    "no-enheter",
    "no-underenheter",
    "no-roller",
    "dk-virksomhed",
    "dk-produktionsenhed",
    "peppol",
)

#: Seconds for making the samples, and for loading one file.
_TIMEOUT = 900.0


def make_samples(folder: Path, *, companies: int) -> dict[str, Path]:
    """Files of invented companies by kind: the same for the same number of companies."""
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--out", str(folder), "--companies", str(companies)]
    complete([sys.executable, "-m", "register_samples", *options], {}, seconds=_TIMEOUT)
    return {kind: _file_of(kind, folder) for kind in KINDS}


def load_samples(
    files: Mapping[str, Path],
    state: State,
    *,
    environment: Mapping[str, str],
    keep: Callable[[State], None],
) -> State:
    """Loads each file that is not the last one loaded of its kind; calls `keep` for each."""
    for kind, file in files.items():
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if state.loaded.get(kind) != digest:
            # Forced, because a trial may load fewer records of a real register afterwards.
            command = [sys.executable, "-m", "lookup", "import", "--force", kind, str(file)]
            complete(command, environment, seconds=_TIMEOUT)
            state = state.with_loaded(kind, digest)
            keep(state)
    return state


def _file_of(kind: str, folder: Path) -> Path:
    found = sorted(folder.glob(f"{kind}.*"))
    if len(found) != 1:
        raise SetupError(f"register_samples made {len(found)} files of {kind} in {folder}, not 1.")
    return found[0]
