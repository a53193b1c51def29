"""Digests of documents, in which the rules count that they are read by."""

import hashlib
from pathlib import Path
from typing import Final

import orjson
import pydantic

from common import contracts
from common import domain as kernel
from lookup import ingest, registers, store

#: Chance does not make so many equal.
_BYTES: Final = 16


def digest_of(text: bytes) -> bytes:
    """Differs for every document, and for every release that may read one otherwise."""
    return hashlib.sha256(_RULES + text).digest()[:_BYTES]


def rules_of(*folders: Path) -> bytes:
    """All code that a record is made by. A number to be raised by hand would be forgotten."""
    rules = hashlib.sha256(f"{pydantic.VERSION} {orjson.__version__}".encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            rules.update(f"{name} {path.stat().st_size} ".encode() + path.read_bytes())
    return rules.digest()


_RULES: Final = rules_of(
    *(Path(package.__path__[0]) for package in (registers, ingest, store, contracts, kernel))
)
