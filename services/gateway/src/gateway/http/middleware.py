"""Request middleware: authentication, problems, headers, metrics and one log line per request.

Handlers read its results from the request's `RequestContext`, which `/api/me` shows.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from common.contracts.events import rfc3339
from common.contracts.lookup import SearchType
from common.runtime import tracing
from common.runtime.public_port.conditional import compress
from common.runtime.public_port.rates import Quota
from gateway.access.authentication import Access, Authenticator
from gateway.access.clients import Caller
from gateway.access.keys import ApiKey
from gateway.access.requests import KeyRequest, KeyRequests, shown_path
from gateway.access.usage import Usage
from gateway.http.parameters import Format, unknown_parameters, wanted_format
from gateway.http.responses import (
    REQUEST_ID,
    cors_headers,
    json_response,
    problem_of_aiohttp,
    problem_response,
    varying,
)
from gateway.problems import InternalError, Problem, Unauthorized, UnsupportedMediaType

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class HttpMetrics:
    """Metrics of one application; the label sets are few, so their children are cached."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._requests = Counter(
            "http_requests_total",
            "Requests by route, status and search type",
            ["route", "status", "search_type"],
            registry=registry,
        )
        self._seconds = Histogram(
            "http_request_duration_seconds",
            "From the request's arrival to its response",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self._limited = Counter(
            "http_requests_rate_limited_total",
            "Requests rejected by the rate limit",
            ["policy"],
            registry=registry,
        )
        for policy in ("anonymous", "key", "unproven-key", "visitor"):
            self._limited.labels(policy)  # Prometheus sees no increase in a counter's first sample
        self._in_flight = Gauge(
            "http_requests_in_flight", "Requests in progress", registry=registry
        )
        self._in_flight.set_function(lambda: self.in_flight)
        self._of_request: dict[tuple[str, int, str], Counter] = {}
        self._of_route: dict[str, Histogram] = {}
        self.in_flight = 0

    def done(self, route: str, status: int, search_type: str, seconds: float) -> None:
        """Counts a finished request, and observes its duration in seconds."""
        labels = (route, status, search_type)
        requests = self._of_request.get(labels)
        if requests is None:
            requests = self._of_request[labels] = self._requests.labels(*labels)
        requests.inc()
        latency = self._of_route.get(route)
        if latency is None:
            latency = self._of_route[route] = self._seconds.labels(route)
        latency.observe(seconds)

    def limited(self, policy: str) -> None:
        """Counts a request that is answered with 429, under the policy of its client."""
        self._limited.labels(policy).inc()


#: A caller's own request id is kept when it is at most 128 visible ASCII characters.
_SANE_ID = re.compile(r"[!-~]{1,128}")

ME_PATH = "/api/me"

#: Label of unknown paths in metrics and logs.
UNMATCHED = "unmatched"

#: Of what nobody pays for: a browser sends OPTIONS ahead of a request, without its key.
UNCOUNTED = Access(counted=False)

#: Of lookups: those that are searched for; the others are one indexed read.
_HEAVY_SEARCHES = frozenset({SearchType.NAME, SearchType.ADDRESS, "search"})

log = structlog.get_logger()


@dataclass(slots=True)
class RequestContext:
    """Context of an admitted request."""

    caller: Caller
    #: The remaining quota of the client.
    quota: Quota
    #: The verified key; None in anonymous requests.
    key: ApiKey | None = None
    #: The requested search and its country, once the query is read.
    search_type: str = "none"
    country: str | None = None
    #: The code of the problem that it was answered with.
    problem: str | None = None

    @property
    def request_id(self) -> str:
        """The id of the request."""
        return self.caller.request_id

    @property
    def required_key(self) -> ApiKey:
        """The key, of a route that needs one."""
        if self.key is None:
            raise Unauthorized("an API key is needed")
        return self.key


REQUEST_CONTEXT = web.RequestKey("request_context", RequestContext)


def parameters_of(request: web.BaseRequest) -> dict[str, list[str]]:
    """Returns the query string's parameters, each with all its values."""
    return {name: request.query.getall(name) for name in request.query}


def accept_of(request: web.BaseRequest) -> str:
    """Returns the values of all Accept headers."""
    return ",".join(request.headers.getall(hdrs.ACCEPT, ()))


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """Properties of a route that apply before its handler runs."""

    access: Access
    #: True if the request selects the format of its problems.
    has_formats: bool = False
    #: Sent with each of its answers.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Query parameters that its handler refuses by itself.
    refused: frozenset[str] = frozenset()
    #: True if clients of its protocol send query parameters of their own, which are ignored.
    is_open: bool = False
    #: True if a request costs the processor time of a search or more.
    is_heavy: bool = False


@dataclass(frozen=True, slots=True)
class RequestMiddleware:
    """Middleware of every request; `handle` is the function."""

    authenticator: Authenticator
    #: By registered path; other paths are `others`.
    routes: Mapping[str, RouteFacts]
    others: RouteFacts
    #: Query parameters by method and path, as the OpenAPI document has them.
    parameters: Mapping[tuple[str, str], Sequence[str]]
    metrics: HttpMetrics
    usage: Usage
    #: None: requests of keys are not kept.
    requests: KeyRequests | None
    #: Unix time in seconds.
    time: Callable[[], float]
    clock: Callable[[], float]
    new_id: Callable[[], str]

    @web.middleware
    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Returns the handler's response, or a problem's if the request is refused or fails."""
        request_id = self._request_id(request)
        tracing.REQUEST_ID.set(request_id)
        if tracing.tracer is None:
            tracing.CURRENT.set(tracing.trace_of(request.headers))
            return await self._answer(request, handler, request_id)
        with tracing.serving(request, _path_of(request), request_id) as recorded:
            response = await self._answer(request, handler, request_id)
            recorded[tracing.STATUS] = response.status
            return response

    async def _answer(
        self, request: web.Request, handler: Handler, request_id: str
    ) -> web.StreamResponse:
        started = self.clock()
        self.metrics.in_flight += 1
        try:
            path = _path_of(request)
            facts = self.routes.get(path, self.others)
            access = UNCOUNTED if request.method == hdrs.METH_OPTIONS else facts.access
            quota, key, refusal, client = await self.authenticator.admit(request, access)
            if path is UNMATCHED:
                # A known path that does not allow the method responds in its own format.
                facts = self.routes.get(request.path, self.others)
            context = request[REQUEST_CONTEXT] = RequestContext(
                Caller(request_id, client), quota, key
            )
            try:
                _check_encoding(request)
                if refusal is not None:
                    raise refusal
                self._check_parameters(request, path, facts)
                response = await handler(request)
            except Exception as error:  # noqa: BLE001 (becomes a problem, and is logged)
                response = _problem(request, context, facts, error)
            _add_headers(request, response, context, facts)
            if isinstance(response, web.Response):
                await compress(request, response)
            is_heavy = facts.is_heavy or context.search_type in _HEAVY_SEARCHES
            self.usage.done(key, is_heavy=is_heavy, status=response.status)
            self._record(request, path, response.status, context, self.clock() - started)
            return response
        finally:
            self.metrics.in_flight -= 1

    def _check_parameters(self, request: web.Request, path: str, facts: RouteFacts) -> None:
        # OPTIONS has the query of the request that a browser sends next.
        is_checked = path is not UNMATCHED and not facts.is_open
        if not request.query or not is_checked or request.method == hdrs.METH_OPTIONS:
            return
        is_head = request.method == hdrs.METH_HEAD
        method = hdrs.METH_GET if is_head else request.method
        known = self.parameters.get((method, path), ())
        unknown = [n for n in request.query if n not in known and n not in facts.refused]
        if unknown:
            raise unknown_parameters(dict.fromkeys(unknown), known)

    def _request_id(self, request: web.Request) -> str:
        given = request.headers.get(REQUEST_ID)
        return given if given and _SANE_ID.fullmatch(given) else self.new_id()

    def _record(
        self,
        request: web.Request,
        path: str,
        status: int,
        context: RequestContext,
        seconds: float,
    ) -> None:
        self._keep(request, path, status, context, seconds)
        self.metrics.done(path, status, context.search_type, seconds)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            self.metrics.limited(context.quota.name)
        log.info(
            "request.done",
            request_id=context.request_id,
            method=request.method,
            route=path,
            status=status,
            duration_ms=round(seconds * 1000, 3),
            search_type=context.search_type,
            **self._who(context),
            **({"country": context.country} if context.country else {}),
            **({"problem": context.problem} if context.problem else {}),
        )

    def _keep(
        self,
        request: web.Request,
        path: str,
        status: int,
        context: RequestContext,
        seconds: float,
    ) -> None:
        if context.key is None or self.requests is None:
            return
        shown = path
        if request.query:
            known = self.parameters.get((request.method, path), ())
            shown = shown_path(path, request.query.items(), known)
        kept = KeyRequest(
            self.time(),
            request.method,
            shown,
            status,
            round(seconds * 1000, 3),
            context.request_id,
            context.problem,
        )
        self.requests.add(context.key, kept)

    def _who(self, context: RequestContext) -> dict[str, str | None]:
        """The client in the log: its key and owner, or a name of its address for a day."""
        if context.key is None:
            return {"client": self.usage.name_of(context.caller.client)}
        return {"key_id": context.key.id, "owner": context.key.owner}


def _path_of(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return UNMATCHED if resource is None else resource.canonical


def _check_encoding(request: web.Request) -> None:
    if hdrs.CONTENT_ENCODING in request.headers and request.body_exists:
        raise UnsupportedMediaType(
            "send the body without a Content-Encoding", accept_encoding="identity"
        )


def _problem(
    request: web.Request, context: RequestContext, facts: RouteFacts, error: Exception
) -> web.Response:
    if isinstance(error, Problem):
        problem = error
    elif isinstance(error, web.HTTPException):
        problem = problem_of_aiohttp(error)
    else:
        log.error("request.failed", request_id=context.request_id, exc_info=error)
        problem = InternalError()
    context.problem = problem.code
    format_ = Format.JSON
    if facts.has_formats:
        format_ = wanted_format(parameters_of(request), accept=accept_of(request))
    return problem_response(problem, context.request_id, format_)


def _add_headers(
    request: web.Request,
    response: web.StreamResponse,
    context: RequestContext,
    facts: RouteFacts,
) -> None:
    headers = response.headers
    headers[REQUEST_ID] = context.request_id
    headers["RateLimit-Policy"] = context.quota.policy
    headers["RateLimit"] = context.quota.state
    headers.update(facts.headers)
    if facts.access.for_visitors and (origin := _origin_of_page(request, context, facts)):
        headers.update(varying(cors_headers(origin), facts.headers[hdrs.VARY]))


def _origin_of_page(request: web.Request, context: RequestContext, facts: RouteFacts) -> str | None:
    """Returns the origin whose scripts may read the answer, if the settings do not allow it."""
    origin = request.headers.get(hdrs.ORIGIN)
    if facts.headers.get(hdrs.ACCESS_CONTROL_ALLOW_ORIGIN) == "*":
        return None
    if request.method == hdrs.METH_OPTIONS:
        # A preflight has no key, and its answer no data: the answer that follows is decided.
        return origin
    is_of_key = context.key is not None and origin in context.key.origins
    return origin if is_of_key else None


async def show_key(request: web.Request) -> web.Response:
    """Handles `GET /api/me`; the request counts like any other."""
    context = request[REQUEST_CONTEXT]
    return json_response(orjson.dumps(_document(context.required_key, context.quota)))


def _document(key: ApiKey, quota: Quota) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "owner": key.owner,
        "scopes": sorted(key.scopes),
        "created_at": rfc3339(key.created_at),
        "expires_at": None if key.expires_at is None else rfc3339(key.expires_at),
        "rate": {
            "count": quota.rate.count,
            "window_seconds": quota.rate.window,
            "remaining": quota.remaining,
            "reset_seconds": quota.reset,
        },
    }
