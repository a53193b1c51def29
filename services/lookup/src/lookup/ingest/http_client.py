"""Asking a register over HTTP: politely, one request at a time, and again when that may help."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
from prometheus_client import Counter
from yarl import URL

from lookup.ingest.bodies import ENTITY, BodyLimit, Passing, is_gzip, read_json, write
from lookup.ingest.sources import RegisterAway, RegisterFault

#: However long a register wants to be left alone, it is asked again after this.
_MOST_WAIT: Final = timedelta(days=1)
#: A number of seconds with more digits is over that, and may be more than can be counted.
_MOST_DIGITS: Final = 9

#: Redirects of one download.
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
#: An answer may take this many times the limit of a single wait, a file this long.
_WAITS_OF_AN_ANSWER: Final = 10
_MAX_DOWNLOAD: Final = timedelta(hours=6)

#: Answers after which asking again may help.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

_REQUESTS = Counter(
    "register_requests_total",
    "Requests to the registers by what came of them",
    ["register", "result"],
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a register is treated."""

    user_agent: str
    #: Seconds to wait before each further try.
    waits: Callable[[], Iterator[float]]
    #: For connecting, and for each part of an answer.
    timeout: timedelta = timedelta(seconds=30)
    #: How often a request is made before it is given up.
    tries: int = 5
    #: A register that wants to be left alone for longer than this is asked at the next pass.
    patience: timedelta = timedelta(minutes=5)
    #: Other hosts that a file may be redirected to.
    file_hosts: Collection[str] = ()
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    #: The JSON of the body; None where there is none.
    content: Any = None


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and which answers to it are answers at all."""

    method: str
    url: URL
    json: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    accepted: Collection[int] = (200,)
    #: Whether to ask again where nobody knows if the register has done what was asked.
    repeatable: bool = True
    #: Of the answer's JSON.
    limit: BodyLimit = ENTITY


@asynccontextmanager
async def sessions(
    retry_policy: RetryPolicy, *, ca_file: Path | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """The connections to the registers; TLS is verified, with `ca_file` beside the system's."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    async with aiohttp.ClientSession(
        headers={"User-Agent": retry_policy.user_agent},
        connector=aiohttp.TCPConnector(ssl=context),
    ) as session:
        yield session


class RegisterClient:
    """The way to one register, for one source: a request at a time."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base: URL,
        *,
        register: str,
        retry_policy: RetryPolicy,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._base = base
        self._register = register
        self._manners = retry_policy
        self._headers = headers or {}
        self._one_at_a_time = asyncio.Lock()

    def url(self, path: str, parameters: Mapping[str, str] | None = None) -> URL:
        """Below the register's base address; from its host's root where it begins with a slash."""
        where = self._base.with_path(path) if path.startswith("/") else self._base / path
        return where.with_query(parameters or {})

    async def ask(self, call: Call) -> Answer:
        """The register's answer, of a status that the call accepts.

        Raises RegisterAway after as many tries as the retry_policy allow, and RegisterFault for an
        answer that another try would not mend.
        """

        async def once() -> Answer:
            async with self._response(call) as response:
                content = await read_json(response, call.limit)
                return Answer(response.status, response.headers, content)

        return await self._trying(call, once)

    async def download(self, call: Call, target: Path) -> Answer:
        """Writes the body of a 200 to `target`, and gives the answer without it.

        Raises what `ask` does, and RegisterAway when the body cannot be written.
        """

        async def once() -> Answer:
            async with self._response(call, is_file=True) as response:
                if response.status == 200:
                    is_gzip(response)
                    await write(response.content, target)
                return Answer(response.status, response.headers)

        return await self._trying(call, once)

    async def _trying(self, call: Call, once: Callable[[], Awaitable[Answer]]) -> Answer:
        for number, wait in enumerate(self._manners.waits(), start=1):
            try:
                async with self._one_at_a_time:
                    answer = await once()
            except Passing as fault:
                _REQUESTS.labels(self._register, fault.result).inc()
                given_up = number >= self._manners.tries or (fault.done and not call.repeatable)
                asked_for = fault.wait or timedelta()
                if given_up or asked_for > self._manners.patience:
                    what = f"{call.method} {call.url.path}: {fault}"
                    raise RegisterAway(what, retry_after=fault.wait) from None
                await self._manners.sleep(max(wait, asked_for.total_seconds()))
            else:
                _REQUESTS.labels(self._register, str(answer.status)).inc()
                return answer
        raise AssertionError("there is always another wait")

    @asynccontextmanager
    async def _response(
        self, call: Call, *, is_file: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One try; turns what may pass into Passing and what will not into RegisterFault."""
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
            raise RegisterFault(f"{call.url.path}: it redirects more than {_MAX_REDIRECTS} times")
        except aiohttp.ClientConnectorCertificateError as error:
            raise RegisterFault(f"its certificate is not trusted: {error}") from None
        except aiohttp.ClientConnectorError as error:
            raise Passing(f"no connection ({error})", result="no_connection", done=False) from None
        except TimeoutError:
            raise Passing("no answer in time", result="timeout") from None
        except aiohttp.ClientError as error:
            raise Passing(f"the answer broke off ({error})", result="broken_off") from None

    def _request(
        self, call: Call, url: URL, *, is_file: bool
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        # What the register's own host is told, such as a password, is for nobody else.
        own = self._headers if url.origin() == call.url.origin() else {}
        wait = self._manners.timeout
        whole = _MAX_DOWNLOAD if is_file else wait * _WAITS_OF_AN_ANSWER
        seconds = wait.total_seconds()
        return self._session.request(
            call.method,
            url,
            json=call.json,
            headers={"Accept-Encoding": "gzip", **own, **call.headers},
            allow_redirects=False,
            # Answers are unpacked up to their limit. Files stay as they are packed, so that a
            # truncated one is known for it.
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                total=whole.total_seconds(), sock_connect=seconds, sock_read=seconds
            ),
        )

    def _redirected(self, asked: URL, url: URL, response: aiohttp.ClientResponse) -> URL:
        """Where a file lies: on the register's host, or one that is allowed beside it."""
        try:
            target = url.join(URL(response.headers.get("Location", "")))
        except ValueError:
            raise RegisterFault(f"{asked.path}: it redirects to no address") from None
        if target.scheme not in ("https", url.scheme):
            raise RegisterFault(f"{asked.path}: it leads from HTTPS to {target.scheme}")
        if target.host is None or target.host not in (asked.host, *self._manners.file_hosts):
            raise RegisterFault(
                f"{asked.path}: it redirects to {target.host}, which REGISTER_FILE_HOSTS lacks"
            )
        return target

    def _check_status(self, call: Call, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status in call.accepted:
            return
        what = f"it answered {status}"
        if status in _PASSING:
            wait = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            raise Passing(what, result=str(status), wait=wait, done=status != 429)
        _REQUESTS.labels(self._register, str(status)).inc()
        raise RegisterFault(f"{call.method} {call.url.path}: {what}")


def retry_after(text: str | None, now: datetime) -> timedelta | None:
    """The wait that the header asks for, a day at most; None where it tells no time.

    It may be in seconds or until a time.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        digits = text.strip()
        wait = timedelta(seconds=int(digits)) if len(digits) <= _MOST_DIGITS else _MOST_WAIT
        return min(wait, _MOST_WAIT)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    wait = until.replace(tzinfo=until.tzinfo or UTC) - now
    return min(max(wait, timedelta()), _MOST_WAIT)
