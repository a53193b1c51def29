"""The public port of a server over HTTP: connections, heads and unread answers are bounded.

uvicorn bounds a head and a pipeline, and neither the time of a head nor what all connections hold
(ADR 0100). Bodies are bounded by `guard`, which reads them.
"""

import asyncio
import logging
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

#: Bytes that a connection receives at once. uvloop would read 256 KiB of each.
_PIECE: Final = 8 * 1024
#: Bytes of a head, as of the API.
_MAX_HEAD: Final = 16 * 1024
#: Seconds that a client has to read the answer to a request whose body is not read to its end:
#: closing at once would reset the connection.
_LAST: Final = 2.0
#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s).
KEEP_ALIVE: Final = 75
#: Milliseconds in which a client must read an answer, and bytes that the kernel takes of it.
_UNACKNOWLEDGED: Final = 60_000
_UNSENT: Final = 64 * 1024
#: Bytes of answers that a connection may leave unread before the next answer waits.
_UNREAD: Final = 16 * 1024
#: Seconds that a shutdown waits for calls.
_SHUTDOWN: Final = 25

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\n"
    b"Connection: close\r\n\r\n"
)


@dataclass(slots=True)
class Port:
    """State that the connections of a port share."""

    max_connections: int
    #: Seconds for a head, from the connection or its first byte on.
    head_timeout: float
    #: Connections without a request, by the start of that.
    idle: "dict[Connection, None]" = field(default_factory=dict)
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(_PIECE)))

    def connection(self, **options: Any) -> asyncio.BaseProtocol:
        """Returns the protocol of a new connection, as uvicorn asks for it."""
        return _Receiver(Connection(self, **options), self.buffer)


class _Receiver(asyncio.BufferedProtocol):
    """Passes a connection's events on; all connections receive into one buffer."""

    def __init__(self, connection: H11Protocol, buffer: memoryview) -> None:
        self._buffer = buffer
        self._received = connection.data_received
        self.connection_made = connection.connection_made  # type: ignore[assignment, method-assign]
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.eof_received = connection.eof_received  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (of the protocol)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._received(bytes(self._buffer[:nbytes]))


class Connection(H11Protocol):
    """A client's connection, closed where it exceeds a limit."""

    def __init__(self, port: Port, **options: Any) -> None:
        super().__init__(**options)
        self._port = port
        #: Ends the connection unless a head, or the rest of a refused body, comes in time.
        self._timer: asyncio.TimerHandle | None = None
        #: True from the end of an answer until its client has read it.
        self._is_unread = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes a place, that of the connection which has been idle longest if none is free."""
        super().connection_made(transport)
        _bound_sending(transport)
        if len(self.connections) > self._port.max_connections:
            oldest = next(iter(self._port.idle), None)
            if oldest is None:
                transport.write(_FULL)
                transport.close()
                return
            oldest.abort()
        self._port.idle[self] = None
        self._expect(self._port.head_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """Frees the place."""
        self._port.idle.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Passes bytes on, and starts or stops the time of a head."""
        before = self.cycle
        super().data_received(data)
        if not self._is_answered() and self.cycle.body and self.cycle.more_body:
            # Until the body's reader asks for more, which lets each connection have its turn.
            self.flow.pause_reading()
        if self.cycle is not before:
            self._port.idle.pop(self, None)
            self._stop()
        elif self._timer is None and self._is_answered():
            self._expect(self._port.head_timeout)

    def on_response_complete(self) -> None:
        """Awaits the next head if it has begun; reads no more behind a refused body."""
        if self.flow.write_paused and not self.transport.is_closing():
            # A client that does not read gets no further answers, which would be held for it.
            self._is_unread = True
            self._expect(_UNACKNOWLEDGED / 1000)
            return
        answered = self.cycle
        super().on_response_complete()
        if self.transport.is_closing() or self.cycle is not answered:
            return
        if self.conn.their_state is h11.SEND_BODY:
            self.flow.pause_reading()
            self._expect(_LAST)
            return
        self._port.idle[self] = None
        if self.conn.trailing_data[0]:
            self._expect(self._port.head_timeout)

    def resume_writing(self) -> None:
        """Goes on to the next request once the last answer is read."""
        super().resume_writing()
        if self._is_unread:
            self._is_unread = False
            self._stop()
            self.on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Closes an idle connection, at once if its client has not read the last answer."""
        if self.transport.get_write_buffer_size():
            self.abort()
        super().timeout_keep_alive_handler()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._port.idle.pop(self, None)
        self.transport.abort()

    def _is_answered(self) -> bool:
        """Returns whether no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _expect(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _bound_sending(transport: asyncio.Transport) -> None:
    transport.set_write_buffer_limits(high=_UNREAD)
    client = transport.get_extra_info("socket")
    if client is None or not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    with suppress(OSError):  # it may have ended already
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED)


def http_server(app: ASGIApp, host: str, port: int, bounds: Port) -> uvicorn.Server:
    """Returns a server of an application within the bounds of a port."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=bounds.connection,  # type: ignore[arg-type]
        ws="none",
        h11_max_incomplete_event_size=_MAX_HEAD,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=_SHUTDOWN,
    )
    # Any client can cause its warnings, which are of invalid HTTP.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Server(config)
