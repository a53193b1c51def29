"""Reading the event feed: a page immediately, a page as soon as there are events, or a stream."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from common.contracts.feed import EventReply, EventRequest, FeedEvent, FeedPage, FeedRequest
from common.domain.quantities import counted
from gateway.access.keys import ApiKey, ApiKeys
from gateway.events.notices import FeedNotices, Subscription
from gateway.events.queries import write_cursor
from gateway.problems import (
    CursorExpired,
    InternalError,
    LookupTimeout,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    WatchlistNotFound,
)

#: Seconds between two checks of a waiting reader's key, and between two signs of life on a stream.
#: With the cache in front of the keys, a revocation takes effect within 10 s.
INTERVAL = 4.0
#: Seconds before a stream reads again after a failure.
AFTER_FAILURE = 1.0

_FAILURES = (ServiceUnavailable, LookupTimeout, InternalError)


class Events(Protocol):
    """The event feed.

    Both methods raise ServiceUnavailable (broker, database or lookup service), LookupTimeout or
    InternalError, and are bounded by a timeout.
    """

    async def page(self, request: FeedRequest, *, request_id: str) -> FeedPage:
        """Returns the events that follow a position; may be empty."""

    async def event(self, request: EventRequest, *, request_id: str) -> EventReply:
        """Returns one event; raises EventNotFound, too."""


@dataclass(frozen=True, slots=True)
class ReadEvents:
    """Reads the feed for requests and streams, and limits how many of one key wait at once."""

    events: Events
    signals: FeedNotices
    keys: ApiKeys
    now: Callable[[], datetime]
    #: Maximum number of waiting requests and streams of one key.
    max_readers: int
    #: The waiting requests of each key.
    _readers: Counter[str] = field(default_factory=Counter)

    async def page(
        self,
        request: FeedRequest,
        key: ApiKey,
        *,
        wait: float,
        request_id: str,
        is_abandoned: Callable[[], bool],
    ) -> FeedPage:
        """Returns the next page; one without events comes after `wait` seconds. Raises a Problem.

        The wait of a client that has disconnected ends, so that it leaves room for its next one.
        """
        if not wait:
            return await self._read(request, request_id)
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait
        # Subscribed before the first read: no event falls between the two.
        with self._reader(key), self.signals.subscribe(key.owner, request.filter) as signal:
            while True:
                page = await self._read(request, request_id)
                is_over = signal.closed or is_abandoned() or clock() >= deadline
                # A filter that matches nothing may have more to read than fits the wait.
                if page.events or (page.has_more and is_over):
                    return page
                request = _behind(request, page)
                if page.has_more:
                    continue
                if not await self._signalled(signal, key, deadline, is_abandoned):
                    return page

    async def stream(
        self, request: FeedRequest, key: ApiKey, *, request_id: str
    ) -> AsyncGenerator[Sequence[FeedEvent]]:
        """Yields the events of each page; none, first of all and at intervals, as a sign of life.

        Ends at shutdown and when the key is revoked. Raises a Problem before the first item only.
        """
        with self._reader(key), self.signals.subscribe(key.owner, request.filter) as signal:
            page = await self._read(request, request_id)
            yield ()
            while not signal.closed and await self._is_valid(key):
                yield page.events
                request = _behind(request, page)
                if page.has_more or await signal.wait(INTERVAL):
                    try:
                        page = await self._next(request, request_id)
                    except (CursorExpired, WatchlistNotFound):
                        return
                else:
                    page = FeedPage(position=page.position)

    async def _signalled(
        self,
        signal: Subscription,
        key: ApiKey,
        deadline: float,
        is_abandoned: Callable[[], bool],
    ) -> bool:
        """Waits for the signal until the deadline; raises Unauthorized when the key is revoked."""
        clock = asyncio.get_running_loop().time
        while not signal.closed and not is_abandoned() and (left := deadline - clock()) > 0:
            signalled = await signal.wait(min(left, INTERVAL))
            if not await self._is_valid(key):
                raise Unauthorized("the API key is unknown, revoked or expired")
            if signalled:
                return True
        return False

    async def _read(self, request: FeedRequest, request_id: str) -> FeedPage:
        page = await self.events.page(request, request_id=request_id)
        if page.expired:
            raise CursorExpired(
                "events after this cursor have expired; continue with the cursor in oldest",
                oldest=write_cursor(page.position),
            )
        return page

    async def _next(self, request: FeedRequest, request_id: str) -> FeedPage:
        try:
            return await self._read(request, request_id)
        except _FAILURES:
            await asyncio.sleep(AFTER_FAILURE)
            return FeedPage(position=request.after or 0, has_more=True)

    async def _is_valid(self, key: ApiKey) -> bool:
        try:
            current = await self.keys.find(key.id)
        except ServiceUnavailable:
            return True
        return current is not None and current.is_valid(self.now())

    @contextmanager
    def _reader(self, key: ApiKey) -> Iterator[None]:
        """Counts a reader of the key; raises RateLimited beyond the maximum."""
        if self._readers[key.id] >= self.max_readers:
            readers = counted(self.max_readers, "request")
            raise RateLimited(
                f"at most {readers} of a key may wait or stream at once", retry_after=1
            )
        self._readers[key.id] += 1
        try:
            yield
        finally:
            self._readers[key.id] -= 1
            if not self._readers[key.id]:
                del self._readers[key.id]


def _behind(request: FeedRequest, page: FeedPage) -> FeedRequest:
    """Returns the request that reads on behind the page."""
    return request.model_copy(update={"after": page.position, "latest": False, "recent": False})
