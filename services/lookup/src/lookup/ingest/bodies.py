"""The bodies of a register's answers: how large they may be, and how they are read."""

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

from lookup.ingest.sources import RegisterAway, RegisterFault

#: The bytes of a body that are read, and of a download that are written, at once.
_PART: Final = 1 << 18
#: Tells zlib that the data begin with a gzip header.
_GZIP: Final = zlib.MAX_WBITS | 16
#: The largest file that is downloaded, in bytes as they are sent. Norway's have 200 MB.
MAX_FILE: Final = 4 << 30

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How large the JSON of an answer may be, unpacked; more is a fault of the register.

    `{},` takes twenty times its size once it is parsed, so the values are limited beside the bytes.
    """

    size: int
    values: int


#: One entity, or the roles of one. Large ones have 100 kB.
ENTITY: Final = BodyLimit(4 << 20, 200_000)
#: A page of a feed, of which 10,000 entries have 4 MB, or a list of 200 entities.
PAGE: Final = BodyLimit(16 << 20, 500_000)
#: A page of a scroll: 100 Danish documents have 6 MB.
SCROLL: Final = BodyLimit(64 << 20, 2_000_000)


class Passing(Exception):
    """A failed request that may succeed the next time."""

    def __init__(
        self, reason: str, *, result: str, wait: timedelta | None = None, done: bool = True
    ) -> None:
        super().__init__(reason)
        self.result = result
        #: How long the register wants to be left alone.
        self.wait = wait
        #: Whether the register may have done what it was asked.
        self.done = done


async def read_json(response: aiohttp.ClientResponse, limit: BodyLimit) -> Any:
    """The JSON of the body; None where there is none.

    Raises RegisterFault for more than the limit, however it is packed, and Passing for a body that
    is cut off or no JSON: proxies that fail answer with pages of their own.
    """
    body = await _read(response, limit.size)
    if body.count(b",") + body.count(b"[") + body.count(b"{") > limit.values:
        raise RegisterFault(f"the answer has more than {limit.values:,} values")
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        raise Passing("the answer is no JSON", result="broken_off") from None


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP) if is_gzip(response) else None
    body = bytearray()
    async for part in response.content.iter_chunked(_PART):
        body += part if unpacker is None else _unpacked(unpacker, part, limit + 1 - len(body))
        if len(body) > limit:
            raise RegisterFault(f"the answer is larger than {limit:,} bytes")
        if unpacker is not None and unpacker.eof:
            break
    if unpacker is not None and body and not unpacker.eof:
        raise Passing("the answer ends early", result="broken_off")
    return bytes(body)


def _unpacked(unpacker: "zlib._Decompress", part: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(part, limit)
    except zlib.error:
        raise Passing("the answer cannot be unpacked", result="broken_off") from None


def is_gzip(response: aiohttp.ClientResponse) -> bool:
    """Raises RegisterFault for a coding that was not asked for."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        raise RegisterFault(f"the answer is packed with {coding}")
    return coding != "identity"


async def write(content: aiohttp.StreamReader, target: Path) -> None:
    """Raises RegisterFault for a larger file than a register has, and RegisterAway."""
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
    """Raises RegisterAway where the disk is full or broken: that may pass, as a register's does.

    Connections fail with OSErrors too, so reading the answer is no part of the work.
    """
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise RegisterAway(f"what it sends cannot be kept: {error}") from None
