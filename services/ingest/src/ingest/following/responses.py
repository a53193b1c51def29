"""Responses of registers: their errors, size limits and reading."""

import asyncio
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
import orjson


class RegisterUnavailable(Exception):
    """A register cannot be reached; the message describes the last attempt."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        #: The wait that the register requested.
        self.retry_after = retry_after


class RegisterFault(Exception):
    """A register's answer cannot be used, and a retry would not help."""


class TransientError(Exception):
    """A failed request that may succeed when retried."""

    def __init__(
        self, reason: str, *, result: str, wait: timedelta | None = None, done: bool = True
    ) -> None:
        super().__init__(reason)
        self.result = result
        #: The wait that the register requested.
        self.wait = wait
        #: True if the register may have processed the request.
        self.done = done


#: Bytes of a body that are read, and of a download that are written, at once.
_PART: Final = 1 << 18
#: Makes zlib expect a gzip header.
_GZIP: Final = zlib.MAX_WBITS | 16
#: Maximum size of a downloaded file in bytes, as transferred. Norway's have 200 MB.
MAX_FILE: Final = 4 << 30

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Maximum size of a JSON body after decompression; a larger one is a fault of the register.

    `{},` takes twenty times its size once parsed, so values are limited as well as bytes.
    """

    size: int
    values: int


#: One entity, or the roles of one. Large ones have 100 kB.
ENTITY: Final = BodyLimit(4 << 20, 200_000)
#: A page of a feed (10,000 entries have 4 MB), or a list of 200 entities.
PAGE: Final = BodyLimit(16 << 20, 500_000)
#: A page of a scroll: 100 Danish documents have 6 MB.
SCROLL: Final = BodyLimit(64 << 20, 2_000_000)


async def read_json(response: aiohttp.ClientResponse, limit: BodyLimit) -> Any:
    """Returns the JSON of the body; None if the body is empty.

    Raises RegisterFault for a body over the limit, compressed or not, and TransientError for one
    that is truncated or not JSON: failing proxies respond with pages of their own.
    """
    body = await _read(response, limit.size)
    if body.count(b",") + body.count(b"[") + body.count(b"{") > limit.values:
        raise RegisterFault(f"the response has more than {limit.values:,} values")
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        raise TransientError("the response is not JSON", result="broken_off") from None


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP) if is_gzip(response) else None
    body = bytearray()
    async for part in response.content.iter_chunked(_PART):
        body += part if unpacker is None else _unpacked(unpacker, part, limit + 1 - len(body))
        if len(body) > limit:
            raise RegisterFault(f"the response is larger than {limit:,} bytes")
        if unpacker is not None and unpacker.eof:
            break
    if unpacker is not None and body and not unpacker.eof:
        raise TransientError("the response is truncated", result="broken_off")
    return bytes(body)


def _unpacked(unpacker: "zlib._Decompress", part: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(part, limit)
    except zlib.error:
        raise TransientError("the response cannot be decompressed", result="broken_off") from None


def is_gzip(response: aiohttp.ClientResponse) -> bool:
    """Raises RegisterFault for a content coding that was not requested."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        raise RegisterFault(f"the response has the content coding {coding}")
    return coding != "identity"


async def write(content: aiohttp.StreamReader, target: Path) -> None:
    """Raises RegisterFault for a file over the maximum size, and RegisterUnavailable."""
    size = 0
    file = await _on_disk(lambda: target.open("wb"))
    try:
        async for part in content.iter_chunked(_PART):
            size += len(part)
            if size > MAX_FILE:
                raise RegisterFault(f"the file is larger than {MAX_FILE:,} bytes")
            await _on_disk(partial(file.write, part))
    finally:
        await _on_disk(file.close)


async def _on_disk(work: Callable[[], T]) -> T:
    """Raises RegisterUnavailable if the disk is full or broken, which may pass.

    Only the disk access is covered: connections raise OSError too.
    """
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise RegisterUnavailable(f"the response cannot be written to disk: {error}") from None
