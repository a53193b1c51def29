"""Receiving and sending in small pieces: a slow client holds one of them, not all."""

import asyncio
import socket
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, cast

from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_writer import StreamWriter

#: Bytes of one piece. uvloop would read 256 KiB, which each connection could be made to hold.
PIECE = 8 * 1024


class Receiver(asyncio.BufferedProtocol):
    """Passes a connection's events on; all connections receive into one buffer."""

    def __init__(self, connection: asyncio.Protocol, buffer: memoryview) -> None:
        self._buffer = buffer
        self.connection_made = connection.connection_made  # type: ignore[method-assign]
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.eof_received = connection.eof_received  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]
        self._received = connection.data_received

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (of the protocol)
        """Returns the buffer that all connections share."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Passes the received bytes on, copied out of the shared buffer."""
        self._received(bytes(self._buffer[:nbytes]))


#: Bytes of one slice.
SLICE = 32 * 1024
#: Bytes that a connection may leave unsent before its handler waits.
HIGH_WATER = 16 * 1024
#: Bytes that the kernel takes for a connection without sending them; it would take megabytes.
UNSENT_IN_KERNEL = 64 * 1024

Buffer: TypeAlias = "bytes | bytearray | memoryview[int] | memoryview[bytes]"


class Sending(Protocol):
    """A connection, as the writer of its responses sees it."""

    #: True if the response is the same object for every client, so that it costs no memory.
    is_shared: bool

    def wrote(self, count: int) -> None:
        """Counts bytes that are written and not yet sent."""

    def wait_for_client(self, rest: int) -> None:
        """Notes that the response waits for the client, with `rest` bytes still to write."""

    def resume(self) -> None:
        """Notes that the wait is over."""


class SlicingWriter(StreamWriter):
    """Writes each response in slices, each after the one before was sent."""

    async def write(
        self,
        chunk: Buffer,
        *,
        drain: bool = True,
        LIMIT: int = SLICE,  # noqa: ARG002, N803 (of aiohttp)
    ) -> None:
        """Writes a chunk in slices, and waits while the client does not read."""
        left = len(chunk)
        for each in _slices(chunk):
            left -= len(each)
            await super().write(each, drain=False)
            if drain and self._protocol.writing_paused:
                await self._wait(left)

    def write_eof(self, chunk: bytes = b"") -> Coroutine[Any, Any, None]:
        """Writes the last chunk, in slices if it is long, and ends the response."""
        return super().write_eof(chunk) if len(chunk) <= SLICE else self._write_all(chunk)

    async def _write_all(self, chunk: bytes) -> None:
        await self.write(chunk)
        await super().write_eof()

    async def drain(self) -> None:
        """Waits while the client does not read."""
        if self._protocol.writing_paused:
            await self._wait(0)

    async def _wait(self, left: int) -> None:
        connection = cast(Sending, self._protocol)
        connection.wait_for_client(0 if connection.is_shared else left)
        try:
            await super().drain()
        finally:
            connection.resume()

    def _write(self, chunk: Buffer) -> None:
        super()._write(chunk)
        connection: Sending = self._protocol  # type: ignore[assignment]
        connection.wrote(len(chunk))

    def _writelines(self, chunks: Iterable[Buffer]) -> None:
        self._write(b"".join(chunks))


def _slices(chunk: Buffer) -> Iterator[Buffer]:
    if len(chunk) <= SLICE:
        yield chunk
        return
    whole = memoryview(chunk).cast("B")
    for start in range(0, len(whole), SLICE):
        yield whole[start : start + SLICE]


def writer_of(protocol: BaseProtocol) -> SlicingWriter:
    """Returns a writer for the connection of `protocol`."""
    return SlicingWriter(protocol, protocol._loop)


class SharedResponse(web.Response):
    """A response whose body is one object for all clients, so that unsent it costs nothing."""


def bound_sending(transport: asyncio.Transport, seconds: float) -> None:
    """Bounds what is unsent, here and in the kernel, which ends a connection without progress."""
    transport.set_write_buffer_limits(high=HIGH_WATER)
    client = transport.get_extra_info("socket")
    if client is not None:
        with suppress(OSError):  # it may have ended already
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_IN_KERNEL)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
