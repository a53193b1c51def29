"""The bytes of a register's file, plain or gzip, a part at a time."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from lookup.ingest.records import FileBroken

#: How many bytes are read at once, and how many one step may unpack.
PART = 1 << 18

_GZIP_MAGIC = b"\x1f\x8b"
#: Tells zlib that the data begin with a gzip header.
_GZIP = zlib.MAX_WBITS | 16

#: Told how many bytes of the file, packed as they are, were read since the last time.
OnBytes = Callable[[int], object]


def ignore_progress(_count: int) -> None:
    """For a caller that does not ask how far the reading is."""


def stream(path: Path, on_bytes: OnBytes = ignore_progress) -> Iterator[bytes]:
    """Yields a file's content in parts, unpacked where it is gzip (told by its first bytes).

    Raises FileBroken where a packed file ends early or cannot be unpacked, after all that came
    before has been yielded, and OSError as the file system does.
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
    """Several gzip members in a row are one file, as for gzip itself."""
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
            # Anything but a further member makes the next call fail, as it should.
            unpacker = zlib.decompressobj(_GZIP)
    raise FileBroken(f"the gzip data end early, at byte {read} of the file")


def _unpack(unpacker: "zlib._Decompress", part: bytes, read: int) -> Iterator[bytes]:
    content = b""
    while not unpacker.eof and (part or len(content) == PART):
        # What zlib unpacked in a call that fails is lost, so that call is done again, slowly.
        before = unpacker.copy()
        try:
            content = unpacker.decompress(part, PART)
        except zlib.error as fault:
            yield from _salvaged(before, part)
            message = f"the gzip data cannot be unpacked before byte {read} of the file ({fault})"
            raise FileBroken(message) from None
        if content:
            yield content
        part = unpacker.unconsumed_tail


def _salvaged(unpacker: "zlib._Decompress", part: bytes) -> Iterator[bytes]:
    """What comes out of a part that breaks somewhere, fed byte by byte up to there."""
    for at in range(len(part)):
        try:
            content = unpacker.decompress(part[at : at + 1])
        except zlib.error:
            return
        if content:
            yield content
