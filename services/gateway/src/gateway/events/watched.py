"""Events about the companies of watchlists, which the registry has and not the lookup service.

A page is read within bounds, whatever the size of the lists and of the feed. Small lists are
replaced by their companies, whose events an index finds. For larger ones, the companies of the next
events are compared with the lists, and only the events of matches are read.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from common.contracts.company import CompanyKey
from common.contracts.feed import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.watchlists import WatchedReply, WatchedRequest
from gateway.events.readers import Events
from gateway.problems import ServiceUnavailable


class Watchlists(Protocol):
    """The companies of watchlists, which the webhook registry has."""

    async def watched(self, request: WatchedRequest, *, request_id: str) -> WatchedReply:
        """Returns the companies that one of the lists has.

        Raises WatchlistNotFound, ServiceUnavailable, LookupTimeout or InternalError; bounded by a
        timeout.
        """


@dataclass(frozen=True, slots=True)
class WatchedEvents:
    """`Events` whose filters may name watchlists; raises WatchlistNotFound, too."""

    events: Events
    watchlists: Watchlists

    async def page(self, request: FeedRequest, *, request_id: str) -> FeedPage:
        """Returns the next page; with watchlists, of the companies that they have now."""
        if not request.filter.watchlists:
            return await self.events.page(request, request_id=request_id)
        whole = await self.watchlists.watched(_watched(request), request_id=request_id)
        if whole.companies:
            known = _of_companies(request, whole.companies)
            return await self.events.page(known, request_id=request_id)
        return await self._compared(request, request_id)

    async def _compared(self, request: FeedRequest, request_id: str) -> FeedPage:
        everyones = _of_companies(request, ()).filter.model_copy(update={"companies": ()})
        asked = request.model_copy(update={"filter": everyones, "companies_only": True})
        near = await self.events.page(asked, request_id=request_id)
        if request.latest or near.expired:
            return near
        if near.companies is None:
            raise ServiceUnavailable("the lookup service is of an earlier release")
        watched = _watched(request).model_copy(update={"companies": near.companies})
        found = await self.watchlists.watched(watched, request_id=request_id)
        companies = {*(found.companies or ()), *request.filter.companies}.intersection(
            near.companies
        )
        if not companies:
            return FeedPage(position=near.position, has_more=near.has_more)
        bounded = _of_companies(request, companies).model_copy(update={"until": near.position})
        return await self.events.page(bounded, request_id=request_id)

    async def event(self, request: EventRequest, *, request_id: str) -> EventReply:
        """Returns one event."""
        return await self.events.event(request, request_id=request_id)


def _watched(request: FeedRequest) -> WatchedRequest:
    return WatchedRequest(owner=request.owner, watchlists=request.filter.watchlists)


def _of_companies(request: FeedRequest, companies: Collection[CompanyKey]) -> FeedRequest:
    """Returns the request for these companies beside those that it names, without watchlists."""
    either = tuple(dict.fromkeys((*request.filter.companies, *companies)))
    limits = request.filter.model_copy(update={"companies": either, "watchlists": ()})
    return request.model_copy(update={"filter": limits})
