"""Public routes, their access rules, and the application that serves them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from uuid import UUID

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from prometheus_client import REGISTRY, CollectorRegistry

from common.contracts.find import CodeList
from common.contracts.lookup import TYPED_SEARCHES, SearchType
from common.contracts.watchlists import ATOM_PATH, CONFIRM_PATH, UNSUBSCRIBE_PATH
from common.contracts.webhook_api import FILE_OPERATIONS
from common.runtime.public_port.rates import Rate, RateLimiter
from gateway.access.authentication import Access, Authenticator
from gateway.access.keys import ApiKeys, Scope, utc_now
from gateway.access.protected import Protection
from gateway.access.quotas import SharedQuotas
from gateway.access.requests import KeyRequests
from gateway.access.usage import DailyNames, KeyUsage, OwnerMetrics, Usage
from gateway.events.atom import AtomFeeds
from gateway.events.digest_pages import DigestLinks, DigestPages
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
from gateway.exports import EXPORT_PATH, ExportCompanies, Exports, Lease, export_handler
from gateway.http.documentation import (
    GUIDE_PATH,
    INDEX_PATH,
    LLMS_FULL_PATH,
    LLMS_PATH,
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
from gateway.keys.operations import (
    KEY_PATH,
    KEYS_PATH,
    REQUESTS_PATH,
    ROTATE_PATH,
    KeyOperations,
    OwnedKeys,
)
from gateway.lookups.batch import BATCH_PATH, LookUpAll, batch_handler
from gateway.lookups.codes import (
    CODES_PATH,
    REGISTERS_PATH,
    ExplainFilters,
    Finds,
    RegisterSources,
    StoredCodes,
    codes_handler,
    registers_handler,
)
from gateway.lookups.find import FIND_PATH, find_handler
from gateway.lookups.lists import (
    GROUP_PATH,
    IN_XML,
    PART_PATHS,
    SUGGEST_PATH,
    Parts,
    Suggestions,
    group_handler,
    part_handler,
    suggest_handler,
)
from gateway.lookups.lookup import COMPANY_PATH, SEARCH_PARAMETERS, Lookups, lookup_handler
from gateway.lookups.match import MATCH_PATH, MatchAll, Matches, match_handler
from gateway.lookups.protected import ProtectedCompanies
from gateway.lookups.watched import FindWatched
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
    WEBHOOK_SOURCES_PATH,
    Webhooks,
    webhook_handler,
    webhook_sources_handler,
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
    register_sources: RegisterSources
    webhooks: Webhooks
    events: Events
    exports: Exports
    #: A lease with a holder of its own, for each export.
    new_lease: Callable[[], Lease]
    watchlists: Watchlists
    digest_links: DigestLinks
    signals: FeedNotices
    keys: ApiKeys
    owned_keys: OwnedKeys
    #: None: rates are counted in this process alone.
    quotas: SharedQuotas | None = None
    #: None: use is counted in metrics alone, and requests are not kept.
    key_usage: KeyUsage | None = None
    key_requests: KeyRequests | None = None
    client_names: DailyNames | None = None
    renderer: XmlRenderer
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    #: In UTC, for the expiry of keys.
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str]
    #: Ids of created webhooks derive from it, so it is unique.
    new_call_id: Callable[[], UUID]
    registry: CollectorRegistry = REGISTRY


@dataclass(frozen=True, slots=True)
class Route:
    """A path with its handlers and the facts that apply before they run."""

    path: str
    facts: RouteFacts
    get: Handler | None = None
    post: Handler | None = None
    delete: Handler | None = None
    #: True if scripts of other sites may use it, so that it answers OPTIONS.
    has_options: bool = False
    #: False if HEAD is not allowed.
    has_head: bool = True
    #: The path as aiohttp matches it, if it restricts the values of its parts.
    pattern: str = ""

    def add_to(self, router: web.UrlDispatcher, cors_origin: str) -> None:
        """Adds the handlers."""
        path = self.pattern or self.path
        if self.get is not None:
            router.add_get(path, self.get, allow_head=self.has_head)
        if self.has_options:
            methods = FORM_METHODS if self.post is not None else ALLOWED_METHODS
            for_visitors = self.facts.access.for_visitors
            options = options_handler(cors_origin, methods, for_visitors=for_visitors)
            router.add_options(path, options)
        if self.post is not None:
            router.add_post(path, self.post)
        if self.delete is not None:
            router.add_delete(path, self.delete)


def application(dependencies: Dependencies, policy: Policy) -> web.Application:
    """Returns the public interface as an aiohttp application."""
    authenticator = _authenticator(dependencies, policy)
    companies = ExportCompanies(
        dependencies.exports, dependencies.new_lease, dependencies.keys, dependencies.now
    )
    codes = StoredCodes(dependencies.finds, dependencies.clock)
    routes = list(_routes(dependencies, policy, authenticator, companies, codes))
    private = varying(CONSTANT_HEADERS, hdrs.ACCEPT_ENCODING)
    webhooks = RouteFacts(Access(Scope.WEBHOOKS, anonymous=False), headers=private)
    # Customers are matched with this scope.
    files = RouteFacts(Access(Scope.LOOKUP, anonymous=False), headers=private)
    facts = {
        endpoint.operation.path: files if endpoint.operation in FILE_OPERATIONS else webhooks
        for endpoint in ENDPOINTS
    }
    facts[EVENT_TYPES_PATH] = RouteFacts(Access(), headers=private)
    middleware = RequestMiddleware(
        authenticator=authenticator,
        routes={**facts, **{route.path: route.facts for route in routes}},
        others=RouteFacts(Access(), headers=private),
        parameters=query_parameters(),
        metrics=HttpMetrics(dependencies.registry),
        usage=Usage(
            OwnerMetrics(dependencies.registry), dependencies.key_usage, dependencies.client_names
        ),
        requests=dependencies.key_requests,
        time=time.time,
        clock=dependencies.clock,
        new_id=dependencies.new_id,
    )
    app = web.Application(middlewares=[middleware.handle], client_max_size=MAX_BODY_SIZE)
    for route in routes:
        route.add_to(app.router, policy.cors_origin)
    for endpoint in ENDPOINTS:
        handler = webhook_handler(
            dependencies.webhooks,
            endpoint,
            ExplainFilters(codes),
            dependencies.new_call_id,
            policy.public_url,
        )
        # A route of GET also serves HEAD.
        app.add_routes([web.route(endpoint.operation.method, endpoint.operation.path, handler)])

    async def end_readers(_: web.Application) -> None:
        dependencies.signals.close()
        companies.close()

    app.on_shutdown.append(end_readers)
    return app


def _routes(
    dependencies: Dependencies,
    policy: Policy,
    authenticator: Authenticator,
    companies: ExportCompanies,
    codes: StoredCodes,
) -> Iterator[Route]:
    private = varying(CONSTANT_HEADERS, hdrs.ACCEPT_ENCODING)
    common = varying(CONSTANT_HEADERS | cors_headers(policy.cors_origin), hdrs.ACCEPT_ENCODING)
    lookups, charge = dependencies.lookups, authenticator.charge
    look_up_all, match_all = LookUpAll(lookups), MatchAll(dependencies.matches)
    finds = FindWatched(dependencies.finds, dependencies.watchlists)
    protection = Protection(policy.protected_companies)
    protected = ProtectedCompanies(dependencies.finds, protection)

    access = Access(Scope.LOOKUP, anonymous=policy.anonymous_lookups)
    in_pages = replace(access, for_visitors=True)
    lookup = RouteFacts(in_pages, has_formats=True, headers=varying(common, hdrs.ACCEPT))
    # Next to q, another search has a problem of its own.
    typed = replace(lookup, refused=frozenset(SEARCH_PARAMETERS))
    for path, search_type in LOOKUP_PATHS.items():
        handler = lookup_handler(lookups, dependencies.renderer, search_type)
        yield Route(path, typed if search_type else lookup, handler, has_options=True)
    page = RouteFacts(access, headers=common)
    searched = replace(page, is_heavy=True)
    add_page = partial(Route, facts=page, has_options=True)
    add_search = partial(Route, facts=searched, has_options=True)
    yield add_search(
        SUGGEST_PATH,
        get=suggest_handler(dependencies.suggestions, protected),
        facts=replace(searched, access=in_pages),
    )
    yield add_search(FIND_PATH, get=find_handler(finds, codes, protected))
    for part, path in PART_PATHS.items():
        handler = part_handler(dependencies.parts, part, dependencies.renderer)
        yield Route(path, lookup if part in IN_XML else page, get=handler, has_options=True)
    yield add_search(GROUP_PATH, get=group_handler(lookups))
    lists = CODES_PATH.replace("{list}", f"{{list:{'|'.join(CodeList)}}}")
    yield add_page(CODES_PATH, get=codes_handler(codes), pattern=lists)
    # No company is in it, so it is for every key.
    every = RouteFacts(Access(), headers=common)
    registers = registers_handler(dependencies.register_sources)
    yield Route(REGISTERS_PATH, every, registers, has_options=True)
    with_key = RouteFacts(Access(Scope.LOOKUP, anonymous=False), headers=private, is_heavy=True)
    yield Route(BATCH_PATH, with_key, post=batch_handler(look_up_all, charge))
    yield Route(MATCH_PATH, with_key, post=match_handler(match_all, charge))

    service = Reconciliation(
        lookups,
        match_all,
        look_up_all,
        charge,
        protected,
        public_url=policy.public_url,
        portal_url=policy.portal_url,
        anonymous=policy.anonymous_lookups,
    )
    completions = Completions(lookups, dependencies.suggestions, protected)
    in_address = replace(access, key_parameter=KEY_PARAMETER)
    keyed = RouteFacts(in_address, headers=common, is_open=True)
    # The manifest needs no key; for batches, the handler requires one.
    batches = replace(keyed, access=replace(in_address, anonymous=True), is_heavy=True)
    free = RouteFacts(Access(), headers=common, is_open=True)
    for path, facts, handler in (
        (RECONCILE_PATH, batches, service.get),
        # Clients append a slash to the address of the service that they are given.
        (f"{RECONCILE_PATH}/", batches, service.get),
        (PREVIEW_PATH, keyed, service.preview),
        (ENTITIES_PATH, keyed, completions.entities),
        (PROPOSALS_PATH, free, service.propose),
        (NAMES_PATH, free, completions.properties),
        (TYPES_PATH, free, completions.types),
    ):
        post = service.post if facts is batches else None
        # The path of another country is not found.
        pattern = path.replace("{country}", "{country:dk|no}")
        yield Route(path, facts, handler, post, has_options=True, pattern=pattern)

    events = RouteFacts(Access(Scope.EVENTS, anonymous=False), headers=private)
    watched = WatchedEvents(dependencies.events, dependencies.watchlists)
    read = ReadEvents(
        watched,
        dependencies.signals,
        dependencies.keys,
        dependencies.now,
        policy.max_event_readers,
    )
    yield Route(EVENTS_PATH, events, events_handler(read, protection))
    yield Route(STREAM_PATH, events, stream_handler(read, protection), has_head=False)
    yield Route(EVENT_PATH, events, event_handler(dependencies.events))
    atom = AtomFeeds(
        watched,
        dependencies.watchlists,
        authenticator,
        public_url=policy.public_url,
        portal_url=policy.portal_url,
    )
    # The handlers count requests by their tokens.
    tokens = RouteFacts(UNCOUNTED, headers=private)
    yield Route(ATOM_PATH, tokens, atom.show)
    pages = DigestPages(dependencies.digest_links, authenticator)
    yield Route(CONFIRM_PATH, tokens, pages.show_confirmation, pages.confirm)
    yield Route(UNSUBSCRIBE_PATH, tokens, pages.show_end, pages.end)
    exports = RouteFacts(Access(Scope.EXPORT, anonymous=False), headers=private, is_heavy=True)
    export = export_handler(companies, finds, codes, protected)
    yield Route(EXPORT_PATH, exports, export, has_head=False)

    yield Route(ME_PATH, RouteFacts(Access(anonymous=False), headers=private), show_key)
    keys = KeyOperations(
        dependencies.owned_keys,
        dependencies.key_usage,
        dependencies.key_requests,
        dependencies.now,
        policy.key_rate,
        policy.visitor_rate,
        policy.max_keys_per_owner,
    )
    managed = RouteFacts(Access(Scope.KEYS, anonymous=False), headers=private)
    yield Route(KEYS_PATH, managed, keys.list, keys.create)
    yield Route(KEY_PATH, managed, delete=keys.end)
    yield Route(ROTATE_PATH, managed, post=keys.rotate)
    # A key sees its own requests, too.
    of_key = replace(managed, access=Access(anonymous=False))
    yield Route(REQUESTS_PATH, of_key, keys.requests)
    addresses = webhook_sources_handler(policy.webhook_sources)
    yield Route(WEBHOOK_SOURCES_PATH, RouteFacts(Access(), headers=private), addresses)
    # Readers of the documentation keep their rate for what it describes.
    document = RouteFacts(UNCOUNTED, headers=common)
    show_guide = guides().show
    for path, handler in documentation().items():
        yield Route(path, document, handler)
    for path in (INDEX_PATH, LLMS_PATH, LLMS_FULL_PATH):
        yield Route(path, document, show_guide)
    pattern = GUIDE_PATH.replace("{guide}", "{guide:.+}")
    yield Route(GUIDE_PATH, document, show_guide, pattern=pattern)


def _authenticator(dependencies: Dependencies, policy: Policy) -> Authenticator:
    alone = partial(RateLimiter, clock=dependencies.clock)
    shared = alone if dependencies.quotas is None else dependencies.quotas.limiter

    @cache
    def keyed(rate: Rate | None) -> RateLimiter:
        # Operators set few different rates.
        return shared("key", rate or policy.key_rate)

    @cache
    def visitors(rate: Rate | None) -> RateLimiter:
        return shared("visitor", rate or policy.visitor_rate)

    return Authenticator(
        dependencies.keys,
        anonymous=shared("anonymous", policy.anonymous_rate),
        keyed=keyed,
        visitors=visitors,
        unproven=alone("unproven-key", policy.anonymous_rate),
        trusted_proxies=policy.trusted_proxies,
        now=dependencies.now,
    )
