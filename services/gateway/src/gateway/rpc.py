"""Requests to the other services over the broker."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.events import EventReply, EventRequest, FeedPage, FeedRequest
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
from common.contracts.topology import (
    DIGEST_LINKS_QUEUE,
    FEED_EVENT_QUEUE,
    FEED_PAGE_QUEUE,
    SOURCES_QUEUE,
    WATCHED_QUEUE,
    WATCHLISTS_QUEUE,
    WEBHOOKS_QUEUE,
    export_queue,
    find_queue,
    lookup_queue,
    match_queue,
    parts_queue,
    search_queue,
    suggest_queue,
)
from common.contracts.watchlists import LinkReply, LinkRequest, WatchedReply, WatchedRequest
from common.contracts.webhook_api import (
    LONG_OPERATIONS,
    WATCHLIST_OPERATIONS,
    WebhookReply,
    WebhookRequest,
)
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_servers import CLIENT_OVERLOAD, Route
from gateway.access.clients import Caller, short_name
from gateway.lookups.terms import takes_long
from gateway.problems import (
    BatchTooLarge,
    LookupTimeout,
    Problem,
    RateLimited,
    ServiceUnavailable,
    problem_of,
)

R = TypeVar("R", bound=Contract)

_TOO_MANY = "too many of your requests are waiting; send fewer at once"

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time for the response.
TIMEOUT = 1.8
#: A change of thousands of companies takes up to some seconds.
LONG_TIMEOUT = 15.0

#: Seconds for a page of an export, for which nobody waits as for an answer.
EXPORT_TIMEOUT = 6.0

READS = {country: Route(lookup_queue(country)) for country in Country}


def _in_turns(queue: str) -> Route:
    """A route of requests that vary in duration, in small messages and in turns by client.

    Most of its messages wait in the lookup service, which serves the clients by the time they use.
    """
    return Route(queue, in_flight=32, max_batch_size=4, client_in_flight=4, client_pending=256)


_SEARCHES = {country: _in_turns(search_queue(country)) for country in Country}
_SUGGESTIONS = {country: _in_turns(suggest_queue(country)) for country in Country}
_FINDS = {country: _in_turns(find_queue(country)) for country in Country}
#: A request has eight records, and few are under way: a record without a country needs the answers
#: of both registers, and of a batch that is late the first ones have both.
_MATCHES = {
    country: replace(_in_turns(match_queue(country)), max_batch_size=1, client_in_flight=2)
    for country in Country
}
_PARTS = {country: _in_turns(parts_queue(country)) for country in Country}
#: A page of an export has a message of its own: others would wait until it is sent.
_EXPORTS = {
    country: Route(export_queue(country), in_flight=4, max_batch_size=1) for country in Country
}
#: Pages are large, so a message carries few of them.
_PAGES = Route(FEED_PAGE_QUEUE, in_flight=4, max_batch_size=8)
_EVENTS = Route(FEED_EVENT_QUEUE, in_flight=4, max_batch_size=16)
_SOURCES = Route(SOURCES_QUEUE, in_flight=4, max_batch_size=16)
#: One request per message: one that resolves a slow name delays no other.
_WEBHOOKS = Route(WEBHOOKS_QUEUE, in_flight=64, max_batch_size=1)
#: Some change thousands of companies: those of one client wait for one another.
_WATCHLISTS = Route(
    WATCHLISTS_QUEUE, in_flight=64, max_batch_size=1, client_in_flight=4, client_pending=256
)
_WATCHLIST_CHANGES = replace(_WATCHLISTS, is_repeatable=False)
_WATCHED = Route(WATCHED_QUEUE, in_flight=8, max_batch_size=1)
_DIGEST_LINKS = Route(DIGEST_LINKS_QUEUE, in_flight=4, max_batch_size=1)
_WEBHOOK_CHANGES = replace(_WEBHOOKS, is_repeatable=False)


@dataclass(frozen=True, slots=True)
class RpcServices:
    """The operations of the other services: the ports of the handlers that ask them."""

    client: RpcClient

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, timeout: float | None = None
    ) -> LookupReply:
        """Returns the lookup service's reply; a lookup that takes long waits for its client's turn.

        A company too large for its shared message is requested again in a smaller one.
        """
        country, timeout = request.country, TIMEOUT if timeout is None else timeout
        if not takes_long(request):
            # With others' large companies in its message, it is asked in a small one.
            with suppress(BatchTooLarge):
                route = READS[country]
                return await self._call(route, request, LookupReply, caller, timeout=timeout)
        route = _SEARCHES[country]
        return await self._in_turn(route, request, LookupReply, caller, timeout=timeout)

    async def part(self, request: PartRequest, *, caller: Caller) -> PartReply:
        """Returns a page of a list; raises RateLimited if too many of the client's calls wait."""
        return await self._in_turn(_PARTS[request.country], request, PartReply, caller)

    async def companies(self, request: FindRequest, *, caller: Caller) -> FindReply:
        """Returns a page of one country's companies, in turn like `part`."""
        return await self._in_turn(_FINDS[request.country], request, FindReply, caller)

    async def match(self, request: MatchRequest, *, caller: Caller) -> MatchReply:
        """Returns the candidates of records in one country's register, in turn like `part`."""
        return await self._in_turn(_MATCHES[request.country], request, MatchReply, caller)

    async def export(self, request: ExportRequest, *, caller: Caller) -> ExportPage:
        """Returns the next page of a copy of a register."""
        named = request.model_copy(update={"client": short_name(caller.client)})
        route = _EXPORTS[request.country]
        return await self._call(route, named, ExportPage, caller, timeout=EXPORT_TIMEOUT)

    async def suggest(self, request: SuggestRequest, *, caller: Caller) -> SuggestReply:
        """Returns suggestions; raises RateLimited if too many of the client's calls wait."""
        return await self._in_turn(_SUGGESTIONS[request.country], request, SuggestReply, caller)

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:
        """Returns a page of the feed from the lookup service, which stores the events."""
        return await self._call(_PAGES, request, FeedPage, caller)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        """Returns an event from the lookup service, which checks that the owner may see it."""
        return await self._call(_EVENTS, request, EventReply, caller)

    async def sources(self, *, caller: Caller) -> SourcesReply:
        """Returns how fresh the registers are from the lookup service, which reads them."""
        return await self._call(_SOURCES, SourcesRequest(), SourcesReply, caller)

    async def do(self, request: WebhookRequest, *, caller: Caller) -> WebhookReply:
        """Returns the registry's answer; no reply in time is a 503, not a 504 as for a lookup."""
        is_read = request.operation.method == "GET"
        is_list = request.operation in WATCHLIST_OPERATIONS
        repeated, once = (
            (_WATCHLISTS, _WATCHLIST_CHANGES) if is_list else (_WEBHOOKS, _WEBHOOK_CHANGES)
        )
        # Without a reply the operation may have been carried out: no timeout of a lookup.
        return await self._call(
            repeated if is_read else once,
            request,
            WebhookReply,
            caller,
            deadline=ServiceUnavailable,
            client=request.owner if is_list else "",
            timeout=LONG_TIMEOUT if request.operation in LONG_OPERATIONS else TIMEOUT,
        )

    async def watched(self, request: WatchedRequest, *, caller: Caller) -> WatchedReply:
        """Returns the companies of watchlists from the webhook registry."""
        return await self._call(_WATCHED, request, WatchedReply, caller)

    async def use_link(self, request: LinkRequest, *, caller: Caller) -> LinkReply:
        """Returns the subscription of a link in a message from the webhook registry."""
        return await self._call(_DIGEST_LINKS, request, LinkReply, caller)

    async def _in_turn(
        self,
        route: Route,
        request: LookupRequest | SuggestRequest | PartRequest | FindRequest | MatchRequest,
        reply: type[R],
        caller: Caller,
        *,
        timeout: float = TIMEOUT,
    ) -> R:
        client = short_name(caller.client)
        named = request.model_copy(update={"client": client})
        return await self._call(route, named, reply, caller, client=client, timeout=timeout)

    async def _call(  # noqa: PLR0913 (the options of a call)
        self,
        route: Route,
        request: Contract,
        reply: type[R],
        caller: Caller,
        *,
        deadline: type[Problem] = LookupTimeout,
        client: str = "",
        timeout: float = TIMEOUT,
    ) -> R:
        """The reply; raises the client's problem, `deadline` if there was no reply in time."""
        try:
            return await self.client.call(
                route, request, reply, timeout=timeout, request_id=caller.request_id, client=client
            )
        except RpcFailed as failed:
            if failed.cause == CLIENT_OVERLOAD:
                raise RateLimited(_TOO_MANY, retry_after=1) from None
            raise problem_of(failed.failure, deadline=deadline) from None
