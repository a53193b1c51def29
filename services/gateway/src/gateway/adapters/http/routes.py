"""Public routes, their access rules, and the application that serves them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from aiohttp import hdrs, web
from prometheus_client import REGISTRY, CollectorRegistry

from common.contracts.lookup import SearchType
from gateway.adapters.http.auth import Access, Authenticator
from gateway.adapters.http.batch import BATCH_PATH, batch_handler
from gateway.adapters.http.cors import cors_headers, options_handler
from gateway.adapters.http.docs.pages import documentation
from gateway.adapters.http.limits import RateLimiter
from gateway.adapters.http.lookup import lookup_handler
from gateway.adapters.http.metrics import HttpMetrics
from gateway.adapters.http.middleware import CONSTANT_HEADERS, RequestMiddleware, RouteFacts
from gateway.adapters.http.suggesting import SUGGEST_PATH, suggest_handler
from gateway.adapters.http.webhooks import ENDPOINTS, EVENT_TYPES_PATH, webhook_handler
from gateway.domain.clients import Network
from gateway.domain.keys import Scope
from gateway.domain.rates import Rate
from gateway.ports import ApiKeys, Lookups, Renderer, Suggestions, Webhooks
from gateway.usecases import LookUpAll

#: Maximum body size in bytes; a lookup has no body, a webhook or a batch a small one.
MAX_BODY_SIZE = 64 * 1024

LOOKUP_PATHS: dict[str, SearchType | None] = {
    "/api": None,
    **{f"/api/{kind.value}": kind for kind in SearchType},
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Dependencies of the application."""

    lookups: Lookups
    suggestions: Suggestions
    webhooks: Webhooks
    keys: ApiKeys
    renderer: Renderer
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    new_id: Callable[[], str]
    #: Ids of created webhooks derive from it, so it is unique.
    new_call_id: Callable[[], UUID]
    registry: CollectorRegistry = REGISTRY


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Access and rate limits of this process."""

    anonymous_lookups: bool = True
    anonymous_rate: Rate
    key_rate: Rate
    trusted_proxies: tuple[Network, ...] = ()
    #: The origin whose scripts may look up; `*` is any, "" none.
    cors_origin: str = "*"


def application(dependencies: Dependencies, policy: Policy) -> web.Application:
    """The public interface as an aiohttp application."""
    pages = documentation()
    authenticator = _authenticator(dependencies, policy)
    passage = RequestMiddleware(
        authenticator=authenticator,
        routes=_facts(policy, pages),
        others=RouteFacts(Access(), headers=CONSTANT_HEADERS),
        metrics=HttpMetrics(dependencies.registry),
        clock=dependencies.clock,
        new_id=dependencies.new_id,
    )

    app = web.Application(middlewares=[passage.handle], client_max_size=MAX_BODY_SIZE)
    _add_lookups(app.router, dependencies, policy)
    look_up_all = LookUpAll(dependencies.lookups)
    app.router.add_post(BATCH_PATH, batch_handler(look_up_all, authenticator.charge))
    for endpoint in ENDPOINTS:
        handler = webhook_handler(dependencies.webhooks, endpoint, dependencies.new_call_id)
        for method in endpoint.methods:
            app.router.add_route(method, endpoint.path, handler)
    for path, page in pages.items():
        app.router.add_get(path, page)
    return app


def _add_lookups(router: web.UrlDispatcher, dependencies: Dependencies, policy: Policy) -> None:
    """Routes without a body, open to cross-origin scripts."""
    handlers: dict[str, Handler] = {
        path: lookup_handler(dependencies.lookups, dependencies.renderer, kind)
        for path, kind in LOOKUP_PATHS.items()
    }
    handlers[SUGGEST_PATH] = suggest_handler(dependencies.suggestions)
    for path, handler in handlers.items():
        router.add_get(path, handler)
        router.add_options(path, options_handler(policy.cors_origin))


def _authenticator(dependencies: Dependencies, policy: Policy) -> Authenticator:
    clock = dependencies.clock
    return Authenticator(
        dependencies.keys,
        anonymous=RateLimiter("anonymous", policy.anonymous_rate, clock=clock),
        keyed=RateLimiter("key", policy.key_rate, clock=clock),
        unproven=RateLimiter("unproven-key", policy.anonymous_rate, clock=clock),
        trusted_proxies=policy.trusted_proxies,
    )


def _varying(headers: Mapping[str, str], name: str) -> dict[str, str]:
    """The headers of answers that also depend on the request header `name`."""
    names = [headers[hdrs.VARY], name] if hdrs.VARY in headers else [name]
    return {**headers, hdrs.VARY: ", ".join(names)}


def _facts(policy: Policy, pages: Iterable[str]) -> dict[str, RouteFacts]:
    lookup = RouteFacts(
        access=Access(scope=Scope.LOOKUP, anonymous=policy.anonymous_lookups),
        has_formats=True,
        headers=CONSTANT_HEADERS | cors_headers(policy.cors_origin),
    )
    suggestions = RouteFacts(access=lookup.access, headers=lookup.headers)
    batch = RouteFacts(Access(Scope.LOOKUP, anonymous=False), headers=CONSTANT_HEADERS)
    webhooks = RouteFacts(Access(Scope.WEBHOOKS, anonymous=False), headers=CONSTANT_HEADERS)
    page = RouteFacts(Access(), headers=_varying(lookup.headers, hdrs.ACCEPT_ENCODING))
    return {
        **dict.fromkeys(LOOKUP_PATHS, lookup),
        SUGGEST_PATH: suggestions,
        BATCH_PATH: batch,
        **dict.fromkeys((endpoint.path for endpoint in ENDPOINTS), webhooks),
        EVENT_TYPES_PATH: RouteFacts(Access(), headers=CONSTANT_HEADERS),
        **dict.fromkeys(pages, page),
    }
