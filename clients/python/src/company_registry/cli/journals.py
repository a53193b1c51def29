"""A journal beside an output file, from which a run that was stopped goes on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self


@dataclass(frozen=True, slots=True)
class Journal:
    """The results of a run, a line each; the first line says which run it is."""

    file: IO[bytes]
    #: The results of earlier runs.
    done: list[dict[str, Any]]

    @classmethod
    @contextmanager
    def of(cls, out: Path, asked: str) -> Iterator[Self]:
        """The journal of a run, opened; one of another input or other options begins anew.

        Raises OSError.
        """
        path = _path(out)
        head = json.dumps({"asked": sha256(asked.encode()).hexdigest()}).encode()
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        # Without its line break the last line may be cut off.
        whole = lines[:-1] if lines[:1] == [head] else []
        with path.open("r+b" if whole else "wb") as file:
            file.write(b"\n".join([*(whole or [head]), b""]))
            file.truncate()
            file.flush()
            yield cls(file, [json.loads(line) for line in whole[1:]])

    def add(self, result: dict[str, Any]) -> None:
        """Keeps a result; it outlives this process."""
        self.file.write(json.dumps(result).encode() + b"\n")
        self.file.flush()

    @staticmethod
    def forget(out: Path) -> None:
        """Removes the journal of an output that is complete."""
        _path(out).unlink(missing_ok=True)


def _path(out: Path) -> Path:
    return out.with_name(f"{out.name}.journal")
