"""The bodies of responses, decompressed within a bound.

httpx decompresses each chunk as a whole: 64 kB of gzip may be 64 MB, and of a body that is
compressed twice gigabytes.
"""

import zlib
from typing import Final

from company_registry.errors import InvalidResponse, ResponseTooLarge

#: Accept-Encoding of every request; a response with another encoding is not read.
ENCODINGS: Final = "gzip"

#: Bytes of a response, decompressed. The largest answers are of batches: a few megabytes.
MAX_RESPONSE: Final = 16 * 1024 * 1024

#: JSON values of a response; a list or object counts for ten and a member for three more, as their
#: memory does: pydantic takes 800 bytes for `{}`. The largest batches have about 1,400,000.
MAX_VALUES: Final = 2_000_000

_GZIP: Final = 16 + zlib.MAX_WBITS


class Body:
    """Collects the body of a response; never holds more than `max_size` bytes of it."""

    def __init__(self, encoding: str, max_size: int) -> None:
        """`encoding` is Content-Encoding. Raises InvalidResponse if it is not one of ENCODINGS."""
        if encoding.strip().lower() not in ("", "identity", ENCODINGS):
            raise InvalidResponse("the response is compressed in a way that was not accepted")
        is_plain = encoding.strip().lower() != ENCODINGS
        self._gzip = None if is_plain else zlib.decompressobj(_GZIP)
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
