"""Posts to receivers, which are anybody: everything that they can do has a limit."""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import aiohttp

from common.contracts.failures import Unavailable
from dispatcher.adapters.bounded_responses import BoundedConnector
from dispatcher.adapters.guard import BlockedAddress, Lookup, SocketGuard, resolving, system_lookup
from dispatcher.domain.outcome import Answered, Cause, Outcome, Unanswered
from dispatcher.ports import Post
from webhook_store.addresses import Network

#: Bytes of an answer's body that are read, so that its connection can be used again. None is kept.
BODY_LIMIT = 16 * 1024
#: Seconds that an idle connection is kept: shorter than most servers keep theirs, so that a post
#: seldom meets one that is just being closed.
KEEP_ALIVE = 4.0

#: Errors of connecting that are our own: out of sockets, ports or memory.
_OURS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}

#: First match wins: several of these are kinds of another.
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
    total: timedelta = timedelta(seconds=10)
    connect: timedelta = timedelta(seconds=5)
    #: For the body. What counts is the status; a body that drips is not waited for.
    body: timedelta = timedelta(seconds=1)


@dataclass(slots=True)
class _Course:
    """How far a post has come."""

    reused_connection: bool = False
    #: Set as soon as the head of the answer is here.
    status: int | None = None


class HttpSender:
    """`Sender` over one session."""

    def __init__(self, session: aiohttp.ClientSession, limits: SenderLimits) -> None:
        self._session = session
        self._limits = limits

    async def send(self, post: Post) -> Outcome:
        course = _Course()
        try:
            async with asyncio.timeout(self._limits.total.total_seconds()):
                return await self._send_twice_if_reset(post, course)
        except TimeoutError as error:
            return _unanswered(error) if course.status is None else Answered(course.status)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _unanswered(error)
        except RuntimeError as error:
            # The loop's and the session's word for being closed or out of resources.
            raise Unavailable(f"we cannot send: {error}") from error

    async def _send_twice_if_reset(self, post: Post, course: _Course) -> Outcome:
        """Tries again at once when a kept connection turns out to be closed: the same attempt."""
        try:
            return await self._send(post, course)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if not course.reused_connection or isinstance(error, aiohttp.ClientConnectorError):
                raise
        return await self._send(post, course)

    async def _send(self, post: Post, course: _Course) -> Outcome:
        async with self._session.post(
            post.url,
            data=post.body,
            headers=post.headers,
            allow_redirects=False,
            trace_request_ctx=course,
        ) as response:
            course.status = response.status
            await _read_some(response, seconds=self._limits.body.total_seconds())
            return Answered(response.status)


async def _read_some(response: aiohttp.ClientResponse, *, seconds: float) -> None:
    left = BODY_LIMIT
    try:
        async with asyncio.timeout(seconds):
            while left > 0 and (chunk := await response.content.read(left)):
                left -= len(chunk)
    except (aiohttp.ClientError, OSError, TimeoutError):
        left = 0
    if left <= 0:
        # More may come; the connection cannot be used again.
        response.close()


def _unanswered(error: Exception) -> Outcome:
    """The word for what happened; raises Unavailable when it happened to us."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno in _OURS:
        raise Unavailable(f"we cannot connect to anybody: {cause.strerror}") from error
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
    """Sends for the body's time. `allowed` networks may be called although they are private.

    Certificates are checked against the system's authorities, and those in `ca_file`.
    """
    guard = SocketGuard(allowed)
    async with resolving(guard, lookup=lookup) as resolver:
        connector = BoundedConnector(
            ssl=_tls(ca_file),
            resolver=resolver,
            socket_factory=guard.make_socket,
            # The caps are kept before a post begins; a wait in here would count against it.
            limit=0,
            keepalive_timeout=KEEP_ALIVE,
        )
        async with aiohttp.ClientSession(
            connector=connector,
            # The time in all is kept by the sender: it has room for two tries.
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A small answer may unpack to any size.
            auto_decompress=False,
            headers={"Accept-Encoding": "identity"},
            trust_env=False,
            trace_configs=[_noting_reuse()],
        ) as session:
            yield HttpSender(session, limits)


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _noting_reuse() -> aiohttp.TraceConfig:
    async def note(
        _session: aiohttp.ClientSession,
        context: SimpleNamespace,
        _params: aiohttp.TraceConnectionReuseconnParams,
    ) -> None:
        context.trace_request_ctx.reused_connection = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    return trace
