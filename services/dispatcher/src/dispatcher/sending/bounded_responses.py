"""A bound on what aiohttp reads of a response before it gives its status.

aiohttp bounds each line and the headers of each message, but not the number of interim (1xx)
responses, which it parses and queues as fast as they arrive.
"""

import asyncio
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

#: Bytes of one response in all: interim responses, headers, and the part of the body that is read.
MAX_RESPONSE_BYTES = 256 * 1024
#: Interim responses to one request. Parsing one costs far more than receiving it.
MAX_INTERIM_RESPONSES = 100
#: Bytes parsed at a time until the final status is known: few interim responses fit.
_SLICE = 2048

#: True in the task of a request on a connection that has carried another. aiohttp tells it to trace
#: configs alone, which cost a post a tenth of its time.
REUSED: ContextVar[bool] = ContextVar("reused", default=False)


class ResponseTooLarge(aiohttp.ClientError):
    """The response exceeds its bound."""


class BoundedResponseHandler(ResponseHandler):
    """Aborts a connection whose response exceeds its bound; a status received before it counts."""

    _received = 0
    _interim = 0
    _final = False
    _used = False

    def set_response_params(self, **params: Any) -> None:
        """Begins a new response: a connection may carry several, one after the other."""
        REUSED.set(self._used)
        self._received, self._interim, self._final, self._used = 0, 0, False, True
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parses data in slices; aborts the connection when the response exceeds its bound."""
        start = 0
        while self._exception is None:
            piece = data[start:] if self._final else data[start : start + _SLICE]
            super().data_received(piece)
            self._received += len(piece)
            start += len(piece)
            if self._received > MAX_RESPONSE_BYTES or self._interim > MAX_INTERIM_RESPONSES:
                self.set_exception(ResponseTooLarge("the response exceeds its bound"))
            if start >= len(data):
                break
        if self._exception is not None and self.transport is not None:
            # Not closed: that would read on until the peer agrees to end the TLS session.
            self.transport.abort()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Queues a final response; interim ones are dropped, since no request waits for them."""
        message, _ = data
        if message.code < HTTPStatus.OK and message.code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._interim += 1
        else:
            self._final = True
            super().feed_data(data, size)


class BoundedConnector(aiohttp.TCPConnector):
    """Connects with `BoundedResponseHandler`; aiohttp has no public hook for it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = partial(  # type: ignore[assignment]  # a partial is invariant
            BoundedResponseHandler, loop=asyncio.get_running_loop()
        )
