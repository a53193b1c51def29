"""Digests of documents, in which the rules count that they are read by."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import orjson
import pydantic

from common import contracts
from lookup import domain
from lookup.adapters import registers

#: Chance does not make so many equal.
_BYTES: Final = 16


def digest_of(text: bytes) -> bytes:
    """Differs for every document, and for every release that may read one otherwise."""
    return hashlib.sha256(_RULES + text).digest()[:_BYTES]


def _rules(*packages: ModuleType) -> bytes:
    """All code that a record is made by. A number to be raised by hand would be forgotten."""
    rules = hashlib.sha256(f"{pydantic.VERSION} {orjson.__version__}".encode())
    for path in sorted(path for package in packages for path in _sources(package)):
        rules.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return rules.digest()


def _sources(package: ModuleType) -> Iterator[Path]:
    for folder in package.__path__:
        yield from Path(folder).rglob("*.py")


_RULES: Final = _rules(registers, domain, contracts)
