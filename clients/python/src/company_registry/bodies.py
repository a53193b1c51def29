"""The bodies of responses, decompressed within a bound.

httpx decompresses each chunk as a whole: 64 kB of gzip may be 64 MB, and of a body that is
compressed twice gigabytes.
"""

import zlib
from collections.abc import Iterator
from typing import Any, Final

from company_registry.errors import InvalidResponse, ResponseTooLarge

#: Accept-Encoding of every request; a response with another encoding is not read.
ENCODINGS: Final = "gzip"

#: Bytes of a response, decompressed. The largest answers are of batches: a few megabytes.
MAX_RESPONSE: Final = 16 * 1024 * 1024

#: JSON values of a response; a list or object counts for ten and a member for three more, as their
#: memory does: pydantic takes 800 bytes for `{}`. The largest batches have about 1,400,000.
MAX_VALUES: Final = 2_000_000

_GZIP: Final = 16 + zlib.MAX_WBITS


#: Bytes that are decompressed at once, and the longest line of a body that is read in lines.
_PIECE: Final = 1024 * 1024


class Lines:
    """The lines of a body that is read in parts; only each line is bounded."""

    def __init__(self, encoding: str) -> None:
        """`encoding` is Content-Encoding. Raises InvalidResponse if it is not one of ENCODINGS."""
        self._gzip = _decompressor(encoding)
        self._rest = b""

    def add(self, part: bytes) -> Iterator[list[bytes]]:
        """Yields the lines that a part completes, in bounded lists. Raises InvalidResponse."""
        if self._gzip is None:
            yield self._split(part)
            return
        is_full = True
        while (part or is_full) and not self._gzip.eof:
            try:
                piece = self._gzip.decompress(part, _PIECE)
            except zlib.error:
                raise InvalidResponse("the response is not the gzip that it says") from None
            yield self._split(piece)
            part, is_full = self._gzip.unconsumed_tail, len(piece) == _PIECE

    def end(self) -> None:
        """Raises InvalidResponse if the body ends within a line, or within its gzip."""
        if self._rest or (self._gzip is not None and not self._gzip.eof):
            raise InvalidResponse("the response ends within a line")

    def _split(self, piece: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MAX_RESPONSE:
            raise InvalidResponse("a line of the response is too long")
        return lines


def _decompressor(encoding: str) -> Any:
    coding = encoding.strip().lower()
    if coding not in ("", "identity", ENCODINGS):
        raise InvalidResponse("the response is compressed in a way that was not accepted")
    return zlib.decompressobj(_GZIP) if coding == ENCODINGS else None


class Body:
    """Collects the body of a response; never holds more than `max_size` bytes of it."""

    def __init__(self, encoding: str, max_size: int) -> None:
        """`encoding` is Content-Encoding. Raises InvalidResponse if it is not one of ENCODINGS."""
        self._gzip = _decompressor(encoding)
        self._max_size = max_size
        self._left = max_size
        self._parts: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        """Adds a part as it was received. Raises ResponseTooLarge, or InvalidResponse."""
        try:
            # One more byte than fits shows that there are more; 0 would mean all of them.
            part = chunk if self._gzip is None else self._gzip.decompress(chunk, self._left + 1)
        except zlib.error:
            raise InvalidResponse("the response is not the gzip that its header names") from None
        self._left -= len(part)
        if self._left < 0:
            raise ResponseTooLarge(f"the response is larger than {self._max_size} bytes")
        self._parts.append(part)

    @property
    def content(self) -> bytes:
        """The whole body. Raises InvalidResponse if its end is missing, or ResponseTooLarge."""
        content = b"".join(self._parts)
        if _values(content) > MAX_VALUES:
            raise ResponseTooLarge("the response has too many values")
        if self._gzip is not None and content and not self._gzip.eof:
            raise InvalidResponse("the response ends within its gzip")
        return content


def _values(content: bytes) -> int:
    lists = content.count(b"{") + content.count(b"[")
    return content.count(b",") + 3 * content.count(b":") + 10 * lists
