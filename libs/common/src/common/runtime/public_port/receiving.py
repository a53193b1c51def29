"""Receiving in small pieces: what a connection has not read waits in the kernel."""

import asyncio

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
