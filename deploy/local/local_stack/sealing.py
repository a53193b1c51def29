"""Encryption keys of a run on this machine: of webhook secrets, and of the portal's sessions."""

import base64
import secrets
from contextlib import suppress
from pathlib import Path

from local_stack.private_file import write_private

_BYTES = 32


def sealing_key(run_dir: Path) -> str:
    """`local:<base64 of 32 bytes>`; made once, since no other key opens secrets sealed with it."""
    return _kept(run_dir / "sealing-key", prefix="local:")


def session_key(run_dir: Path) -> str:
    """Base64 of 32 bytes; made once, so that people stay signed in from run to run."""
    return _kept(run_dir / "session-key")


def _kept(path: Path, *, prefix: str = "") -> str:
    with suppress(FileNotFoundError):
        return path.read_text()
    key = prefix + base64.b64encode(secrets.token_bytes(_BYTES)).decode()
    write_private(path, key)
    return key
