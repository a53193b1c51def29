"""What every request passes: admission, its answer or a problem, headers, metrics, one log line."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
from aiohttp import hdrs, web

from gateway.adapters.http.auth import Access, Admission, Gate
from gateway.adapters.http.context import (
    ALLOWANCE,
    API_KEY,
    REQUEST_ID,
    SEARCH_TYPE,
    parameters_of,
)
from gateway.adapters.http.errors import problem_of_aiohttp, problem_response
from gateway.adapters.http.limits import Allowance
from gateway.adapters.http.metrics import HttpMetrics
from gateway.domain.problems import InternalError, Problem
from gateway.domain.query import Format, wanted_format

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: A caller's own request id is kept when it is at most 128 visible ASCII characters.
_SANE_ID = re.compile(r"[!-~]{1,128}")

#: Label of the metrics and the log for paths that are none of ours.
UNMATCHED = "unmatched"

#: OPTIONS is what a browser sends ahead of a request, without its key.
ASKING = Access(counted=False)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """What must be known of a route before its handler runs."""

    access: Access
    #: Whether its problems come in the format that its query asks for.
    has_formats: bool = False
    #: Sent with each of its answers.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """The middleware; `handle` is what aiohttp calls."""

    gate: Gate
    #: By path as it is registered; what is not here is `others`.
    routes: Mapping[str, RouteFacts]
    others: RouteFacts
    metrics: HttpMetrics
    clock: Callable[[], float]
    new_id: Callable[[], str]

    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        started = self.clock()
        self.metrics.in_flight += 1
        try:
            path = _path_of(request)
            facts = self.routes.get(path, self.others)
            request_id = request[REQUEST_ID] = self._request_id(request)
            access = ASKING if request.method == hdrs.METH_OPTIONS else facts.access
            admission = await self.gate.admit(request, access)
            response = await _answer(request, handler, admission, facts)
            allowance = request.get(ALLOWANCE, admission.allowance)
            _add_headers(response, request_id, allowance, facts)
            self._record(request, path, response.status, admission, self.clock() - started)
            return response
        finally:
            self.metrics.in_flight -= 1

    def _request_id(self, request: web.Request) -> str:
        given = request.headers.get("X-Request-Id", "")
        return given if _SANE_ID.fullmatch(given) else self.new_id()

    def _record(
        self, request: web.Request, path: str, status: int, admission: Admission, seconds: float
    ) -> None:
        search_type = request.get(SEARCH_TYPE, "none")
        self.metrics.done(path, status, search_type, seconds)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            self.metrics.limited("anonymous" if admission.key is None else "key")
        log.info(
            "request.done",
            request_id=request[REQUEST_ID],
            method=request.method,
            route=path,
            status=status,
            duration_ms=round(seconds * 1000, 3),
            search_type=search_type,
            key_id=None if admission.key is None else admission.key.id,
        )


def _path_of(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return UNMATCHED if resource is None else resource.canonical


async def _answer(
    request: web.Request, handler: Handler, admission: Admission, facts: RouteFacts
) -> web.StreamResponse:
    try:
        if admission.refusal is not None:
            raise admission.refusal
        if admission.key is not None:
            request[API_KEY] = admission.key
        return await handler(request)
    except Problem as known:
        problem = known
    except web.HTTPException as error:
        problem = problem_of_aiohttp(error)
    except Exception:
        log.exception("request.failed", request_id=request[REQUEST_ID])
        problem = InternalError("an internal error")
    format_ = wanted_format(parameters_of(request)) if facts.has_formats else Format.JSON
    return problem_response(problem, request[REQUEST_ID], format_)


def _add_headers(
    response: web.StreamResponse, request_id: str, allowance: Allowance, facts: RouteFacts
) -> None:
    headers = response.headers
    headers["X-Request-Id"] = request_id
    headers["RateLimit-Policy"] = allowance.policy
    headers["RateLimit"] = allowance.state
    headers.update(facts.headers)
