"""Waking of readers that wait for events: one notice from the broker serves all of them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import Gauge
from pydantic import ValidationError

from common.contracts.events import FeedFilter, FeedNotice, PublishedEvent

_WAITING = Gauge("event_readers", "Requests that wait for events, and open event streams")

#: Seconds in which the notices for a reader with watchlists are combined to one read, because most
#: are about other companies.
PAUSE = 0.25

log = structlog.get_logger()


class FeedNotices:
    """Readers, and the notices of the outbox's publisher that wake them."""

    def __init__(self) -> None:
        self._subscriptions: dict[Subscription, None] = {}
        self._position: int | None = None
        self._closed = False
        _WAITING.set_function(lambda: len(self._subscriptions))

    @contextmanager
    def subscribe(self, owner: str, limits: FeedFilter) -> Iterator["Subscription"]:
        """Subscribes to events of the filter that the owner may see, during the body."""
        subscription = Subscription(owner, limits)
        self._subscriptions[subscription] = None
        if self._closed:
            subscription.close()
        try:
            yield subscription
        finally:
            del self._subscriptions[subscription]

    def receive(self, message: bytes) -> None:
        """Takes a notice, and wakes the readers that it may concern."""
        try:
            notice = FeedNotice.model_validate_json(message)
        except ValidationError:
            log.warning("feed.undecodable_notice")
            return
        known, self._position = self._position, max(notice.position, self._position or 0)
        if known is not None and notice.position <= known:
            return
        if known is None or notice.position - len(notice.events) > known:
            self.wake_all()
            return
        summary = _Summary(notice.events)
        for subscription in self._subscriptions:
            if summary.may_match(subscription):
                subscription.wake()

    def wake_all(self) -> None:
        """Resumes every waiting reader, since notices may have been missed."""
        for subscription in self._subscriptions:
            subscription.wake()

    def close(self) -> None:
        """Ends every wait, also later ones."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.close()


class Subscription:
    """One reader's wait for events."""

    def __init__(self, owner: str, limits: FeedFilter) -> None:
        self.owner = owner
        self.types = frozenset(limits.types)
        self.countries = frozenset(limits.countries)
        #: For a reader with watchlists any event, because only the registry has their companies.
        self.companies = frozenset() if limits.watchlists else frozenset(limits.companies)
        self._pause = PAUSE if limits.watchlists else 0.0
        #: True if the service shuts down.
        self.closed = False
        self._signal = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Waits for events that may match; False after `seconds` without, or when closed."""
        try:
            async with asyncio.timeout(seconds):
                await self._signal.wait()
        except TimeoutError:
            return False
        if self._pause and not self.closed:
            await asyncio.sleep(self._pause)
        if not self.closed:
            self._signal.clear()
        return not self.closed

    def wake(self) -> None:
        """Resumes the wait in progress, or ends the next one at once."""
        self._signal.set()

    def close(self) -> None:
        """Ends the wait in progress and every later one, for the shutdown of the service."""
        self.closed = True
        self._signal.set()


class _Summary:
    """The properties of all events of a notice; a match may be spread over several events.

    A reader may then wake for nothing, which is cheaper than comparing each with each event.
    """

    def __init__(self, events: tuple[PublishedEvent, ...]) -> None:
        self.types = {event.type for event in events}
        self.companies = {event.company for event in events if event.company is not None}
        self.countries = {company.country for company in self.companies}
        self.owners = {event.owner for event in events}

    def may_match(self, reader: Subscription) -> bool:
        return (
            (None in self.owners or reader.owner in self.owners)
            and (not reader.types or not reader.types.isdisjoint(self.types))
            and (not reader.countries or not reader.countries.isdisjoint(self.countries))
            and (not reader.companies or not reader.companies.isdisjoint(self.companies))
        )
