"""`.run/env`: addresses and the key of a run, for shells; it exists only while all is ready."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local_stack.private_file import write_private

_NAME = "env"


def remove(run_dir: Path) -> None:
    """Removes the file that a killed run has left."""
    (run_dir / _NAME).unlink(missing_ok=True)


@contextmanager
def env_file(run_dir: Path, values: Mapping[str, str]) -> Iterator[None]:
    """The file in shell syntax, whole from its first moment to the end of the body."""
    path = run_dir / _NAME
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in values.items()]
    write_private(path, "".join(lines))
    try:
        yield
    finally:
        remove(run_dir)
