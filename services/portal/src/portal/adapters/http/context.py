"""Context of handlers: the dependencies, and the API with the key of the request's session."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Final

import httpx
from aiohttp import web
from multidict import MultiDictProxy
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from common.domain.clients import Network
from common.runtime import tracing
from common.runtime.public_port.rates import RateLimiter, address_of
from company_registry import AsyncClient, Retries
from portal.adapters.http.ended_sessions import EndedSessions, Replicas
from portal.adapters.http.sessions import SessionPolicy, SignedIn, forwarded_for
from portal.adapters.reading import MAX_FILE, Reader
from portal.adapters.spreadsheets import Spreadsheets
from portal.adapters.uploads import Uploads
from portal.domain.wording import LimitReached

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

#: For a waiting user: few retries, and none longer than a page may take.
_RETRIES: Final = Retries(attempts=2, max_delay=0.5, max_retry_after=1)

#: In the background: retries outlast an outage of a minute, and the window of a rate limit.
_PATIENT: Final = Retries(attempts=10, max_delay=10, max_retry_after=120)
#: Seconds for a response to a hundred records.
_PATIENT_TIMEOUT: Final = 30.0


class HttpMetrics:
    """Prometheus metrics of one application."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._requests = Counter(
            "portal_http_requests_total",
            "Requests by route and status",
            ["route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "portal_http_request_duration_seconds",
            "From the request's arrival to its response",
            ["route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._sign_ins = Counter(
            "portal_sign_ins_total",
            "Sign-ins by result: accepted or refused",
            ["result"],
            registry=registry,
        )
        self._limited = Counter(
            "portal_http_requests_rate_limited_total",
            "Requests beyond the rate of their session, or of their address without one",
            ["policy"],
            registry=registry,
        )
        for policy in ("address", "session"):
            self._limited.labels(policy)  # Prometheus sees no increase in a first sample
        self.live_readers = Gauge(
            "portal_live_readers", "Open pages that follow events live", registry=registry
        )
        self.customer_files = Gauge(
            "portal_customer_files", "Files of customers in memory", registry=registry
        )

    def done(self, route: str, status: int, seconds: float) -> None:
        """Counts a response and observes its duration, by route."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def limited(self, policy: str) -> None:
        """Counts a request that is answered with 429."""
        self._limited.labels(policy).inc()

    def signed_in(self, *, accepted: bool) -> None:
        """Counts an attempt to sign in."""
        self._sign_ins.labels("accepted" if accepted else "refused").inc()


class TooManyReaders(LimitReached):
    """As many pages follow events as this process allows."""

    detail = "Too many pages follow events live."


class TooManyReadersOfKey(LimitReached):
    """As many pages of this key follow events as this process allows."""

    status = 429
    title = "Too many live pages"
    detail = "Too many pages follow events live with your key. Close some of them."


class TooManyRequests(LimitReached):
    """The session, or the address of a reader without one, has no requests left."""

    status = 429
    title = "Too many requests"

    def __init__(self, wait: int) -> None:
        super().__init__()
        self.retry_after = max(1, wait)
        self.detail = f"Try again in {self.retry_after} s."


@dataclass(frozen=True, slots=True)
class Budgets:
    """The requests of a session, and those of an address that has none."""

    session: RateLimiter
    address: RateLimiter
    #: Networks whose X-Forwarded-For is trusted.
    trusted_proxies: Sequence[Network]
    metrics: HttpMetrics

    def take(self, request: web.Request, session_id: str | None) -> None:
        """Counts a request; raises TooManyRequests."""
        if session_id is None:
            quota = self.address.take(address_of(request, self.trusted_proxies))
        else:
            quota = self.session.take(session_id)
        if not quota.allowed:
            self.metrics.limited(quota.name)
            raise TooManyRequests(quota.reset)


@dataclass(frozen=True, slots=True)
class FormLimits:
    """Limits of a form, checked before it is parsed."""

    #: Bytes, and fields: our longest pages have a hundred.
    size: int = 64 * 1024
    fields: int = 1000
    #: Parts of a form with a file, the lines of their heads and between them, and the bytes of a
    #: part that is no file.
    parts: int = 4
    lines: int = 64
    field_size: int = 1024

    @property
    def upload_size(self) -> int:
        """The bytes of a form with a file."""
        return MAX_FILE + self.size


class LiveReaders:
    """The tasks of open pages that follow events: bounded, and ended by a shutdown."""

    def __init__(self, maximum: int, maximum_per_key: int, metrics: HttpMetrics) -> None:
        self._maximum = maximum
        self._maximum_per_key = maximum_per_key
        self._metrics = metrics
        #: The key of each task.
        self._tasks: dict[asyncio.Task[Any], str] = {}

    @contextmanager
    def reading(self, key: str) -> Iterator[None]:
        """Counts the current task as a reader; raises TooManyReaders, TooManyReadersOfKey."""
        if len(self._tasks) >= self._maximum:
            raise TooManyReaders
        if list(self._tasks.values()).count(key) >= self._maximum_per_key:
            raise TooManyReadersOfKey
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"  # noqa: S101 (not an input)
        self._tasks[task] = key
        self._metrics.live_readers.set(len(self._tasks))
        try:
            yield
        finally:
            del self._tasks[task]
            self._metrics.live_readers.set(len(self._tasks))

    async def end(self, _app: web.Application) -> None:
        """Ends all readers; browsers connect again, to another process."""
        for task in self._tasks:
            task.cancel()


@dataclass(frozen=True, slots=True)
class Registries:
    """Clients of the API, each with the key of a user, that share their connections."""

    url: str
    http: httpx.AsyncClient
    #: Seconds.
    timeout: float

    async def fault(self) -> str | None:
        """Returns why the API does not answer. OPTIONS is not counted by its rate limits."""
        try:
            response = await self.http.options(f"{self.url}/api", timeout=1)
        except httpx.HTTPError:
            return "the API cannot be reached"
        return None if response.status_code < 500 else f"the API answers {response.status_code}"


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses outside of the portal, for its users; empty where there is none."""

    api_reference: str = ""
    #: Where users request a key.
    key_request: str = ""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the handlers."""

    registries: Registries
    sessions: SessionPolicy
    ended: EndedSessions
    replicas: Replicas
    budgets: Budgets
    forms: FormLimits
    live: LiveReaders
    spreadsheets: Spreadsheets
    reader: Reader
    uploads: Uploads
    metrics: HttpMetrics
    links: Links
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    #: In UTC, to which ages on pages refer.
    now: Callable[[], datetime]
    new_id: Callable[[], str]


DEPENDENCIES: Final = web.AppKey("dependencies", Dependencies)
REQUEST_ID: Final = web.RequestKey("request_id", str)
SIGNED_IN: Final = web.RequestKey("signed_in", SignedIn)
#: The fields of a form without a file, once it has been read.
FORM: Final = web.RequestKey("form", MultiDictProxy[Any])
#: The name of an uploaded file, "" without one, and its bytes.
UPLOADED: Final = web.RequestKey("uploaded", tuple[str, IO[bytes]])


def registry_with(request: web.Request, key: str, *, is_patient: bool = False) -> AsyncClient:
    """Returns the API with a key; raises ValueError for a key of another form.

    The API counts by the addresses of the browser and its proxies where it trusts the portal
    (TRUSTED_PROXIES of the gateway).
    """
    registries, trace = request.app[DEPENDENCIES].registries, tracing.CURRENT.get()
    return AsyncClient(
        registries.url,
        key,
        timeout=_PATIENT_TIMEOUT if is_patient else registries.timeout,
        retries=_PATIENT if is_patient else _RETRIES,
        headers={
            "X-Forwarded-For": forwarded_for(request),
            "X-Request-Id": request[REQUEST_ID],
            **({} if trace is None else trace.fields()),
        },
        http=registries.http,
    )


def registry_of(request: web.Request, *, is_patient: bool = False) -> AsyncClient:
    """Returns the API with the key of the session; a patient one is for work in the background."""
    return registry_with(request, request[SIGNED_IN].key, is_patient=is_patient)
