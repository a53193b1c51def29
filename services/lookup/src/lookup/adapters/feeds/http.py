"""Asking a register over HTTP: politely, one request at a time, and again when that may help."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
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

from lookup.usecases.sync.sources import RegisterAway, RegisterFault

#: The bytes of a download that are written at once.
_PART = 1 << 18
#: However long a register wants to be left alone, it is asked again after this.
_MOST_WAIT: Final = timedelta(days=1)
#: A number of seconds with more digits is over that, and may be more than can be counted.
_MOST_DIGITS: Final = 9

T = TypeVar("T")

#: Answers after which asking again may help.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

_REQUESTS = Counter(
    "register_requests_total",
    "Requests to the registers by what came of them",
    ["register", "result"],
)


@dataclass(frozen=True, slots=True)
class Manners:
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


class _Passing(Exception):
    """It may go better the next time."""

    def __init__(
        self, reason: str, *, result: str, wait: timedelta | None = None, done: bool = True
    ) -> None:
        super().__init__(reason)
        self.result = result
        #: How long the register wants to be left alone.
        self.wait = wait
        #: Whether the register may have done what it was asked.
        self.done = done


@asynccontextmanager
async def sessions(
    manners: Manners, *, ca_file: Path | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """The connections to the registers; TLS is verified, with `ca_file` beside the system's."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    seconds = manners.timeout.total_seconds()
    async with aiohttp.ClientSession(
        headers={"User-Agent": manners.user_agent},
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds),
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
        manners: Manners,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._base = base
        self._register = register
        self._manners = manners
        self._headers = headers or {}
        self._one_at_a_time = asyncio.Lock()

    def url(self, path: str, parameters: Mapping[str, str] | None = None) -> URL:
        """Below the register's base address; from its host's root where it begins with a slash."""
        where = self._base.with_path(path) if path.startswith("/") else self._base / path
        return where.with_query(parameters or {})

    async def ask(self, call: Call) -> Answer:
        """The register's answer, of a status that the call accepts.

        Raises RegisterAway after as many tries as the manners allow, and RegisterFault for an
        answer that another try would not mend.
        """

        async def once() -> Answer:
            async with self._response(call) as response:
                content = _read_json(await response.read())
                return Answer(response.status, response.headers, content)

        return await self._trying(call, once)

    async def download(self, call: Call, target: Path) -> Answer:
        """Writes the body of a 200 to `target`, and gives the answer without it.

        Raises what `ask` does, and RegisterAway when the body cannot be written.
        """

        async def once() -> Answer:
            async with self._response(call, is_file=True) as response:
                if response.status == 200:
                    await _write(response.content, target)
                return Answer(response.status, response.headers)

        return await self._trying(call, once)

    async def _trying(self, call: Call, once: Callable[[], Awaitable[Answer]]) -> Answer:
        for number, wait in enumerate(self._manners.waits(), start=1):
            try:
                async with self._one_at_a_time:
                    answer = await once()
            except _Passing as fault:
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
        """One try; turns what may pass into _Passing and what will not into RegisterFault."""
        try:
            async with self._session.request(
                call.method,
                call.url,
                json=call.json,
                headers={**self._headers, **call.headers},
                # Files may lie elsewhere; nothing else has a reason to.
                allow_redirects=is_file,
                # Files stay as they are packed, so that a truncated one is known for it.
                auto_decompress=not is_file,
            ) as response:
                _check_way(call.url, response.url)
                self._check_status(call, response)
                yield response
        except aiohttp.ClientConnectorCertificateError as error:
            raise RegisterFault(f"its certificate is not trusted: {error}") from None
        except aiohttp.ClientConnectorError as error:
            raise _Passing(f"no connection ({error})", result="no_connection", done=False) from None
        except TimeoutError:
            raise _Passing("no answer in time", result="timeout") from None
        except aiohttp.ClientError as error:
            raise _Passing(f"the answer broke off ({error})", result="broken_off") from None

    def _check_status(self, call: Call, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status in call.accepted:
            return
        what = f"it answered {status}"
        if status in _PASSING:
            wait = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            raise _Passing(what, result=str(status), wait=wait, done=status != 429)
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


def _check_way(asked: URL, answered: URL) -> None:
    if asked.scheme == "https" and answered.scheme != "https":
        raise RegisterFault(f"it leads from HTTPS to {answered.scheme}")


def _read_json(body: bytes) -> Any:
    """What is no JSON counts as cut off: proxies that fail answer with pages of their own."""
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        raise _Passing("the answer is no JSON", result="broken_off") from None


async def _write(content: aiohttp.StreamReader, target: Path) -> None:
    file = await _on_disk(lambda: target.open("wb"))
    try:
        async for part in content.iter_chunked(_PART):
            await _on_disk(partial(file.write, part))
    finally:
        await _on_disk(file.close)


async def _on_disk(work: Callable[[], T]) -> T:
    """Raises RegisterAway where the disk is full or broken: that may pass, as a register's does.

    Connections fail with OSErrors too, so reading the answer is no part of the work.
    """
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise RegisterAway(f"what it sends cannot be kept: {error}") from None
