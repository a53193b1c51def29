"""Digests recognise unchanged documents without parsing them.

Equal digests mean equal documents read by the same code, so parsing would give the stored record. A
record is stored with the digest of its document, or without one.
"""

import ast
import hashlib
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import orjson
import pydantic

#: Collisions are negligible: 128 bits.
_BYTES: Final = 16
#: The packages whose code a parser may consist of, besides its own.
_OURS: Final = ("common", "lookup")


class Part(StrEnum):
    """A part of the stored data; each part has its own digest."""

    COMPANY = "company"
    #: A company's owners, if they come in documents of their own.
    OWNERS = "owners"
    UNIT = "unit"
    PARTICIPANT = "participant"


def digest_of(text: bytes, parser: str) -> bytes:
    """Returns a hash that differs for other documents and for other parsers.

    `parser` is the name of the module that parses the document.
    """
    return hashlib.sha256(_rules(parser) + text).digest()[:_BYTES]


def rules_of(parser: str) -> bytes:
    """Returns a hash of all code that makes a record; a version number could be forgotten."""
    rules = hashlib.sha256(f"{pydantic.VERSION} {orjson.__version__}".encode())
    for name, path in sorted(modules_of(parser).items()):
        code = path.read_bytes()
        rules.update(f"{name} {len(code)} ".encode() + code)
    return rules.digest()


def modules_of(parser: str) -> dict[str, Path]:
    """Returns the module and all of our modules that it imports, directly or through others."""
    found: dict[str, Path] = {}
    waiting = [parser]
    while waiting:
        name = waiting.pop()
        path = None if name in found else _file_of(name)
        if path is not None:
            found[name] = path
            ours = {*_OURS, parser.partition(".")[0]}
            waiting += [each for each in _imports(path) if each.partition(".")[0] in ours]
    return found


def _imports(path: Path) -> Iterator[str]:
    """Yields the modules that a file imports, and the names that may be modules."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file_of(module: str) -> Path | None:
    """Returns the file of a module; None for a name that is no module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # a name in a module that is not a package
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


_rules = cache(rules_of)
