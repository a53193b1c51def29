"""Files that hold a key or a secret."""

import os
from pathlib import Path


def write_private(path: Path, content: str) -> None:
    """Writes it whole or not at all, readable for its owner only."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(content)
    unfinished.replace(path)
