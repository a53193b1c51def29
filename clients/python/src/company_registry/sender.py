"""Requests and httpx's outcomes; shared by both clients."""

import re
import time
from collections.abc import Mapping
from functools import lru_cache
from math import ceil
from typing import Any, Final, Generic, TypeVar

import httpx

from company_registry.bodies import ENCODINGS, MAX_RESPONSE, Body
from company_registry.http import Request, Unanswered
from company_registry.retries import Retries

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

#: Seconds for each wait of a request: to connect, to send, to receive.
DEFAULT_TIMEOUT: Final = 30.0

_USER_AGENT: Final = "company-registry-python/1.1.0"

#: Bytes of a body that is read in parts which must come in the time of a whole answer.
_PACE: Final = 4096

#: The request cannot have reached the service.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class TimeLeft:
    """The time of a whole answer, as the timeout of each wait for some of it.

    A timeout of httpx bounds each wait alone, so that a server which sends a byte now and then
    would hold its client. A socket asks this one at each wait, in whole seconds.
    """

    def __init__(self, each: float, total: float) -> None:
        self._each = each
        self.total = total
        self._ends = time.monotonic() + total
        #: The seconds that were left when the last part had come, and the bytes since a whole time.
        self._rest = total
        self._received = 0

    @property
    def is_over(self) -> bool:
        """True if the answer should have come to its end."""
        return time.monotonic() >= self._ends

    @property
    def wait(self) -> "float | TimeLeft":
        """The timeout of a wait; one of less than a second is a number, as sockets need it."""
        return self._each if self._each < 1 else self

    @property
    def seconds(self) -> float:
        """The seconds that are left."""
        return self._ends - time.monotonic()

    def go_on(self) -> None:
        """Begins to wait for another part of a body without an end of its own."""
        self._ends = time.monotonic() + self._rest

    def received(self, count: int) -> None:
        """Ends the wait; after so many bytes the whole time begins again."""
        self.check()
        self._received += count
        self._rest = self.seconds
        if self._received >= _PACE:
            self._rest, self._received = self.total, 0

    def check(self) -> None:
        """Raises the error of a wait that took too long if the time is over."""
        if self.is_over:
            raise httpx.ReadTimeout("the answer has not come to its end")

    def __index__(self) -> int:
        if self.is_over:
            raise TimeoutError
        return ceil(min(self._each, self.seconds))


class Sender(Generic[Http]):
    """Common to both clients: the base URL, and the headers of each request."""

    def __init__(  # noqa: PLR0913 (named options)
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retries: Retries | None = None,
        max_response: int = MAX_RESPONSE,
        max_time: float | None = None,
        headers: Mapping[str, str] | None = None,
        http: Http | None = None,
    ) -> None:
        """`base_url` is the service's, such as `https://registry.example.com`.

        Without `api_key` only lookups and suggestions work. `timeout` is in seconds.
        `max_response` is the largest answer that is read, in bytes, and `max_time` the seconds in
        which it must have come to its end, four times `timeout` unless given; of what is read in
        parts, such as an export, each 4 kB must come in that time. `headers` are sent with every
        request. `http` is an httpx client to send with, for a proxy or a certificate authority of
        your own; it stays open when this client closes.
        Raises ValueError for a URL or key of another form.
        """
        if not is_http_url(base_url):
            raise ValueError("base_url must be a URL such as https://registry.example.com")
        if api_key is not None and not re.fullmatch("[!-~]+", api_key):
            raise ValueError("api_key must be visible ASCII characters, as issued")
        self.retries = Retries() if retries is None else retries
        self.max_response = max_response
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._max_time = 4 * timeout if max_time is None else max_time
        key = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._headers = {"User-Agent": _USER_AGENT, **(headers or {}), **key}
        self.is_own = http is None
        self.http: Http = self._opened() if http is None else http

    def _opened(self) -> Http:
        raise NotImplementedError

    def time_left(self, request: Request) -> TimeLeft:
        """Returns the time of a whole answer, from now on."""
        # A request that the service holds is answered later than others.
        return TimeLeft(self._timeout + request.held, self._max_time + request.held)

    def arguments(self, request: Request) -> dict[str, Any]:
        """Returns the arguments of httpx's `request` for a request."""
        # A request that the service holds is answered later than others.
        read = self._timeout + request.held
        return {
            "method": request.method,
            "url": self._base_url + request.path,
            "params": list(request.query) or None,
            "json": request.body,
            "headers": {**self._headers, **request.headers, "Accept-Encoding": ENCODINGS},
            "timeout": httpx.Timeout(self._timeout, read=read),
        }

    def body(self, answer: httpx.Response) -> Body:
        """Returns the body to add the response's raw parts to."""
        body = Body(answer.headers.get("content-encoding", ""), self.max_response)
        if answer.is_stream_consumed:  # a transport without a network has the whole content
            body = Body("", self.max_response)
            body.add(answer.content)
        return body

    def unanswered(self, error: httpx.RequestError, left: TimeLeft | None = None) -> Unanswered:
        """Returns a request's outcome without a response; `sent` if it may have arrived."""
        host = httpx.URL(self._base_url).netloc.decode()
        if left is not None and left.is_over:
            return Unanswered(f"{host} did not answer in full within {left.total:g} s", sent=True)
        if isinstance(error, httpx.ConnectError):
            return Unanswered(f"could not connect to {host}", sent=False)
        if isinstance(error, httpx.TimeoutException):
            sent = not isinstance(error, _NOT_SENT)
            return Unanswered(f"{host} did not respond within {self._timeout:g} s", sent=sent)
        return Unanswered(f"the connection to {host} broke before it responded", sent=True)


@lru_cache(maxsize=64)
def is_http_url(text: str) -> bool:
    """Returns whether a text is an HTTP or HTTPS URL with a host."""
    try:
        url = httpx.URL(text)
        return url.scheme in ("http", "https") and url.host != ""
    except (httpx.InvalidURL, ValueError):  # the latter for a host that IDNA does not allow
        return False
