"""The public API, called with the signed-in user's key."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from common.runtime import tracing
from company_registry import AsyncClient, Retries

#: For a waiting user: few retries, and none longer than a page may take.
_RETRIES = Retries(attempts=2, max_delay=0.5, max_retry_after=1)

#: In the background: retries outlast an outage of a minute, and the window of a rate limit.
_PATIENT = Retries(attempts=10, max_delay=10, max_retry_after=120)
#: Seconds for a response to a hundred records.
_PATIENT_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Registries:
    """Clients of the API that share their connections."""

    url: str
    http: httpx.AsyncClient
    #: Seconds.
    timeout: float

    def with_key(
        self, key: str, *, forwarded_for: str, request_id: str, is_patient: bool = False
    ) -> AsyncClient:
        """Returns a client with a key; raises ValueError for a key of another form.

        `forwarded_for` are the addresses of the browser and its proxies: the API counts by them
        where it trusts the portal (TRUSTED_PROXIES of the gateway).
        """
        trace = tracing.CURRENT.get()
        headers = {
            "X-Forwarded-For": forwarded_for,
            "X-Request-Id": request_id,
            **({} if trace is None else trace.fields()),
        }
        timeout = _PATIENT_TIMEOUT if is_patient else self.timeout
        retries = _PATIENT if is_patient else _RETRIES
        return AsyncClient(
            self.url, key, timeout=timeout, retries=retries, headers=headers, http=self.http
        )


def reachable(http: httpx.AsyncClient, url: str) -> Callable[[], Awaitable[str | None]]:
    """Returns a check that the API answers. OPTIONS is not counted by its rate limits."""

    async def check() -> str | None:
        try:
            response = await http.options(f"{url}/api", timeout=1)
        except httpx.HTTPError:
            return "the API cannot be reached"
        return None if response.status_code < 500 else f"the API answers {response.status_code}"

    return check
