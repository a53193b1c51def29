"""Digests recognise unchanged documents without parsing them.

Equal digests mean equal documents read by the same code, so parsing would give the stored record. A
record is stored with the digest of its document, or without one.
"""

import hashlib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

import orjson
import pydantic

from common import contracts
from common import domain as kernel

#: Collisions are negligible: 128 bits.
_BYTES: Final = 16
_INGEST: Final = Path(__file__).parent
#: The code that parses the documents of every register.
_SHARED: Final = (
    _INGEST,
    _INGEST.parent / "store",
    Path(contracts.__path__[0]),
    Path(kernel.__path__[0]),
)


class Part(StrEnum):
    """A part of the stored data; each part has its own digest."""

    COMPANY = "company"
    #: A company's owners, if they come in documents of their own.
    OWNERS = "owners"
    UNIT = "unit"
    PARTICIPANT = "participant"


def digest_of(text: bytes, register: Path) -> bytes:
    """Differs for every document, and for every release whose parser may differ.

    `register` is the package of the document's register; other registers' code does not count.
    """
    return hashlib.sha256(_register_rules(register) + text).digest()[:_BYTES]


def rules_of(*folders: Path) -> bytes:
    """A hash of all code that makes a record; a version number could be forgotten."""
    rules = hashlib.sha256(f"{pydantic.VERSION} {orjson.__version__}".encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            rules.update(f"{name} {path.stat().st_size} ".encode() + path.read_bytes())
    return rules.digest()


@cache
def _register_rules(register: Path) -> bytes:
    return rules_of(register, *_SHARED)
