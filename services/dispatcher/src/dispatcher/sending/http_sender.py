"""HTTP posts to untrusted receivers: every step has a limit."""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import aiohttp

from common.contracts.failures import Unavailable
from common.contracts.traces import TRACEPARENT
from common.runtime import tracing
from dispatcher.sending.bounded_responses import REUSED, BoundedConnector
from dispatcher.sending.guard import BlockedAddress, Lookup, SocketGuard, resolving, system_lookup
from dispatcher.sending.outcome import Answered, Cause, Outcome, Post, Unanswered, cause_of
from webhook_store.webhooks.addresses import Network

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
            if isinstance(outcome, Answered):
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
            return _unanswered(error) if course.status is None else Answered(course.status)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _unanswered(error)
        except RuntimeError as error:
            # Raised by the loop and the session when closed or out of resources.
            raise Unavailable(f"cannot send: {error}") from error

    async def _send_twice_if_reset(self, post: Post, course: _Course) -> Outcome:
        """Retries once, within the same attempt, when a reused connection was closed."""
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
            post.url,
            data=post.body,
            headers={**post.headers, **own},
            allow_redirects=False,
        ) as response:
            course.status = response.status
            await _read_some(response, seconds=self._limits.body.total_seconds())
            return Answered(response.status)


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
    """Maps an error to its cause; raises Unavailable when the cause is local."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno in _OURS:
        raise Unavailable(f"cannot open connections: {cause.strerror}") from error
    words = (
        word for kinds, word in _CAUSES if isinstance(error, kinds) or isinstance(cause, kinds)
    )
    return Unanswered(next(words, Cause.INVALID_RESPONSE))


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
    async with resolving(guard, lookup=lookup) as resolver:
        connector = BoundedConnector(
            ssl=_tls(ca_file),
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
            headers={"Accept-Encoding": "identity"},
            trust_env=False,
        ) as session:
            yield HttpSender(session, limits)


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
