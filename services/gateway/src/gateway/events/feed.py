"""The event feed: a page immediately, a page as soon as there are events, or a stream.

Events about the companies of watchlists, which the registry has and not the lookup service, are
read within bounds, whatever the size of the lists and of the feed. Small lists are replaced by
their companies, whose events an index finds. For larger ones, the companies of the next events are
compared with the lists, and only the events of matches are read.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import orjson

from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    EventReply,
    EventRequest,
    FeedEvent,
    FeedFilter,
    FeedPage,
    FeedRequest,
)
from common.contracts.watchlists import WatchedReply, WatchedRequest
from common.domain.sentences import counted
from gateway.access.clients import Caller
from gateway.access.keys import ApiKey, ApiKeys
from gateway.events.notices import FeedNotices, Subscription
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

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:
        """Returns the events that follow a position; may be empty."""

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        """Returns one event; raises EventNotFound, too."""


def write_cursor(position: int) -> str:
    """Returns the cursor of a position: 12 hexadecimal digits, so that cursors sort as text."""
    return f"{position:012x}"


def is_of_all(chosen: FeedFilter) -> bool:
    """Returns True for a feed of all companies, not of chosen ones."""
    return not chosen.companies and not chosen.watchlists


def without_protected(events: Sequence[FeedEvent]) -> Sequence[FeedEvent]:
    """Returns the events but those of companies that are protected from advertising, or may be."""
    return [event for event in events if not _is_protected(event)]


def _is_protected(event: FeedEvent) -> bool:
    company = (orjson.loads(event.body).get("data") or {}).get("company")
    return (
        company is not None
        and company["country"] == Country.DK
        and company.get("advertising_protected") is not False
    )


class Watchlists(Protocol):
    """The companies of watchlists, which the webhook registry has."""

    async def watched(self, request: WatchedRequest, *, caller: Caller) -> WatchedReply:
        """Returns the companies that one of the lists has.

        Raises WatchlistNotFound, ServiceUnavailable, LookupTimeout or InternalError; bounded by a
        timeout.
        """


@dataclass(frozen=True, slots=True)
class WatchedEvents:
    """`Events` whose filters may name watchlists; raises WatchlistNotFound, too."""

    events: Events
    watchlists: Watchlists

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:
        """Returns the next page; with watchlists, of the companies that they have now."""
        if not request.filter.watchlists:
            return await self.events.page(request, caller=caller)
        whole = await self.watchlists.watched(_watched(request), caller=caller)
        if whole.companies:
            known = _of_companies(request, whole.companies)
            return await self.events.page(known, caller=caller)
        return await self._compared(request, caller)

    async def _compared(self, request: FeedRequest, caller: Caller) -> FeedPage:
        everyones = _of_companies(request, ()).filter.model_copy(update={"companies": ()})
        companies_of_all = request.model_copy(update={"filter": everyones, "companies_only": True})
        near = await self.events.page(companies_of_all, caller=caller)
        if request.latest or near.expired:
            return near
        if near.companies is None:
            raise ServiceUnavailable("the lookup service is of an earlier release")
        watched = _watched(request).model_copy(update={"companies": near.companies})
        found = await self.watchlists.watched(watched, caller=caller)
        companies = {*(found.companies or ()), *request.filter.companies}.intersection(
            near.companies
        )
        if not companies:
            return FeedPage(position=near.position, has_more=near.has_more)
        bounded = _of_companies(request, companies).model_copy(update={"until": near.position})
        return await self.events.page(bounded, caller=caller)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        """Returns one event."""
        return await self.events.event(request, caller=caller)


def _watched(request: FeedRequest) -> WatchedRequest:
    return WatchedRequest(owner=request.owner, watchlists=request.filter.watchlists)


def _of_companies(request: FeedRequest, companies: Collection[CompanyKey]) -> FeedRequest:
    either = tuple(dict.fromkeys((*request.filter.companies, *companies)))
    limits = request.filter.model_copy(update={"companies": either, "watchlists": ()})
    return request.model_copy(update={"filter": limits})


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
        caller: Caller,
        is_abandoned: Callable[[], bool],
    ) -> FeedPage:
        """Returns the next page; one without events comes after `wait` seconds. Raises a Problem.

        The wait of a client that has disconnected ends, so that it leaves room for its next one.
        """
        if not wait:
            return await self._read(request, caller)
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait
        # Subscribed before the first read: no event falls between the two.
        with self._reader(key), self.signals.subscribe(key.owner, request.filter) as signal:
            while True:
                page = await self._read(request, caller)
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
        self, request: FeedRequest, key: ApiKey, *, caller: Caller
    ) -> AsyncGenerator[Sequence[FeedEvent]]:
        """Yields the events of each page; none, first of all and at intervals, as a sign of life.

        Ends at shutdown and when the key is revoked. Raises a Problem before the first item only.
        """
        with self._reader(key), self.signals.subscribe(key.owner, request.filter) as signal:
            page = await self._read(request, caller)
            yield ()
            while not signal.closed and await self._is_valid(key):
                yield page.events
                request = _behind(request, page)
                if page.has_more or await signal.wait(INTERVAL):
                    try:
                        page = await self._next(request, caller)
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
        clock = asyncio.get_running_loop().time
        while not signal.closed and not is_abandoned() and (left := deadline - clock()) > 0:
            signalled = await signal.wait(min(left, INTERVAL))
            if not await self._is_valid(key):
                raise Unauthorized("the API key is unknown, revoked or expired")
            if signalled:
                return True
        return False

    async def _read(self, request: FeedRequest, caller: Caller) -> FeedPage:
        page = await self.events.page(request, caller=caller)
        if page.expired:
            raise CursorExpired(
                "events after this cursor have expired; continue with the cursor in oldest",
                oldest=write_cursor(page.position),
            )
        return page

    async def _next(self, request: FeedRequest, caller: Caller) -> FeedPage:
        try:
            return await self._read(request, caller)
        except _FAILURES:
            await asyncio.sleep(AFTER_FAILURE)
            return FeedPage(position=request.after or 0, has_more=True)

    async def _is_valid(self, key: ApiKey) -> bool:
        try:
            current = await self.keys.get(key.id)
        except ServiceUnavailable:
            return True
        return current is not None and current.is_valid(self.now())

    @contextmanager
    def _reader(self, key: ApiKey) -> Iterator[None]:
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
    return request.model_copy(update={"after": page.position, "latest": False, "recent": False})
