"""Connections of a public port: their places, their timeouts, and what they have not read."""

import asyncio
from http import HTTPStatus
from typing import Any, cast

import structlog
from aiohttp import web

from common.runtime.public_port.limits import Shared
from common.runtime.public_port.transport import bound_sending

log = structlog.get_logger()


class Connection(web.RequestHandler):
    """A client's connection, closed when the client exceeds a limit."""

    __slots__ = ("_shared", "_socket", "_timers", "_written", "is_shared")

    def __init__(self, server: web.Server, shared: Shared, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._shared = shared
        #: aiohttp drops its own reference before the last bytes are sent.
        self._socket: asyncio.Transport | None = None
        #: By the reason for closing the connection that each of them is.
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._written = 0
        self.is_shared = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the timeout of a request's head; refuses it if no place is left."""
        self._socket = cast(asyncio.Transport, transport)
        bound_sending(self._socket, self._shared.limits.send)
        super().connection_made(transport)
        if not self._shared.table.add(self):
            self._request_handler = self._refuse
        self._expect("head_timeout", self._shared.limits.head)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Frees the connection's place, its bytes and its timers."""
        self._shared.table.remove(self)
        self._shared.unfinished.hold(self, 0)
        self._shared.unsent.hold(self, 0)
        self._socket = None
        for timer in self._timers.values():
            timer.cancel()
        if isinstance(exc, TimeoutError):  # the kernel's
            self._shared.metrics.closed("send_timeout")
        super().connection_lost(exc)

    def wrote(self, count: int) -> None:
        """Counts written bytes, of which the client must read some before a timeout."""
        self._written += count
        if "send_timeout" not in self._timers:
            self._timers["send_timeout"] = self._loop.call_later(
                self._shared.limits.send, self._check_sent, self._written
            )

    def _check_sent(self, written: int) -> None:
        """Closes the connection if not all has left that was written before this period."""
        del self._timers["send_timeout"]
        unsent = 0 if self._socket is None else self._socket.get_write_buffer_size()
        if unsent and self._written - unsent < written:
            self._end("send_timeout")
        elif unsent:
            self.wrote(0)

    def wait_for_client(self, rest: int) -> None:
        """Counts the unsent bytes: those in the socket's buffer, and `rest` more."""
        if self._socket is not None:
            self._shared.unsent.hold(self, self._socket.get_write_buffer_size() + rest)

    def resume(self) -> None:
        """Counts no unsent bytes any more: the client has read them."""
        self._shared.unsent.hold(self, 0)

    def evict(self) -> None:
        """Closes the connection to make room for another."""
        self._end("evicted")

    def exceed(self, reason: str) -> None:
        """Closes the connection because it holds the most bytes."""
        self._end(reason)

    def _expect(self, reason: str, seconds: float) -> None:
        if reason not in self._timers:
            self._timers[reason] = self._loop.call_later(seconds, self._end, reason)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _end(self, reason: str) -> None:
        """Closes the connection immediately, discarding unsent data."""
        if self._socket is not None:
            self._shared.metrics.closed(reason)
            self._socket.abort()

    async def _refuse(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Answers 503 on a connection beyond the limit."""
        self._shared.metrics.closed("refused")
        return self._refusal(HTTPStatus.SERVICE_UNAVAILABLE, None)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 (it quotes the request)
    ) -> web.StreamResponse:
        """Returns the answer to a request that cannot be read; the connection ends with it."""
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request.failed", exc_info=exc)
        if request.writer.output_size:
            raise ConnectionError("a response has begun, so that no other can be sent")
        return self._refusal(HTTPStatus(status), exc)

    def _refusal(self, status: HTTPStatus, error: BaseException | None) -> web.Response:
        response = self._shared.refuse(status, error)
        response.force_close()
        return response
