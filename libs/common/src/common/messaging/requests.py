"""Requests between the services: what is asked and answered, over which queue, and how.

The name of a queue is that of a fanout exchange, to which each server binds an exclusive queue of
its own; clients publish to these (ADR 0037). A name outlives its reason: another one would end what
a process of the release before calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.events import (
    EventReply,
    EventRequest,
    FeedPage,
    FeedRequest,
    OwnerEvent,
    OwnerEventStored,
)
from common.contracts.find import ExportPage, ExportRequest, FindReply, FindRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    SourcesReply,
    SourcesRequest,
    SuggestReply,
    SuggestRequest,
)
from common.contracts.match import MatchReply, MatchRequest
from common.contracts.watchlists import (
    KnownReply,
    KnownRequest,
    LinkReply,
    LinkRequest,
    WatchedReply,
    WatchedRequest,
)
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.messaging.rpc_servers import Route

Q = TypeVar("Q", bound=Contract)
R = TypeVar("R", bound=Contract)

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time for the response.
TIMEOUT: Final = 1.8
#: Of requests that vary in duration: small messages, in turns by client. Most of its messages wait
#: in the lookup service, which serves the clients by the time they use.
_IN_TURNS: Final[Mapping[str, Any]] = {
    "in_flight": 32,
    "max_batch_size": 4,
    "client_in_flight": 4,
    "client_pending": 256,
}


@dataclass(frozen=True, slots=True)
class Procedure(Generic[Q, R]):
    """One kind of request, its reply, and the route of each country or of all."""

    request: type[Q]
    reply: type[R]
    #: By country; by None if the queue is that of every country.
    routes: Mapping[Country | None, Route]
    #: Seconds for the reply.
    timeout: float

    def route(self, country: Country | None = None) -> Route:
        """Returns the route of a country's requests."""
        return self.routes[country]

    def queue(self, country: Country | None = None) -> str:
        """Returns the name of the queue of a country's requests."""
        return self.routes[country].queue

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of all of its queues."""
        return tuple(route.queue for route in self.routes.values())


def _of_country(
    queue: str, request: type[Q], reply: type[R], *, timeout: float = TIMEOUT, **options: Any
) -> Procedure[Q, R]:
    routes: dict[Country | None, Route] = {
        country: Route(f"{queue}.{country}", **options) for country in Country
    }
    return Procedure(request, reply, routes, timeout)


def _of_all(
    queue: str, request: type[Q], reply: type[R], *, timeout: float = TIMEOUT, **options: Any
) -> Procedure[Q, R]:
    return Procedure(request, reply, {None: Route(queue, **options)}, timeout)


# Of the lookup service

#: Indexed reads, apart from the slower searches.
LOOK_UP = _of_country("rpc.lookup", LookupRequest, LookupReply)
#: Searches by name and address.
SEARCH = _of_country("rpc.search", LookupRequest, LookupReply, **_IN_TURNS)
#: Suggestions, which searches must not delay.
SUGGEST = _of_country("rpc.suggest", SuggestRequest, SuggestReply, **_IN_TURNS)
#: Pages of the lists of a company, such as owners; named after the first one.
PART = _of_country("rpc.units", PartRequest, PartReply, **_IN_TURNS)
#: Lists of companies that fit filters.
FIND = _of_country("rpc.find", FindRequest, FindReply, **_IN_TURNS)
#: Records to be matched. A request has eight, and few are under way: a record without a country
#: needs the answers of both registers, and of a batch that is late the first ones have both.
MATCH = _of_country(
    "rpc.match",
    MatchRequest,
    MatchReply,
    **{**_IN_TURNS, "max_batch_size": 1, "client_in_flight": 2},
)
#: Pages of a copy of a register, for which nobody waits as for an answer. Each has a message of its
#: own: others would wait until it is sent.
EXPORT = _of_country(
    "rpc.export", ExportRequest, ExportPage, timeout=6.0, in_flight=4, max_batch_size=1
)
#: Checks whether the register has companies: 2,000 in one indexed read.
KNOWN = _of_country("rpc.known", KnownRequest, KnownReply, timeout=5.0, max_batch_size=1)
#: Pages of the feed, which are large, so that a message carries few of them.
FEED_PAGE = _of_all("rpc.events", FeedRequest, FeedPage, in_flight=4, max_batch_size=8)
#: Single events of the feed.
FEED_EVENT = _of_all("rpc.event", EventRequest, EventReply, in_flight=4, max_batch_size=16)
#: How fresh the registers are.
SOURCES = _of_all(
    "rpc.lookup.sources", SourcesRequest, SourcesReply, in_flight=4, max_batch_size=16
)

# Of the webhook registry

#: Operations on webhooks. One request per message: one that resolves a slow name delays no other.
WEBHOOKS = _of_all("rpc.webhooks", WebhookRequest, WebhookReply, in_flight=64, max_batch_size=1)
#: Operations on watchlists. Some change thousands of companies: those of one client wait for one
#: another.
WATCHLISTS = _of_all(
    "rpc.watchlists",
    WebhookRequest,
    WebhookReply,
    **{**_IN_TURNS, "in_flight": 64, "max_batch_size": 1},
)
#: The companies of watchlists, for readers of the feed.
WATCHED = _of_all("rpc.watched", WatchedRequest, WatchedReply, in_flight=8, max_batch_size=1)
#: The links in messages to subscribers.
DIGEST_LINK = _of_all("rpc.digest_links", LinkRequest, LinkReply, in_flight=4, max_batch_size=1)

# Of ingest

#: Events about webhooks, to be stored in the outbox.
OWNER_EVENT = _of_all(
    "rpc.owner_events", OwnerEvent, OwnerEventStored, timeout=5.0, max_batch_size=16
)

#: What a gateway asks for.
OF_GATEWAY: Final[tuple[Procedure[Any, Any], ...]] = (
    LOOK_UP,
    SEARCH,
    SUGGEST,
    PART,
    FIND,
    MATCH,
    EXPORT,
    FEED_PAGE,
    FEED_EVENT,
    SOURCES,
    WEBHOOKS,
    WATCHLISTS,
    WATCHED,
    DIGEST_LINK,
)
