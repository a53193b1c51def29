"""HTTP posts to untrusted receivers: every step has a limit.

aiohttp bounds each line and the headers of each message, but not the number of interim (1xx)
responses, which it parses and queues as fast as they arrive.
"""

import asyncio
import errno
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from common.contracts.contract import TRACEPARENT
from common.contracts.failures import Unavailable
from common.runtime import tracing
from dispatcher.guard import BlockedAddress, Lookup, SocketGuard, resolving, system_lookup
from dispatcher.outcomes import Cause, NoResponse, Outcome, Post, Response, cause_of
from webhook_store.addresses import Network

#: Bytes of one response in all: interim responses, headers, and the part of the body that is read.
MAX_RESPONSE_BYTES = 256 * 1024
#: Interim responses to one request. Parsing one costs far more than receiving it.
MAX_INTERIM_RESPONSES = 100
#: Bytes parsed at a time until the final status is known: few interim responses fit.
_SLICE = 2048
#: Headers of one response. Parsing one costs more than receiving it.
MAX_HEADERS = 1000
_BLANK_LINE = re.compile(rb"\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")

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
            piece = data[start:] if self._final else data[start : _end_of_slice(data, start)]
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


def _end_of_slice(data: bytes, start: int) -> int:
    # Bytes after a head are parsed after it: aiohttp drops a status in one read with a fault.
    end = _LINE_END.match(data, start) or _BLANK_LINE.search(data, start, start + _SLICE)
    return start + _SLICE if end is None else end.end()


class BoundedConnector(aiohttp.TCPConnector):
    """Connects with `BoundedResponseHandler`; aiohttp has no public hook for it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = partial(  # type: ignore[assignment]  # a partial is invariant
            BoundedResponseHandler, loop=asyncio.get_running_loop()
        )


#: Bytes of a response body read so that its connection can be reused. None is kept.
MAX_BODY_SIZE = 16 * 1024
#: Keep-alive timeout in seconds: shorter than that of most servers, so that a post seldom meets a
#: connection that is being closed.
KEEP_ALIVE = 4.0

#: Connection errors with a local cause: out of sockets, ports or memory.
_OURS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}

#: First match wins: some of these types are subclasses of others.
_CAUSES: tuple[tuple[tuple[type[Exception], ...], Cause], ...] = (
    ((BlockedAddress,), Cause.BLOCKED_ADDRESS),
    ((TimeoutError,), Cause.TIMEOUT),
    ((aiohttp.ClientConnectorDNSError,), Cause.DNS),
    ((aiohttp.ClientSSLError, ssl.SSLError), Cause.TLS),
    ((ConnectionRefusedError,), Cause.CONNECTION_REFUSED),
    ((ConnectionResetError, aiohttp.ServerDisconnectedError), Cause.CONNECTION_RESET),
    ((aiohttp.ClientConnectorError,), Cause.CONNECTION_FAILED),
    ((aiohttp.ClientOSError,), Cause.CONNECTION_RESET),
)


@dataclass(frozen=True, slots=True)
class SenderLimits:
    """Timeouts of a post: in total, and of its parts."""

    total: timedelta = timedelta(seconds=10)
    connect: timedelta = timedelta(seconds=5)
    #: For the body. Only the status counts; a slow body is not waited for.
    body: timedelta = timedelta(seconds=1)


@dataclass(slots=True)
class _Course:
    """Progress of a post."""

    #: Set when the response head has been received.
    status: int | None = None


class HttpSender:
    """`Sender` over one session."""

    def __init__(self, session: aiohttp.ClientSession, limits: SenderLimits) -> None:
        self._session = session
        self._limits = limits

    async def send(self, post: Post) -> Outcome:
        """Posts within a trace span and returns the outcome; raises as `Sender.send` does."""
        attributes = {"http.request.method": "POST", "delivery.id": post.headers["X-Delivery-Id"]}
        with tracing.span("POST", tracing.Kind.CLIENT, post.trace, attributes) as recorded:
            outcome = await self._outcome(post)
            if isinstance(outcome, Response):
                recorded[tracing.STATUS] = outcome.status
            cause = cause_of(outcome)
            if cause is not None:
                recorded[tracing.ERROR] = cause
            return outcome

    async def _outcome(self, post: Post) -> Outcome:
        course = _Course()
        try:
            async with asyncio.timeout(self._limits.total.total_seconds()):
                return await self._send_twice_if_reset(post, course)
        except TimeoutError as error:
            return _unanswered(error) if course.status is None else Response(course.status)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _unanswered(error)
        except RuntimeError as error:
            # Raised by the loop and the session when closed or out of resources.
            raise Unavailable(f"cannot send: {error}") from error

    async def _send_twice_if_reset(self, post: Post, course: _Course) -> Outcome:
        try:
            return await self._send(post, course)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not REUSED.get() or isinstance(error, aiohttp.ClientConnectorError):
                raise
        return await self._send(post, course)

    async def _send(self, post: Post, course: _Course) -> Outcome:
        # As long as this post has no connection, that is its value.
        REUSED.set(False)
        trace = tracing.CURRENT.get()
        # Without `tracestate`, which holds data of other systems.
        own = {} if trace is None else {TRACEPARENT: trace.parent}
        async with self._session.post(
            # Byte for byte: a receiver may have signed it, or tell %2F from a slash.
            URL(post.url, encoded=True),
            data=post.body,
            headers={**post.headers, **own},
            allow_redirects=False,
        ) as response:
            course.status = response.status
            await _read_some(response, seconds=self._limits.body.total_seconds())
            return Response(response.status)


async def _read_some(response: aiohttp.ClientResponse, *, seconds: float) -> None:
    if response.content.at_eof():
        return
    left = MAX_BODY_SIZE
    try:
        async with asyncio.timeout(seconds):
            while left > 0 and (chunk := await response.content.read(left)):
                left -= len(chunk)
    except (aiohttp.ClientError, OSError, TimeoutError):
        left = 0
    if left <= 0:
        # More data may follow, so the connection cannot be reused.
        response.close()


def _unanswered(error: Exception) -> Outcome:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno in _OURS:
        raise Unavailable(f"cannot open connections: {cause.strerror}") from error
    words = (
        word for kinds, word in _CAUSES if isinstance(error, kinds) or isinstance(cause, kinds)
    )
    return NoResponse(next(words, Cause.INVALID_RESPONSE))


@asynccontextmanager
async def http_sender(
    limits: SenderLimits,
    *,
    allowed: Sequence[Network],
    ca_file: Path | None,
    lookup: Lookup = system_lookup,
) -> AsyncIterator[HttpSender]:
    """Opens a sender for the body; `allowed` private networks may be called.

    Certificates are verified against the system's authorities and those in `ca_file`.
    """
    guard = SocketGuard(allowed)
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    async with resolving(guard, lookup=lookup) as resolver:
        connector = BoundedConnector(
            ssl=context,
            resolver=resolver,
            socket_factory=guard.make_socket,
            # Concurrency is limited before a post starts; waiting here would consume its timeout.
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
        )
        async with aiohttp.ClientSession(
            connector=connector,
            # The sender enforces the total timeout, which covers both tries.
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small response may decompress to any size.
            auto_decompress=False,
            # The bound of the whole response is enough.
            max_line_size=MAX_RESPONSE_BYTES,
            max_field_size=MAX_RESPONSE_BYTES,
            max_headers=MAX_HEADERS,
            headers={"Accept-Encoding": "identity"},
            trust_env=False,
        ) as session:
            yield HttpSender(session, limits)
