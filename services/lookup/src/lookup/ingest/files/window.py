"""A window on a stream, for readers that search it for records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lookup.ingest.records import FileBroken

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
