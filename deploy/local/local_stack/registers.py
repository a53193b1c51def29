"""Sample registers: invented companies, loaded the way that real registers are."""

import hashlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from local_stack import SetupError
from local_stack.processes import complete
from local_stack.run_files import State

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


def load_sample(kind: str, file: Path, state: State, *, environment: Mapping[str, str]) -> bool:
    """Loads a file and notes that in the state, unless it is the last one loaded of its kind."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if state.loaded.get(kind) == digest:
        return False
    # Forced, because a trial may load fewer records of a real register afterwards.
    command = [sys.executable, "-m", "lookup", "import", "--force", kind, str(file)]
    complete(command, environment, seconds=_TIMEOUT)
    state.loaded[kind] = digest
    return True


def _file_of(kind: str, folder: Path) -> Path:
    found = sorted(folder.glob(f"{kind}.*"))
    if len(found) != 1:
        raise SetupError(f"register_samples made {len(found)} files of {kind} in {folder}, not 1.")
    return found[0]
