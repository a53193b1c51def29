"""The companies of watchlists, for readers of the feed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from common.contracts.company import CompanyKey
from common.contracts.failures import Failure
from common.contracts.watchlists import MAX_WHOLE, WatchedReply, WatchedRequest
from common.messaging.rpc import Asked, Result
from webhook_registry.replies import WATCHLIST_NOT_FOUND
from webhook_store.watchlists.lists import Watchlists
from webhook_store.watchlists.members import Members

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AnswerWatched:
    """Answers requests for the companies that lists have."""

    lists: Watchlists
    members: Members

    async def __call__(self, requests: Sequence[WatchedRequest]) -> list[WatchedReply | Failure]:
        """Returns one reply per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, request: WatchedRequest) -> WatchedReply | Failure:
        sizes = await self.lists.sizes(request.owner, request.watchlists)
        if not sizes.keys() >= set(request.watchlists):
            return WATCHLIST_NOT_FOUND
        total = sum(sizes.values())
        if request.companies is None:
            companies = await self._all(request) if total <= MAX_WHOLE else None
            return WatchedReply(companies=companies)
        if total <= len(request.companies):
            found = set(await self._all(request)).intersection(request.companies)
        else:
            found = await self.members.present(request.watchlists, request.companies)
        return WatchedReply(companies=tuple(found))

    async def _all(self, request: WatchedRequest) -> tuple[CompanyKey, ...]:
        of_lists = await asyncio.gather(*map(self.members.all, request.watchlists))
        return tuple(set().union(*of_lists))


def report(
    asked: Sequence[Asked[WatchedRequest]], results: Sequence[Result], seconds: float
) -> None:
    """Logs one line per request."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "watched.done",
            **item.ids,
            owner=item.request.owner,
            result=result.code.value if isinstance(result, Failure) else "ok",
            duration_ms=round(seconds * 1000, 2),
        )
