"""Requests to the other services over the broker."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

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
from common.contracts.watchlists import LinkReply, LinkRequest, WatchedReply, WatchedRequest
from common.contracts.webhook_api import (
    LONG_OPERATIONS,
    WATCHLIST_OPERATIONS,
    WebhookReply,
    WebhookRequest,
)
from common.messaging.requests import (
    DIGEST_LINK,
    EXPORT,
    FEED_EVENT,
    FEED_PAGE,
    FIND,
    LOOK_UP,
    MATCH,
    PART,
    SEARCH,
    SOURCES,
    SUGGEST,
    WATCHED,
    WATCHLISTS,
    WEBHOOKS,
    Procedure,
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

Q = TypeVar("Q", LookupRequest, SuggestRequest, PartRequest, FindRequest, MatchRequest)
A = TypeVar("A", bound=Contract)
R = TypeVar("R", bound=Contract)

_TOO_MANY = "too many of your requests are waiting; send fewer at once"

#: Seconds for a change of thousands of companies.
LONG_TIMEOUT = 15.0

_WEBHOOK_CHANGES = replace(WEBHOOKS.route(), is_repeatable=False)
_WATCHLIST_CHANGES = replace(WATCHLISTS.route(), is_repeatable=False)


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
        if not takes_long(request):
            # With others' large companies in its message, it is asked in a small one.
            with suppress(BatchTooLarge):
                route = LOOK_UP.route(request.country)
                return await self._call(LOOK_UP, request, caller, route=route, timeout=timeout)
        return await self._in_turn(SEARCH, request, caller, timeout=timeout)

    async def part(self, request: PartRequest, *, caller: Caller) -> PartReply:
        """Returns a page of a list; raises RateLimited if too many of the client's calls wait."""
        return await self._in_turn(PART, request, caller)

    async def companies(self, request: FindRequest, *, caller: Caller) -> FindReply:
        """Returns a page of one country's companies, in turn like `part`."""
        return await self._in_turn(FIND, request, caller)

    async def match(self, request: MatchRequest, *, caller: Caller) -> MatchReply:
        """Returns the candidates of records in one country's register, in turn like `part`."""
        return await self._in_turn(MATCH, request, caller)

    async def export(self, request: ExportRequest, *, caller: Caller) -> ExportPage:
        """Returns the next page of a copy of a register."""
        named = request.model_copy(update={"client": short_name(caller.client)})
        return await self._call(EXPORT, named, caller, route=EXPORT.route(request.country))

    async def suggest(self, request: SuggestRequest, *, caller: Caller) -> SuggestReply:
        """Returns suggestions; raises RateLimited if too many of the client's calls wait."""
        return await self._in_turn(SUGGEST, request, caller)

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:
        """Returns a page of the feed from the lookup service, which stores the events."""
        return await self._call(FEED_PAGE, request, caller)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        """Returns an event from the lookup service, which checks that the owner may see it."""
        return await self._call(FEED_EVENT, request, caller)

    async def sources(self, *, caller: Caller) -> SourcesReply:
        """Returns how fresh the registers are from the lookup service, which reads them."""
        return await self._call(SOURCES, SourcesRequest(), caller)

    async def do(self, request: WebhookRequest, *, caller: Caller) -> WebhookReply:
        """Returns the registry's answer; no reply in time is a 503, not a 504 as for a lookup."""
        is_read = request.operation.method == "GET"
        is_list = request.operation in WATCHLIST_OPERATIONS
        procedure, once = (
            (WATCHLISTS, _WATCHLIST_CHANGES) if is_list else (WEBHOOKS, _WEBHOOK_CHANGES)
        )
        # Without a reply the operation may have been carried out: no timeout of a lookup.
        return await self._call(
            procedure,
            request,
            caller,
            route=procedure.route() if is_read else once,
            deadline=ServiceUnavailable,
            client=request.owner if is_list else "",
            timeout=LONG_TIMEOUT if request.operation in LONG_OPERATIONS else None,
        )

    async def watched(self, request: WatchedRequest, *, caller: Caller) -> WatchedReply:
        """Returns the companies of watchlists from the webhook registry."""
        return await self._call(WATCHED, request, caller)

    async def use_link(self, request: LinkRequest, *, caller: Caller) -> LinkReply:
        """Returns the subscription of a link in a message from the webhook registry."""
        return await self._call(DIGEST_LINK, request, caller)

    async def _in_turn(
        self,
        procedure: Procedure[Q, R],
        request: Q,
        caller: Caller,
        *,
        timeout: float | None = None,
    ) -> R:
        client = short_name(caller.client)
        named = request.model_copy(update={"client": client})
        route = procedure.route(request.country)
        return await self._call(
            procedure, named, caller, route=route, client=client, timeout=timeout
        )

    async def _call(  # noqa: PLR0913 (the options of a call)
        self,
        procedure: Procedure[A, R],
        request: A,
        caller: Caller,
        *,
        route: Route | None = None,
        deadline: type[Problem] = LookupTimeout,
        client: str = "",
        timeout: float | None = None,
    ) -> R:
        """The reply; raises the client's problem, `deadline` if there was no reply in time."""
        try:
            return await self.client.call(
                route or procedure.route(),
                request,
                procedure.reply,
                timeout=procedure.timeout if timeout is None else timeout,
                request_id=caller.request_id,
                client=client,
            )
        except RpcFailed as failed:
            if failed.cause == CLIENT_OVERLOAD:
                raise RateLimited(_TOO_MANY, retry_after=1) from None
            raise problem_of(failed.failure, deadline=deadline) from None
