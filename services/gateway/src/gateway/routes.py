"""Public routes, their access rules, and the application that serves them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from uuid import UUID

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from prometheus_client import REGISTRY, CollectorRegistry

from common.contracts.find import CodeList
from common.contracts.lookup import TYPED_SEARCHES, SearchType
from common.contracts.webhook_api import Operation
from gateway.access.authentication import Access, Authenticator
from gateway.access.keys import ApiKeys, Rate, Scope, utc_now
from gateway.access.quotas import RateLimiter, SharedQuotas
from gateway.events.feed import Events, ReadEvents, WatchedEvents, Watchlists
from gateway.events.feed_api import (
    EVENT_PATH,
    EVENTS_PATH,
    STREAM_PATH,
    event_handler,
    events_handler,
    stream_handler,
)
from gateway.events.notices import FeedNotices
from gateway.exports.exporting import ExportCompanies, Exports, Lease
from gateway.exports.handlers import EXPORT_PATH, export_handler
from gateway.http.documentation import (
    GUIDE_PATH,
    INDEX_PATH,
    documentation,
    guides,
    query_parameters,
)
from gateway.http.middleware import (
    ME_PATH,
    UNCOUNTED,
    HttpMetrics,
    RequestMiddleware,
    RouteFacts,
    show_key,
)
from gateway.http.responses import (
    ALLOWED_METHODS,
    CONSTANT_HEADERS,
    FORM_METHODS,
    MAX_BODY_SIZE,
    cors_headers,
    options_handler,
    varying,
)
from gateway.http.xml_processes import XmlRenderer
from gateway.lookups.batch import BATCH_PATH, LookUpAll, batch_handler
from gateway.lookups.codes import CODES_PATH, Finds, StoredCodes, codes_handler
from gateway.lookups.find import FIND_PATH, find_handler
from gateway.lookups.lists import (
    PART_PATHS,
    SUGGEST_PATH,
    Parts,
    Suggestions,
    part_handler,
    suggest_handler,
)
from gateway.lookups.lookup import COMPANY_PATH, SEARCH_PARAMETERS, Lookups, lookup_handler
from gateway.lookups.match import MATCH_PATH, MatchAll, Matches, match_handler
from gateway.reconcile.service import (
    ENTITIES_PATH,
    KEY_PARAMETER,
    NAMES_PATH,
    PREVIEW_PATH,
    PROPOSALS_PATH,
    RECONCILE_PATH,
    TYPES_PATH,
    Completions,
    Reconciliation,
)
from gateway.settings import Policy
from gateway.webhooks import (
    ENDPOINTS,
    EVENT_TYPES_PATH,
    SOURCES_PATH,
    Webhooks,
    sources_handler,
    webhook_handler,
)

LOOKUP_PATHS: dict[str, SearchType | None] = {
    "/api": None,
    COMPANY_PATH: None,
    **{f"/api/{search_type.value}": search_type for search_type in TYPED_SEARCHES},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Dependencies of the application."""

    lookups: Lookups
    suggestions: Suggestions
    parts: Parts
    finds: Finds
    matches: Matches
    webhooks: Webhooks
    events: Events
    exports: Exports
    #: A lease with a holder of its own, for each export.
    new_lease: Callable[[], Lease]
    watchlists: Watchlists
    signals: FeedNotices
    keys: ApiKeys
    #: None: rates are counted in this process alone.
    quotas: SharedQuotas | None = None
    renderer: XmlRenderer
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    #: In UTC, for the expiry of keys.
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str]
    #: Ids of created webhooks derive from it, so it is unique.
    new_call_id: Callable[[], UUID]
    registry: CollectorRegistry = REGISTRY


def application(dependencies: Dependencies, policy: Policy) -> web.Application:
    """Returns the public interface as an aiohttp application."""
    pages = documentation()
    authenticator = _authenticator(dependencies, policy)
    middleware = RequestMiddleware(
        authenticator=authenticator,
        routes=_facts(policy, pages),
        others=RouteFacts(Access(), headers=varying(CONSTANT_HEADERS, hdrs.ACCEPT_ENCODING)),
        parameters=query_parameters(),
        metrics=HttpMetrics(dependencies.registry),
        clock=dependencies.clock,
        new_id=dependencies.new_id,
    )

    app = web.Application(middlewares=[middleware.handle], client_max_size=MAX_BODY_SIZE)
    codes = StoredCodes(dependencies.finds, dependencies.clock)
    _add_lookups(app.router, dependencies, policy, codes)
    look_up_all = LookUpAll(dependencies.lookups)
    app.router.add_post(BATCH_PATH, batch_handler(look_up_all, authenticator.charge))
    match_all = MatchAll(dependencies.matches)
    app.router.add_post(MATCH_PATH, match_handler(match_all, authenticator.charge))
    _add_reconciliation(app.router, dependencies, policy, authenticator)
    _add_events(app, dependencies, policy)
    _add_exports(app, dependencies, codes)
    app.router.add_get(ME_PATH, show_key)
    app.router.add_get(SOURCES_PATH, sources_handler(policy.webhook_sources))
    for endpoint in ENDPOINTS:
        handler = webhook_handler(dependencies.webhooks, endpoint, dependencies.new_call_id)
        # A route of GET also serves HEAD.
        app.add_routes([web.route(endpoint.operation.method, endpoint.operation.path, handler)])
    for path, page in pages.items():
        app.router.add_get(path, page)
    shown = guides().show
    app.router.add_get(INDEX_PATH, shown)
    app.router.add_get(GUIDE_PATH.replace("{guide}", "{guide:.+}"), shown)
    return app


def _add_lookups(
    router: web.UrlDispatcher, dependencies: Dependencies, policy: Policy, codes: StoredCodes
) -> None:
    handlers: dict[str, Handler] = {
        path: lookup_handler(dependencies.lookups, dependencies.renderer, search_type)
        for path, search_type in LOOKUP_PATHS.items()
    }
    handlers[SUGGEST_PATH] = suggest_handler(dependencies.suggestions)
    handlers[FIND_PATH] = find_handler(dependencies.finds, codes)
    handlers |= {path: part_handler(dependencies.parts, part) for part, path in PART_PATHS.items()}
    handlers[CODES_PATH.replace("{list}", f"{{list:{'|'.join(CodeList)}}}")] = codes_handler(codes)
    for path, handler in handlers.items():
        router.add_get(path, handler)
        router.add_options(path, options_handler(policy.cors_origin))


def _add_reconciliation(
    router: web.UrlDispatcher,
    dependencies: Dependencies,
    policy: Policy,
    authenticator: Authenticator,
) -> None:
    service = Reconciliation(
        dependencies.lookups,
        MatchAll(dependencies.matches),
        LookUpAll(dependencies.lookups),
        authenticator.charge,
        public_url=policy.public_url,
        portal_url=policy.portal_url,
        anonymous=policy.anonymous_lookups,
    )
    completions = Completions(dependencies.lookups, dependencies.suggestions)
    handlers: dict[str, Handler] = {
        RECONCILE_PATH: service.get,
        PREVIEW_PATH: service.preview,
        PROPOSALS_PATH: service.propose,
        ENTITIES_PATH: completions.entities,
        NAMES_PATH: completions.properties,
        TYPES_PATH: completions.types,
    }
    for path, handler in handlers.items():
        is_endpoint = path == RECONCILE_PATH
        methods = FORM_METHODS if is_endpoint else ALLOWED_METHODS
        # The path of another country is not found.
        routed = path.replace("{country}", "{country:dk|no}")
        # Clients append a slash to the address of the service that they are given.
        for each in (routed, f"{routed}/") if is_endpoint else (routed,):
            router.add_get(each, handler)
            router.add_options(each, options_handler(policy.cors_origin, methods))
            if is_endpoint:
                router.add_post(each, service.post)


def _add_events(app: web.Application, dependencies: Dependencies, policy: Policy) -> None:
    read = ReadEvents(
        WatchedEvents(dependencies.events, dependencies.watchlists),
        dependencies.signals,
        dependencies.keys,
        dependencies.now,
        policy.max_event_readers,
    )
    app.router.add_get(EVENTS_PATH, events_handler(read))
    app.router.add_get(STREAM_PATH, stream_handler(read), allow_head=False)
    app.router.add_get(EVENT_PATH, event_handler(dependencies.events))

    async def end_waits(_: web.Application) -> None:
        dependencies.signals.close()

    app.on_shutdown.append(end_waits)


def _add_exports(app: web.Application, dependencies: Dependencies, codes: StoredCodes) -> None:
    companies = ExportCompanies(
        dependencies.exports, dependencies.new_lease, dependencies.keys, dependencies.now
    )
    app.router.add_get(EXPORT_PATH, export_handler(companies, codes), allow_head=False)

    async def end_exports(_: web.Application) -> None:
        companies.close()

    app.on_shutdown.append(end_exports)


def _authenticator(dependencies: Dependencies, policy: Policy) -> Authenticator:
    alone = partial(RateLimiter, clock=dependencies.clock)
    shared = alone if dependencies.quotas is None else dependencies.quotas.limiter

    @cache
    def keyed(rate: Rate | None) -> RateLimiter:
        # Operators set few different rates.
        return shared("key", rate or policy.key_rate)

    return Authenticator(
        dependencies.keys,
        anonymous=shared("anonymous", policy.anonymous_rate),
        keyed=keyed,
        unproven=alone("unproven-key", policy.anonymous_rate),
        trusted_proxies=policy.trusted_proxies,
        now=dependencies.now,
    )


def _facts(policy: Policy, pages: Iterable[str]) -> dict[str, RouteFacts]:
    private = varying(CONSTANT_HEADERS, hdrs.ACCEPT_ENCODING)
    common = varying(CONSTANT_HEADERS | cors_headers(policy.cors_origin), hdrs.ACCEPT_ENCODING)
    lookup = RouteFacts(
        access=Access(scope=Scope.LOOKUP, anonymous=policy.anonymous_lookups),
        has_formats=True,
        headers=varying(common, hdrs.ACCEPT),
    )
    # Beside q, another search has a problem of its own.
    typed = replace(lookup, refused=frozenset(SEARCH_PARAMETERS))
    pages_of_lookups = RouteFacts(access=lookup.access, headers=common)
    # The manifest needs no key; for batches, the handler requires one.
    reconciling = replace(
        pages_of_lookups, access=replace(lookup.access, key_parameter=KEY_PARAMETER), is_open=True
    )
    batch = RouteFacts(Access(Scope.LOOKUP, anonymous=False), headers=private)
    webhooks = RouteFacts(Access(Scope.WEBHOOKS, anonymous=False), headers=private)
    events = RouteFacts(Access(Scope.EVENTS, anonymous=False), headers=private)
    exports = RouteFacts(Access(Scope.EXPORT, anonymous=False), headers=private)
    # Readers of the documentation keep their rate for what it describes.
    page = RouteFacts(UNCOUNTED, headers=common)
    return {
        **{
            path: lookup if search_type is None else typed
            for path, search_type in LOOKUP_PATHS.items()
        },
        **dict.fromkeys(
            (SUGGEST_PATH, *PART_PATHS.values(), FIND_PATH, CODES_PATH), pages_of_lookups
        ),
        **dict.fromkeys((BATCH_PATH, MATCH_PATH), batch),
        **dict.fromkeys(
            (RECONCILE_PATH, f"{RECONCILE_PATH}/"),
            replace(reconciling, access=replace(reconciling.access, anonymous=True)),
        ),
        **dict.fromkeys((PREVIEW_PATH, ENTITIES_PATH), reconciling),
        **dict.fromkeys(
            (PROPOSALS_PATH, NAMES_PATH, TYPES_PATH),
            RouteFacts(Access(), headers=common, is_open=True),
        ),
        **dict.fromkeys((operation.path for operation in Operation), webhooks),
        **dict.fromkeys((EVENTS_PATH, STREAM_PATH, EVENT_PATH), events),
        EXPORT_PATH: exports,
        ME_PATH: RouteFacts(Access(anonymous=False), headers=private),
        SOURCES_PATH: RouteFacts(Access(), headers=private),
        EVENT_TYPES_PATH: RouteFacts(Access(), headers=private),
        **dict.fromkeys((*pages, INDEX_PATH, GUIDE_PATH), page),
    }
