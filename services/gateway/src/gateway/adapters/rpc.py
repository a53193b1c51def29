"""Requests to the other services over the broker."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.feed import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    SuggestReply,
    SuggestRequest,
    UnitsReply,
    UnitsRequest,
)
from common.contracts.topology import (
    EVENT_QUEUE,
    FEED_QUEUE,
    WEBHOOKS_QUEUE,
    lookup_queue,
    search_queue,
    suggest_queue,
    units_queue,
)
from common.contracts.webhooks import WebhookReply, WebhookRequest
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from gateway.domain.problems import (
    BatchTooLarge,
    LookupTimeout,
    Problem,
    ServiceUnavailable,
    problem_of,
)
from gateway.domain.search import takes_long

R = TypeVar("R", bound=Contract)

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time for the response.
TIMEOUT = 1.8

READS = {country: Route(lookup_queue(country)) for country in Country}
#: Searches vary in duration: small batches keep one from delaying others.
_SEARCHES = {
    country: Route(search_queue(country), in_flight=4, max_batch_size=4) for country in Country
}
#: Small batches, too: in a large one the first request would wait for the last.
_SUGGESTIONS = {
    country: Route(suggest_queue(country), in_flight=4, max_batch_size=4) for country in Country
}
_UNITS = {
    country: Route(units_queue(country), in_flight=4, max_batch_size=4) for country in Country
}
#: Pages are large, so a message carries few of them.
_PAGES = Route(FEED_QUEUE, in_flight=4, max_batch_size=8)
_EVENTS = Route(EVENT_QUEUE, in_flight=4, max_batch_size=16)
#: One request per message: one that resolves a slow name delays no other.
_WEBHOOKS = Route(WEBHOOKS_QUEUE, in_flight=64, max_batch_size=1)


@dataclass(frozen=True, slots=True)
class RpcServices:
    """`Lookups`, `Suggestions`, `Units`, `Events` and `Webhooks` over RPC."""

    client: RpcClient

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        country = request.country
        if not takes_long(request):
            # With others' large companies in its message, it is asked in a small one.
            with suppress(BatchTooLarge):
                return await self._call(READS[country], request, LookupReply, request_id)
        return await self._call(_SEARCHES[country], request, LookupReply, request_id)

    async def units(self, request: UnitsRequest, *, request_id: str) -> UnitsReply:
        return await self._call(_UNITS[request.country], request, UnitsReply, request_id)

    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        return await self._call(_SUGGESTIONS[request.country], request, SuggestReply, request_id)

    async def page(self, request: FeedRequest, *, request_id: str) -> FeedPage:
        return await self._call(_PAGES, request, FeedPage, request_id)

    async def event(self, request: EventRequest, *, request_id: str) -> EventReply:
        return await self._call(_EVENTS, request, EventReply, request_id)

    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        # Without a reply the operation may have been carried out: no timeout of a lookup.
        return await self._call(
            _WEBHOOKS, request, WebhookReply, request_id, deadline=ServiceUnavailable
        )

    async def _call(
        self,
        route: Route,
        request: Contract,
        reply: type[R],
        request_id: str,
        *,
        deadline: type[Problem] = LookupTimeout,
    ) -> R:
        """The reply; raises the client's problem, `deadline` if there was no reply in time."""
        try:
            return await self.client.call(
                route, request, reply, timeout=TIMEOUT, request_id=request_id
            )
        except RpcFailed as failed:
            raise problem_of(failed.failure, deadline=deadline) from None
