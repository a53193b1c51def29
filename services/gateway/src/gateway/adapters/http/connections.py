"""Connections of the public port: HTTP is read here with limits, before any handler runs."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import InvalidURLError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy

from gateway.adapters.http.bodies import CONTINUE_EXPECTED
from gateway.adapters.http.errors import problem_response
from gateway.adapters.http.middleware import CONSTANT_HEADERS, REQUEST_ID
from gateway.domain.problems import InternalError, InvalidBody, InvalidParameter, Problem
from gateway.domain.query import Format

#: Bytes and seconds for the rest of a body that no handler has read. The connection is closed
#: after it; closing at once would reset it, and the client might lose the response.
MAX_DISCARDED = 2 * 1024 * 1024
DISCARD_TIMEOUT = 5.0


class PublicRunner(web.AppRunner):
    """Runs an application over `Connection`s; nothing that a client sends is ever inflated."""

    def __init__(self, app: web.Application, new_id: Callable[[], str], **options: Any) -> None:
        """`new_id` names requests that never reach the application."""
        super().__init__(
            app,
            access_log=None,
            auto_decompress=False,
            lingering_time=DISCARD_TIMEOUT,
            **options,
        )
        self._new_id = new_id

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _Server(made, self._new_id)


class _Server(web.Server):
    """An application's server with connections of our own."""

    def __init__(self, server: web.Server, new_id: Callable[[], str]) -> None:
        super().__init__(
            server.request_handler,
            request_factory=_without_expectation(server.request_factory),
            handler_cancellation=server.handler_cancellation,
            **server._kwargs,
        )
        self.new_id = new_id

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self.new_id, **self._kwargs)


class Connection(web.RequestHandler):
    """One connection of a client."""

    __slots__ = ("_discardable", "_new_id")

    def __init__(self, server: web.Server, new_id: Callable[[], str], **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._new_id = new_id
        #: Bytes that may still be discarded, once a response was sent before its request ended.
        self._discardable: int | None = None

    def data_received(self, data: bytes) -> None:
        if self._discardable is not None:
            self._discardable -= len(data)
            if self._discardable < 0:
                self.force_close()
                return
        super().data_received(data)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Sends a response; the connection ends with it if the request has not been received."""
        if not request.content.is_eof():
            resp.force_close()
            self._discardable = MAX_DISCARDED
        return await super().finish_response(request, resp, start_time)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Returns the problem of a request that cannot be read; the connection ends with it."""
        super().handle_error(request, status, exc, message)
        request_id = self._new_id()
        response = problem_response(_problem_of(status, exc), request_id, Format.JSON)
        response.headers.update(CONSTANT_HEADERS)
        response.headers[REQUEST_ID] = request_id
        response.force_close()
        return response


def _without_expectation(make_request: Callable[..., web.BaseRequest]) -> Callable[..., Any]:
    """Makes requests without `Expect`, which aiohttp would answer before the middleware runs.

    A body is asked for when a handler reads it, so never from a client that is refused. Other
    expectations are ignored, as RFC 9110, 10.1.1 allows.
    """

    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        expectation = message.headers.get(hdrs.EXPECT)
        if expectation is None:
            return make_request(message, payload, protocol, writer, task)
        headers = message.headers.copy()
        headers.popall(hdrs.EXPECT)
        message = message._replace(headers=CIMultiDictProxy(headers))
        request = make_request(message, payload, protocol, writer, task)
        request[CONTINUE_EXPECTED] = expectation.lower() == "100-continue"
        return request

    return make


def _problem_of(status: int, error: BaseException | None) -> Problem:
    if isinstance(error, InvalidURLError):
        return InvalidParameter(
            "the address must be ASCII: percent-encode what is not (å is %C3%A5)"
        )
    if status < 500:
        return InvalidBody("the request cannot be read as HTTP/1.1, or a header is over 8 KiB")
    return InternalError("an internal error")
