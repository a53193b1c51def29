"""Bytes of a register file, plain or gzip, read through a window of bounded size."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lookup.records.records import FileBroken

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
    """Yields the output of a part that is corrupt somewhere, fed byte by byte up to there."""
    for at in range(len(part)):
        try:
            content = unpacker.decompress(part[at : at + 1])
        except zlib.error:
            return
        if content:
            yield content


#: Maximum growth of the window per read; it doubles up to this, so a long record is rarely copied.
_STEP = 1 << 20

#: Maximum white space, and maximum size of a record or line; more means a broken file.
MAX_BLANK = 16 << 20
MAX_PASSED = 1 << 30


@dataclass(frozen=True, slots=True)
class Found:
    """A record's content, or None and its error."""

    #: `byte 1234` or `line 7`, of the decompressed content.
    place: str
    content: dict[str, Any] | None
    fault: str = ""
    #: The JSON that the content was parsed from; None if it was not JSON.
    text: bytes | None = None


class Window:
    """Bytes that were read and not yet passed, from `at`; passed bytes are discarded."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._passed = 0
        self.data = b""
        #: The reader's position in `data`, moved by the reader.
        self.at = 0
        #: The error that ended the stream early. It is raised after the buffered bytes were read.
        self.broken: FileBroken | None = None

    @property
    def offset(self) -> int:
        """The reader's position in the whole stream, in bytes."""
        return self._passed + self.at

    @property
    def pending(self) -> int:
        """Number of buffered bytes."""
        return len(self.data) - self.at

    def more(self) -> bool:
        """Reads more, with `at` becoming 0; False at the end of the stream."""
        wanted = min(self.pending, _STEP) + 1
        parts: list[bytes] = []
        while wanted > 0 and (part := self._next_part()):
            parts.append(part)
            wanted -= len(part)
        if not parts:
            return False
        self._passed += self.at
        self.data = b"".join((self.data[self.at :], *parts))
        self.at = 0
        return True

    def _next_part(self) -> bytes:
        try:
            return next(self._parts, b"")
        except FileBroken as broken:
            self.broken = broken
            return b""

    def take_line(self, *, max_size: int) -> bytes:
        """Takes the next line with its end, or the beginning of a longer one; empty at the end."""
        beginning, begin = b"", self.offset
        while (end := self.data.find(b"\n", self.at) + 1) == 0:
            if self.pending > max_size:
                beginning = beginning or self.data[self.at : self.at + max_size]
                self.at = len(self.data)
            if self.offset - begin > MAX_PASSED:
                raise FileBroken(f"the line at byte {begin} has no end")
            if not self.more():
                end = len(self.data)
                break
        line = self.data[self.at : end]
        self.at = end
        return beginning + b"\n" if beginning else line
