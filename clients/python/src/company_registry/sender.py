"""Requests and httpx's outcomes; shared by both clients."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import httpx

from company_registry.bodies import ENCODINGS, MAX_RESPONSE, Body
from company_registry.http import Request, Unanswered
from company_registry.retries import Retries

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

#: Seconds for each wait of a request: to connect, to send, to receive.
DEFAULT_TIMEOUT: Final = 30.0

_USER_AGENT: Final = "company-registry-python/1.1.0"

#: The request cannot have reached the service.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


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
        headers: Mapping[str, str] | None = None,
        http: Http | None = None,
    ) -> None:
        """`base_url` is the service's, such as `https://registry.example.com`.

        Without `api_key` only lookups and suggestions work. `timeout` is in seconds.
        `max_response` is the largest answer that is read, in bytes. `headers` are sent with every
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
        key = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._headers = {"User-Agent": _USER_AGENT, **(headers or {}), **key}
        self.is_own = http is None
        self.http: Http = self._opened() if http is None else http

    def _opened(self) -> Http:
        raise NotImplementedError

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

    def unanswered(self, error: httpx.RequestError) -> Unanswered:
        """Returns a request's outcome without a response; `sent` if it may have arrived."""
        host = httpx.URL(self._base_url).netloc.decode()
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
