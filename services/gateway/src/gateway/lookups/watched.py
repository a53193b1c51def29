"""Lists of companies that are limited to those of a watchlist, which the webhook registry has."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from common.contracts.find import FindReply, FindRequest
from common.contracts.watchlists import WATCHLIST_ID, WatchedReply, WatchedRequest, WatchlistId
from gateway.access.clients import Caller
from gateway.access.keys import Scope
from gateway.http.middleware import RequestContext
from gateway.http.parameters import Invalid
from gateway.lookups.codes import Finds
from gateway.problems import Forbidden, ServiceUnavailable


class Watchlists(Protocol):
    """The companies of watchlists."""

    async def watched(self, request: WatchedRequest, *, caller: Caller) -> WatchedReply:
        """Returns the numbers of the companies of a list, if they are requested.

        Raises WatchlistNotFound, ServiceUnavailable, LookupTimeout or InternalError; bounded by a
        timeout.
        """


def watchlist_id(value: str) -> WatchlistId:
    """Returns the id of a watchlist; raises Invalid."""
    if not WATCHLIST_ID.fullmatch(value):
        raise Invalid("must be the id of a watchlist; GET /api/watchlists lists yours")
    return WatchlistId(value)


@dataclass(frozen=True, slots=True)
class FindWatched:
    """Finds companies, of all or of a watchlist."""

    finds: Finds
    watchlists: Watchlists

    async def __call__(
        self,
        requests: Sequence[FindRequest],
        watchlist: WatchlistId | None,
        context: RequestContext,
    ) -> Sequence[FindReply]:
        """Returns the reply of each country, in order; raises a Problem."""
        if watchlist is not None:
            requests = await self.limited(requests, watchlist, context)
        caller = context.caller
        replies = await asyncio.gather(
            *(self.finds.companies(each, caller=caller) for each in requests)
        )
        if watchlist is not None and not all(reply.limited for reply in replies):
            raise ServiceUnavailable("the lookup service is of an earlier release")
        return replies

    async def limited(
        self, requests: Sequence[FindRequest], watchlist: WatchlistId, context: RequestContext
    ) -> Sequence[FindRequest]:
        """Returns the requests with the numbers of a watchlist's companies; raises a Problem."""
        key = context.required_key
        if Scope.WEBHOOKS not in key.scopes:
            raise Forbidden(f"the API key lacks the scope {Scope.WEBHOOKS}, for watchlists")
        wanted = WatchedRequest(owner=key.owner, watchlists=(watchlist,), numbers=True)
        found = await self.watchlists.watched(wanted, caller=context.caller)
        if found.numbers is None:
            raise ServiceUnavailable("the webhook registry is of an earlier release")
        return [
            each.model_copy(update={"numbers": found.numbers[each.country]}) for each in requests
        ]
