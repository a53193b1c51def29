"""The public port."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import InvalidURLError

from gateway.adapters.http.errors import problem_response
from gateway.adapters.http.middleware import CONSTANT_HEADERS, REQUEST_ID
from gateway.domain.problems import InternalError, InvalidBody, InvalidParameter, Problem
from gateway.domain.query import Format

#: Seconds that an idle connection is kept, longer than a load balancer keeps it (60 s): the side
#: that closes first must be the one that knows that no request is under way.
KEEP_ALIVE = 75
#: Connections that may wait to be accepted.
BACKLOG = 1024


@asynccontextmanager
async def public_port(
    app: web.Application,
    *,
    host: str,
    port: int,
    stop_limit: timedelta,
    new_id: Callable[[], str],
) -> AsyncIterator[int]:
    """Serves the application while the body runs; yields the port (for port 0).

    Leaving closes the port and the idle connections at once, and the others when their request is
    answered, at the latest after `stop_limit`.
    """
    runner = _Runner(
        app,
        new_id,
        access_log=None,
        logger=_protocol_log(),
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=stop_limit.total_seconds(),
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _protocol_log() -> logging.Logger:
    """aiohttp's complaints about what is no HTTP, with a trace each: anybody can cause them."""
    log = logging.getLogger("gateway.protocol")
    log.setLevel(logging.CRITICAL)
    return log


class _Runner(web.AppRunner):
    """An application's, whose server answers in our words what never reaches the application."""

    def __init__(self, app: web.Application, new_id: Callable[[], str], **options: Any) -> None:
        super().__init__(app, **options)
        self._new_id = new_id

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _Server(made, self._new_id)


class _Server(web.Server):
    """Another one, with protocols of our own."""

    def __init__(self, server: web.Server, new_id: Callable[[], str]) -> None:
        factory = server.request_factory
        super().__init__(server.request_handler, request_factory=factory, **server._kwargs)
        self.new_id = new_id

    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, self.new_id, **self._kwargs)


class _Protocol(web.RequestHandler):
    """One connection."""

    __slots__ = ("_new_id",)

    def __init__(self, server: web.Server, new_id: Callable[[], str], **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._new_id = new_id

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What cannot be read as a request, as a problem; the connection is closed after it."""
        super().handle_error(request, status, exc, message)
        request_id = self._new_id()
        response = problem_response(_problem_of(status, exc), request_id, Format.JSON)
        response.headers.update(CONSTANT_HEADERS)
        response.headers[REQUEST_ID] = request_id
        response.force_close()
        return response


def _problem_of(status: int, error: BaseException | None) -> Problem:
    if isinstance(error, InvalidURLError):
        return InvalidParameter(
            "the address must be ASCII: percent-encode what is not (å is %C3%A5)"
        )
    if status < 500:
        return InvalidBody("the request cannot be read as HTTP/1.1, or a header is over 8 KiB")
    return InternalError("an internal error")
