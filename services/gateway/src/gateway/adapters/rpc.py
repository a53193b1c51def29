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

#: A client gets its answer, or a 503 or 504, within 2 s; this leaves time to say so.
LIMIT = 1.8


def _routes() -> dict[tuple[Country, bool], Route]:
    """A route for each country and for whether it is a search."""
    reads = {(country, False): Route(lookup_queue(country)) for country in Country}
    # Searches differ in how long they take: short lists, so that none waits long for another.
    searches = {
        (country, True): Route(search_queue(country), in_flight=4, max_batch_size=4)
        for country in Country
    }
    return reads | searches


#: Short lists here, too: in a long one the first to type would wait for the last.
_SUGGESTIONS = {
    country: Route(suggest_queue(country), in_flight=4, max_batch_size=4) for country in Country
}


@dataclass(frozen=True, slots=True)
class RpcLookups:
    """`Lookups` answered by the lookup service."""

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
    """`Suggestions` answered by the lookup service."""

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
    """The answer; raises every way in which a call fails as the problem that the client is told."""
    try:
        return await call
    except RpcFailed as failed:
        raise problem_of(failed.failure) from None
    except DeadlineExceeded:
        raise LookupTimeout("the lookup service did not answer in time") from None
    except Unavailable:
        raise ServiceUnavailable("the lookup service cannot be reached now") from None
