"""The key that seals the secrets of webhooks on this machine."""

import base64
import secrets
from contextlib import suppress
from pathlib import Path

from local_stack.private_file import write_private

_BYTES = 32


def sealing_key(run_dir: Path) -> str:
    """`local:<base64 of 32 bytes>`; made once, since what it has sealed no other key opens."""
    path = run_dir / "sealing-key"
    with suppress(FileNotFoundError):
        return path.read_text()
    key = f"local:{base64.b64encode(secrets.token_bytes(_BYTES)).decode()}"
    write_private(path, key)
    return key
