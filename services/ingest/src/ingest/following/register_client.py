"""Requests to a register: retries, limits of its answers, proxies and TLS."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
import orjson
from prometheus_client import Counter
from yarl import URL


class RegisterUnavailable(Exception):
    """A register cannot be reached; the message describes the last attempt."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        #: The wait that the register requested.
        self.retry_after = retry_after


class RegisterFault(Exception):
    """A register's answer cannot be used, and a retry would not help."""


class UntrustedRegister(RegisterFault):
    """The certificate of a register is not trusted, so it has given no answer."""


class TransientError(Exception):
    """A failed request that may succeed when retried."""

    def __init__(
        self, reason: str, *, result: str, wait: timedelta | None = None, done: bool = True
    ) -> None:
        super().__init__(reason)
        self.result = result
        #: The wait that the register requested.
        self.wait = wait
        #: True if the register may have processed the request.
        self.done = done


#: Bytes of a body that are read, and of a download that are written, at once.
_PART: Final = 1 << 18
#: Makes zlib expect a gzip header.
_GZIP: Final = zlib.MAX_WBITS | 16
#: Maximum size of a downloaded file in bytes, as transferred. Norway's have 200 MB.
MAX_FILE: Final = 4 << 30

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Maximum size of a JSON body after decompression; a larger one is a fault of the register.

    `{},` takes twenty times its size once parsed, so values are limited as well as bytes.
    """

    size: int
    values: int


#: One entity, or the roles of one. Large ones have 100 kB.
ENTITY: Final = BodyLimit(4 << 20, 200_000)
#: A page of a feed (10,000 entries have 4 MB), or a list of 200 entities.
PAGE: Final = BodyLimit(16 << 20, 500_000)
#: A page of a scroll: 100 Danish documents have 6 MB.
SCROLL: Final = BodyLimit(64 << 20, 2_000_000)


async def read_json(response: aiohttp.ClientResponse, limit: BodyLimit) -> Any:
    """Returns the JSON of the body; None if the body is empty.

    Raises RegisterFault for a body over the limit, compressed or not, and TransientError for one
    that is truncated or not JSON: failing proxies respond with pages of their own.
    """
    body = await _read(response, limit.size)
    if body.count(b",") + body.count(b"[") + body.count(b"{") > limit.values:
        raise RegisterFault(f"the response has more than {limit.values:,} values")
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        raise TransientError("the response is not JSON", result="broken_off") from None


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP) if is_gzip(response) else None
    body = bytearray()
    async for part in response.content.iter_chunked(_PART):
        body += part if unpacker is None else _unpacked(unpacker, part, limit + 1 - len(body))
        if len(body) > limit:
            raise RegisterFault(f"the response is larger than {limit:,} bytes")
        if unpacker is not None and unpacker.eof:
            break
    if unpacker is not None and body and not unpacker.eof:
        raise TransientError("the response is truncated", result="broken_off")
    return bytes(body)


def _unpacked(unpacker: "zlib._Decompress", part: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(part, limit)
    except zlib.error:
        raise TransientError("the response cannot be decompressed", result="broken_off") from None


def is_gzip(response: aiohttp.ClientResponse) -> bool:
    """Raises RegisterFault for a content coding that was not requested."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        raise RegisterFault(f"the response has the content coding {coding}")
    return coding != "identity"


async def write(content: aiohttp.StreamReader, target: Path) -> None:
    """Raises RegisterFault for a file over the maximum size, and RegisterUnavailable."""
    size = 0
    file = await _on_disk(lambda: target.open("wb"))
    try:
        async for part in content.iter_chunked(_PART):
            size += len(part)
            if size > MAX_FILE:
                raise RegisterFault(f"the file is larger than {MAX_FILE:,} bytes")
            await _on_disk(partial(file.write, part))
    finally:
        await _on_disk(file.close)


async def _on_disk(work: Callable[[], T]) -> T:
    """Raises RegisterUnavailable if the disk is full or broken, which may pass.

    Only the disk access is covered: connections raise OSError too.
    """
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise RegisterUnavailable(f"the response cannot be written to disk: {error}") from None


#: Maximum wait that a register's Retry-After can cause.
_MAX_WAIT: Final = timedelta(days=1)
#: Longer numbers exceed that wait, and may exceed the range of a timedelta.
_MAX_DIGITS: Final = 9

#: Maximum redirects of a download.
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
#: Timeout of a whole response as a multiple of the timeout of one wait, and that of a file.
_WAITS_OF_AN_ANSWER: Final = 10
_MAX_DOWNLOAD: Final = timedelta(hours=6)

#: Statuses that are retried.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

_REQUESTS = Counter(
    "register_requests_total",
    "Requests to the registers by result",
    ["register", "result"],
)


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies of requests, and the hosts that are reached without one."""

    #: By the scheme of the register's URL. They may contain a password.
    urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: As curl reads `NO_PROXY`: hosts and domains, comma-separated.
    unproxied: str = ""

    def of(self, url: URL) -> str | None:
        """Returns the proxy of a request to a URL; None if it is sent directly."""
        proxy = self.urls.get(url.scheme)
        if proxy is None or any(map(partial(_is_of, url), self.unproxied.lower().split(","))):
            return None
        return proxy


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries of requests to a register."""

    user_agent: str
    #: Seconds to wait before each retry.
    waits: Callable[[], Iterator[float]]
    #: For connecting, and for each part of a response.
    timeout: timedelta = timedelta(seconds=30)
    max_attempts: int = 5
    #: After a longer Retry-After the request is left to the next pass.
    patience: timedelta = timedelta(minutes=5)
    #: Other hosts that a file may be redirected to.
    file_hosts: Collection[str] = ()
    proxies: Proxies = Proxies()
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Answer:
    """A register's response to one request."""

    status: int
    headers: Mapping[str, str]
    #: The JSON of the body; None if there is none.
    content: Any = None


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the statuses that it accepts."""

    method: str
    url: URL
    json: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    accepted: Collection[int] = (200,)
    #: True if the request may be retried when its effect is unknown.
    repeatable: bool = True
    #: Maximum size of the response's JSON.
    limit: BodyLimit = ENTITY


@asynccontextmanager
async def sessions(
    retry_policy: RetryPolicy, *, ca_file: Path | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections to the registers; TLS is verified; `ca_file` adds to the system's CAs."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    async with aiohttp.ClientSession(
        headers={"User-Agent": retry_policy.user_agent},
        connector=aiohttp.TCPConnector(ssl=context),
    ) as session:
        yield session


class RegisterClient:
    """A client of one register for one source, which sends one request at a time."""

    def __init__(  # noqa: PLR0913 (what identifies a register, and how it is reached)
        self,
        session: aiohttp.ClientSession,
        base: URL,
        *,
        register: str,
        retry_policy: RetryPolicy,
        headers: Mapping[str, str] | None = None,
        unreached: str = "",
    ) -> None:
        """`unreached` ends the message of a connection that fails."""
        self._session = session
        self._unreached = unreached
        self._base = base
        self._register = register
        self._retry_policy = retry_policy
        self._headers = headers or {}
        self._one_at_a_time = asyncio.Lock()

    def url(self, path: str, parameters: Mapping[str, str] | None = None) -> URL:
        """Returns a URL below the register's base, or of the host if `path` begins with a slash."""
        where = self._base.with_path(path) if path.startswith("/") else self._base / path
        return where.with_query(parameters or {})

    async def ask(self, call: Call) -> Answer:
        """Sends a request; returns the response, whose status the call accepts.

        Raises RegisterUnavailable when the retry policy allows no further attempt, and
        RegisterFault for a response that a retry would not change.
        """

        async def once() -> Answer:
            async with self._response(call) as response:
                content = await read_json(response, call.limit)
                return Answer(response.status, response.headers, content)

        return await self._trying(call, once)

    async def fetch(self, call: Call, *, limit: int, timeout: timedelta) -> Answer:
        """Returns a response whose content is the bytes of a 200, unpacked up to the limit.

        Redirects are followed as those of a download, within the timeout. Raises what `ask` does.
        """

        async def once() -> Answer:
            try:
                async with (
                    asyncio.timeout(timeout.total_seconds()),
                    self._response(call, is_file=True) as response,
                ):
                    content = await _read(response, limit) if response.status == 200 else b""
                    return Answer(response.status, response.headers, content)
            except TimeoutError:
                raise TransientError("no response in time", result="timeout") from None

        return await self._trying(call, once)

    async def download(self, call: Call, target: Path) -> Answer:
        """Writes the body of a 200 to `target`; returns the response without it.

        Raises what `ask` does, and RegisterUnavailable if the body cannot be written.
        """

        async def once() -> Answer:
            async with self._response(call, is_file=True) as response:
                if response.status == 200:
                    is_gzip(response)
                    await write(response.content, target)
                return Answer(response.status, response.headers)

        return await self._trying(call, once)

    async def _trying(self, call: Call, once: Callable[[], Awaitable[Answer]]) -> Answer:
        for number, wait in enumerate(self._retry_policy.waits(), start=1):
            try:
                async with self._one_at_a_time:
                    answer = await once()
            except TransientError as fault:
                _REQUESTS.labels(self._register, fault.result).inc()
                is_last = number >= self._retry_policy.max_attempts
                given_up = is_last or (fault.done and not call.repeatable)
                asked_for = fault.wait or timedelta()
                if given_up or asked_for > self._retry_policy.patience:
                    what = f"{call.method} {call.url.path}: {fault}"
                    raise RegisterUnavailable(what, retry_after=fault.wait) from None
                await self._retry_policy.sleep(max(wait, asked_for.total_seconds()))
            else:
                _REQUESTS.labels(self._register, str(answer.status)).inc()
                return answer
        raise AssertionError("there is always another wait")

    @asynccontextmanager
    async def _response(
        self, call: Call, *, is_file: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Makes one attempt; raises TransientError, or RegisterFault if a retry would not help."""
        url = call.url
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                async with self._request(call, url, is_file=is_file) as response:
                    if is_file and response.status in _REDIRECTS:
                        url = self._redirected(call.url, url, response)
                        continue
                    self._check_status(call, response)
                    yield response
                    return
            raise RegisterFault(f"{call.url.path}: more than {_MAX_REDIRECTS} redirects")
        except aiohttp.ClientConnectorCertificateError as error:
            raise UntrustedRegister(f"untrusted certificate: {error}") from None
        except aiohttp.ClientHttpProxyError as error:
            # Its message has the URL of the proxy, and with it a password.
            raise TransientError(
                f"the proxy answered {error.status}", result="no_connection", done=False
            ) from None
        except aiohttp.ClientConnectorError as error:
            raise TransientError(
                f"no connection ({error}){self._unreached}", result="no_connection", done=False
            ) from None
        except aiohttp.ConnectionTimeoutError:
            raise TransientError(
                f"no connection in time{self._unreached}", result="timeout", done=False
            ) from None
        except TimeoutError:
            raise TransientError("no response in time", result="timeout") from None
        except aiohttp.ClientError as error:
            raise TransientError(f"the response broke off ({error})", result="broken_off") from None

    def _request(
        self, call: Call, url: URL, *, is_file: bool
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        # Credentials are sent to the register's own host only.
        own = self._headers if url.origin() == call.url.origin() else {}
        wait = self._retry_policy.timeout
        whole = _MAX_DOWNLOAD if is_file else wait * _WAITS_OF_AN_ANSWER
        seconds = wait.total_seconds()
        return self._session.request(
            call.method,
            url,
            json=call.json,
            headers={"Accept-Encoding": "gzip", **own, **call.headers},
            allow_redirects=False,
            # Responses are decompressed up to their limit. Files stay compressed, so that a
            # truncated one is detected.
            auto_decompress=False,
            # Not by `trust_env`, which would also send passwords of a .netrc.
            proxy=self._retry_policy.proxies.of(url),
            timeout=aiohttp.ClientTimeout(
                total=whole.total_seconds(), sock_connect=seconds, sock_read=seconds
            ),
        )

    def _redirected(self, asked: URL, url: URL, response: aiohttp.ClientResponse) -> URL:
        """Returns the target of a file's redirect: the register's host, or one that is allowed."""
        try:
            target = url.join(URL(response.headers.get("Location", "")))
        except ValueError:
            raise RegisterFault(f"{asked.path}: a redirect without a valid URL") from None
        if target.scheme not in ("https", url.scheme):
            raise RegisterFault(f"{asked.path}: a redirect from HTTPS to {target.scheme}")
        if target.host is None or target.host not in (asked.host, *self._retry_policy.file_hosts):
            raise RegisterFault(
                f"{asked.path}: a redirect to {target.host}, which REGISTER_FILE_HOSTS lacks"
            )
        return target

    def _check_status(self, call: Call, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status in call.accepted:
            return
        what = f"status {status}"
        if status in _PASSING:
            wait = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            raise TransientError(what, result=str(status), wait=wait, done=status != 429)
        _REQUESTS.labels(self._register, str(status)).inc()
        raise RegisterFault(f"{call.method} {call.url.path}: {what}")


def _is_of(url: URL, name: str) -> bool:
    """Returns True if a URL's host is of a name of `NO_PROXY`, or of a domain with that name."""
    domain = name.strip().removeprefix("*.").lstrip(".")
    hosts = (url.host, f"{url.host}:{url.port}")
    return domain == "*" or (
        bool(domain) and any(f".{host}".endswith(f".{domain}") for host in hosts)
    )


def retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Returns the wait that a Retry-After header requests, at most a day; None if it is invalid.

    The header holds seconds or a date.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        digits = text.strip()
        wait = timedelta(seconds=int(digits)) if len(digits) <= _MAX_DIGITS else _MAX_WAIT
        return min(wait, _MAX_WAIT)
    try:
        wait = http_date(text) - now
    except (ValueError, OverflowError):
        return None
    return min(max(wait, timedelta()), _MAX_WAIT)


def http_date(text: str) -> datetime:
    """Returns a header's time, in UTC by default; raises ValueError and OverflowError."""
    at = parsedate_to_datetime(text)
    return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
