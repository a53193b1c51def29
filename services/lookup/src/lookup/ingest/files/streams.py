"""The content of a register's file, plain or gzip, in parts."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from lookup.ingest.records import FileBroken

#: Bytes that are read at once, and maximum bytes that one step decompresses.
PART = 1 << 18

_GZIP_MAGIC = b"\x1f\x8b"
#: Makes zlib expect a gzip header.
_GZIP = zlib.MAX_WBITS | 16

#: Receives the number of bytes of the compressed file that were read since the last call.
OnBytes = Callable[[int], object]


def ignore_progress(_count: int) -> None:
    """Ignores progress."""


def stream(path: Path, on_bytes: OnBytes = ignore_progress) -> Iterator[bytes]:
    """Yields a file's content in parts, decompressed if it begins as gzip.

    Raises FileBroken for a truncated or corrupt gzip file, after the intact part, and OSError.
    """
    with path.open("rb") as file:
        parts = _parts(file, on_bytes)
        first = next(parts, b"")
        if first.startswith(_GZIP_MAGIC):
            yield from _unpacked(first, parts)
        elif first:
            yield first
            yield from parts


def _parts(file: BinaryIO, on_bytes: OnBytes) -> Iterator[bytes]:
    while part := file.read(PART):
        on_bytes(len(part))
        yield part


def _unpacked(part: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Decompresses gzip members, which may follow one another, as gzip does."""
    read = len(part)
    unpacker = zlib.decompressobj(_GZIP)
    while part:
        yield from _unpack(unpacker, part, read)
        part = unpacker.unused_data
        if len(part) < len(_GZIP_MAGIC):
            following = next(rest, b"")
            read += len(following)
            part += following
        if unpacker.eof:
            if not part.strip(b"\0"):
                return
            # Anything but a further member makes the next call fail.
            unpacker = zlib.decompressobj(_GZIP)
    raise FileBroken(f"truncated gzip data, at byte {read} of the file")


def _unpack(unpacker: "zlib._Decompress", part: bytes, read: int) -> Iterator[bytes]:
    content = b""
    while not unpacker.eof and (part or len(content) == PART):
        # zlib discards its output in a call that fails, so that call is repeated byte by byte.
        before = unpacker.copy()
        try:
            content = unpacker.decompress(part, PART)
        except zlib.error as fault:
            yield from _salvaged(before, part)
            message = f"corrupt gzip data before byte {read} of the file ({fault})"
            raise FileBroken(message) from None
        if content:
            yield content
        part = unpacker.unconsumed_tail


def _salvaged(unpacker: "zlib._Decompress", part: bytes) -> Iterator[bytes]:
    """Output of a part that is corrupt somewhere, fed byte by byte up to there."""
    for at in range(len(part)):
        try:
            content = unpacker.decompress(part[at : at + 1])
        except zlib.error:
            return
        if content:
            yield content
