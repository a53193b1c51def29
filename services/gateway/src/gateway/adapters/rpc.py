"""Lookups and suggestions over the broker."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from common.contracts.company import Country
from common.contracts.lookup import LookupReply, LookupRequest, SuggestReply, SuggestRequest
from common.contracts.topology import lookup_queue, search_queue, suggest_queue
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from gateway.domain.problems import LookupTimeout, Problem, problem_of
from gateway.domain.search import SEARCHED

R = TypeVar("R")

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time for the response.
TIMEOUT = 1.8


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
    timeout: float = TIMEOUT
    routes: dict[tuple[Country, bool], Route] = field(default_factory=_routes)

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        is_search = request.questions[0].type in SEARCHED
        call = self.client.call(
            self.routes[request.country, is_search],
            request,
            LookupReply,
            timeout=self.timeout,
            request_id=request_id,
        )
        return await answered(call)


@dataclass(frozen=True, slots=True)
class RpcSuggestions:
    """`Suggestions` over RPC to the lookup service."""

    client: RpcClient
    timeout: float = TIMEOUT

    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        call = self.client.call(
            _SUGGESTIONS[request.country],
            request,
            SuggestReply,
            timeout=self.timeout,
            request_id=request_id,
        )
        return await answered(call)


async def answered(call: Awaitable[R], *, deadline: type[Problem] = LookupTimeout) -> R:
    """The reply; raises the client's problem, `deadline` if there was no reply in time."""
    try:
        return await call
    except RpcFailed as failed:
        raise problem_of(failed.failure, deadline=deadline) from None
