"""The connections to the service, which the calls of all agents share."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx


class DirectClient(httpx.AsyncClient):
    """Sends each request as it is given, for a tenth less of a tool call's processor time.

    The API has no cookies and no redirects, and a request brings its own authentication.
    """

    def __init__(self) -> None:
        self._connections = httpx.AsyncHTTPTransport()
        super().__init__(transport=self._connections)

    @asynccontextmanager
    async def stream(  # type: ignore[override]  # noqa: PLR0913 (of `Sender.arguments`)
        self,
        method: str,
        url: str,
        *,
        params: Any = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: httpx.Timeout,
    ) -> AsyncIterator[httpx.Response]:
        """Yields the response to a request of `Sender.arguments`."""
        request = httpx.Request(
            method,
            url,
            params=params,
            json=json,
            headers=headers,
            extensions={"timeout": timeout.as_dict()},
        )
        response = await self._connections.handle_async_request(request)
        response.request = request
        try:
            yield response
        finally:
            await response.aclose()


def connections(url: str) -> httpx.AsyncClient:
    """Returns the client for a service, by way of the proxy that the environment names for it."""
    target = urlsplit(url)
    proxies = getproxies()
    is_proxied = not proxies.keys().isdisjoint({target.scheme, "all"})
    if is_proxied and not proxy_bypass(target.hostname or ""):
        return httpx.AsyncClient()
    return DirectClient()
