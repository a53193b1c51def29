"""Files of a run in its folder: keys, addresses, and completed steps."""

import base64
import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

_KEY_BYTES = 32
_ENV = "env"


def write_private(path: Path, content: str) -> None:
    """Writes a file atomically, readable for its owner only."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(content)
    unfinished.replace(path)


def sealing_key(run_dir: Path) -> str:
    """Returns `local:<base64 of 32 bytes>`; kept, since other keys cannot open sealed secrets."""
    return _kept_key(run_dir / "sealing-key", prefix="local:")


def session_key(run_dir: Path) -> str:
    """Returns base64 of 32 bytes; kept, so that people stay signed in to the portal."""
    return _kept_key(run_dir / "session-key")


def _kept_key(path: Path, *, prefix: str = "") -> str:
    with suppress(FileNotFoundError):
        return path.read_text()
    key = prefix + base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
    write_private(path, key)
    return key


@contextmanager
def env_file(run_dir: Path, values: Mapping[str, str]) -> Iterator[None]:
    """Writes `.run/env`, addresses and the key of a run in shell syntax, during the body.

    It is written atomically, and exists only while everything is ready.
    """
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in values.items()]
    write_private(run_dir / _ENV, "".join(lines))
    try:
        yield
    finally:
        remove_env_file(run_dir)


def remove_env_file(run_dir: Path) -> None:
    """Removes the file, which a killed run may have left."""
    (run_dir / _ENV).unlink(missing_ok=True)


@dataclass(slots=True)
class State:
    """The completed steps for one database; for another database there are none."""

    database: str
    api_key: str | None = None
    #: The digest of the file that was last loaded whole, by source.
    loaded: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, database: str) -> "State":
        with suppress(FileNotFoundError, ValueError, TypeError):
            known = cls(**json.loads(path.read_text()))
            if known.database == database:
                return known
        return cls(database)

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self)))
