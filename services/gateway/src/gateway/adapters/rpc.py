"""Lookups and suggestions over the broker."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from common.contracts.company import Country
from common.contracts.failures import Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, SuggestReply, SuggestRequest
from common.contracts.topology import lookup_queue, search_queue, suggest_queue
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import DeadlineExceeded, Route, RpcClient
from gateway.domain.problems import LookupTimeout, ServiceUnavailable, problem_of
from gateway.domain.search import SEARCHED

R = TypeVar("R")

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time for the response.
LIMIT = 1.8


def _routes() -> dict[tuple[Country, bool], Route]:
    """Routes by country and by whether the request is a search."""
    reads = {(country, False): Route(lookup_queue(country)) for country in Country}
    # Searches vary in duration: small batches keep one from delaying others.
    searches = {
        (country, True): Route(search_queue(country), in_flight=4, max_batch_size=4)
        for country in Country
    }
    return reads | searches


#: Small batches, too: in a large one the first request would wait for the last.
_SUGGESTIONS = {
    country: Route(suggest_queue(country), in_flight=4, max_batch_size=4) for country in Country
}


@dataclass(frozen=True, slots=True)
class RpcLookups:
    """`Lookups` over RPC to the lookup service."""

    client: RpcClient
    limit: float = LIMIT
    routes: dict[tuple[Country, bool], Route] = field(default_factory=_routes)

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        is_search = request.questions[0].type in SEARCHED
        call = self.client.call(
            self.routes[request.country, is_search],
            request,
            LookupReply,
            limit=self.limit,
            request_id=request_id,
        )
        return await _answered(call)


@dataclass(frozen=True, slots=True)
class RpcSuggestions:
    """`Suggestions` over RPC to the lookup service."""

    client: RpcClient
    limit: float = LIMIT

    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        call = self.client.call(
            _SUGGESTIONS[request.country],
            request,
            SuggestReply,
            limit=self.limit,
            request_id=request_id,
        )
        return await _answered(call)


async def _answered(call: Awaitable[R]) -> R:
    """The reply; translates every failure of a call to the client's problem."""
    try:
        return await call
    except RpcFailed as failed:
        raise problem_of(failed.failure) from None
    except DeadlineExceeded:
        raise LookupTimeout("the lookup service did not answer in time") from None
    except Unavailable:
        raise ServiceUnavailable("the lookup service cannot be reached now") from None
