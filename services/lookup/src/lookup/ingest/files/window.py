"""The part of a stream that a reader is looking at, and what it finds there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lookup.ingest.records import FileBroken

#: What is at hand grows by as much again, up to this: a long record is not copied for each part.
_STEP = 1 << 20

#: More white space than this, or a longer record or line, is no register's: the file is broken.
MAX_BLANK = 16 << 20
MAX_PASSED = 1 << 30


@dataclass(frozen=True, slots=True)
class Found:
    """A record's content, or None and what is wrong with it."""

    #: `byte 1234` or `line 7`, of the unpacked content.
    place: str
    content: dict[str, Any] | None
    fault: str = ""
    #: The JSON that the content was read from; None where it was something else.
    text: bytes | None = None


class Window:
    """Bytes from `at` onwards that were read and not yet passed; what was passed is forgotten."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._passed = 0
        self.data = b""
        #: The reader's position in `data`; the reader moves it.
        self.at = 0
        #: Why the stream ended before its time. What is at hand is read first, then this is told.
        self.broken: FileBroken | None = None

    @property
    def offset(self) -> int:
        """The reader's position in the whole stream, in bytes."""
        return self._passed + self.at

    @property
    def pending(self) -> int:
        """How many bytes are at hand."""
        return len(self.data) - self.at

    def more(self) -> bool:
        """Brings more to hand, `at` becoming 0; False when the stream has ended."""
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

    def take_line(self, *, longest: int) -> bytes:
        """Takes the next line with its end, of a longer one the beginning; empty at the end."""
        beginning, begin = b"", self.offset
        while (end := self.data.find(b"\n", self.at) + 1) == 0:
            if self.pending > longest:
                beginning = beginning or self.data[self.at : self.at + longest]
                self.at = len(self.data)
            if self.offset - begin > MAX_PASSED:
                raise FileBroken(f"the line that begins at byte {begin} has no end")
            if not self.more():
                end = len(self.data)
                break
        line = self.data[self.at : end]
        self.at = end
        return beginning + b"\n" if beginning else line
