"""Knowing a document again without reading it: its digest is stored beside what was read from it.

Equal digests mean equal documents read by the same rules, so what is stored is what reading would
give. A record is stored with the digest of the document that gave it, or without one.
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

#: Chance does not make so many equal.
_BYTES: Final = 16
_INGEST: Final = Path(__file__).parent
#: The code that the documents of every register are read by.
_SHARED: Final = (
    _INGEST,
    _INGEST.parent / "store",
    Path(contracts.__path__[0]),
    Path(kernel.__path__[0]),
)


class Part(StrEnum):
    """The part of what is stored that a document tells; each part has a digest of its own."""

    COMPANY = "company"
    #: A company's owners, where they come in documents of their own.
    OWNERS = "owners"
    UNIT = "unit"
    PARTICIPANT = "participant"


def digest_of(text: bytes, register: Path) -> bytes:
    """Differs for every document, and for every release that may read one otherwise.

    `register` is the package of the document's register; other registers' code does not count.
    """
    return hashlib.sha256(_register_rules(register) + text).digest()[:_BYTES]


def rules_of(*folders: Path) -> bytes:
    """All code that a record is made by. A number to be raised by hand would be forgotten."""
    rules = hashlib.sha256(f"{pydantic.VERSION} {orjson.__version__}".encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = path.relative_to(folder).as_posix()
            rules.update(f"{name} {path.stat().st_size} ".encode() + path.read_bytes())
    return rules.digest()


@cache
def _register_rules(register: Path) -> bytes:
    return rules_of(register, *_SHARED)
