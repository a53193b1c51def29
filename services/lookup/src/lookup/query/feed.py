"""The event feed over RPC."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from common.contracts.failures import Failure, FailureCode
from common.contracts.feed import EventReply, EventRequest, FeedPage, FeedRequest
from common.messaging.rpc import Asked, Result
from lookup.store.feed import StoredFeed

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AnswerPages:
    feed: StoredFeed

    async def __call__(self, requests: Sequence[FeedRequest]) -> list[FeedPage]:
        return list(await asyncio.gather(*(self.feed.read(request) for request in requests)))


@dataclass(frozen=True, slots=True)
class AnswerEvents:
    feed: StoredFeed

    async def __call__(self, requests: Sequence[EventRequest]) -> list[Result]:
        return list(await asyncio.gather(*(self._event(request) for request in requests)))

    async def _event(self, request: EventRequest) -> Result:
        body = await self.feed.event(request.id, owner=request.owner)
        if body is None:
            return Failure(code=FailureCode.EVENT_NOT_FOUND, detail="event not found")
        return EventReply(body=body)


def report(
    asked: Sequence[Asked[FeedRequest] | Asked[EventRequest]],
    results: Sequence[Result],
    seconds: float,
) -> None:
    """One line per request."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "feed.done",
            **item.ids,
            result=result.code if isinstance(result, Failure) else "ok",
            events=len(result.events) if isinstance(result, FeedPage) else None,
            duration_ms=round(seconds * 1000, 2),
        )
