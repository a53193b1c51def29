"""Publishes the outbox: at least once, and in order for each company."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from prometheus_client import Counter

from common.contracts.events import FeedNotice, PublishedEvent
from common.contracts.failures import Unavailable
from ingest.publishing.outbox import Depth, StoredOutbox, WaitingEvent


class EventBus(Protocol):
    """The broker, with the dispatcher and the readers of the feed behind it."""

    async def publish(self, event: WaitingEvent) -> None:
        """Returns after the broker has confirmed the event; raises `Unavailable` otherwise."""

    async def takes_repeats(self) -> bool:
        """Returns True if a dispatcher consumes events and has a short queue; raises `Unavailable`.

        An event that still waits in the queue must not be added to it repeatedly.
        """

    async def notify(self, notice: FeedNotice) -> None:
        """Broadcasts a notice to readers of the feed, if the broker can be reached."""


#: Events per read and per update.
BATCH = 500
#: Seconds after which a pass reads no further batch: the lease must be renewed between passes.
_PASS = 1.0

_PUBLISHED = Counter("outbox_events_published_total", "Events confirmed by the broker")


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    """Publishes waiting events and gives each its position in the feed."""

    outbox: StoredOutbox
    bus: EventBus
    now: Callable[[], datetime]
    #: Time for the dispatcher's receipt before an event is published again.
    receipt_timeout: timedelta

    async def __call__(self) -> int:
        """Runs one pass; returns the number of published events. Raises `Unavailable` if none was.

        Batches follow one another: an event is marked after the broker has confirmed it, and the
        next batch is read after that. After a crash between the two a batch is published again with
        the same ids, and the dispatcher ignores the repeats.
        """
        clock = asyncio.get_running_loop().time
        end_at, count = clock() + _PASS, 0
        while batch := await self._waiting(after=count):
            published = await publish_in_order(self.bus, batch)
            await self._mark(published.events)
            count += len(published.events)
            if published.outage and not count:
                raise published.outage
            if published.outage or len(batch) < BATCH or clock() >= end_at:
                break
        return count

    async def _waiting(self, *, after: int) -> Sequence[WaitingEvent]:
        """Returns the next batch; none if a later one cannot be read, which the next pass reports.

        Raises `Unavailable` for the first.
        """
        with suppress(*(Unavailable,) if after else ()):
            return await self.outbox.waiting(BATCH)
        return ()

    async def _mark(self, events: Sequence[WaitingEvent]) -> None:
        if events:
            now, ids = self.now(), [event.id for event in events]
            position = await self.outbox.mark(ids, at=now, again_at=now + self.receipt_timeout)
            _PUBLISHED.inc(len(events))
            await self.bus.notify(_notice(position, events))

    async def drop_expired(self) -> int:
        """Deletes events that could not be published within the retention; returns their number."""
        return await self.outbox.drop_expired(at=self.now())

    async def waiting(self) -> Depth:
        """Number of unpublished events, and the time of the oldest."""
        return await self.outbox.depth()

    async def repeat_notice(self) -> None:
        """Sends readers the newest position: a notice is lost if its process ends before it.

        Not while it is not known: a notice of its own follows.
        """
        position = self.outbox.position
        if position is not None:
            await self.bus.notify(FeedNotice(position=position))


def _notice(position: int, events: Sequence[WaitingEvent]) -> FeedNotice:
    return FeedNotice(
        position=position,
        events=tuple(
            PublishedEvent(type=event.type, company=event.company, owner=event.owner)
            for event in events
        ),
    )


@dataclass(frozen=True, slots=True)
class Published:
    """The events of a batch that the broker has confirmed, and why others are not among them."""

    events: Sequence[WaitingEvent] = ()
    outage: Unavailable | None = None


async def publish_in_order(bus: EventBus, events: Sequence[WaitingEvent]) -> Published:
    """Publishes events, which are ordered by company."""

    async def publish(of_company: Sequence[WaitingEvent]) -> Published:
        for number, event in enumerate(of_company):
            try:
                await bus.publish(event)
            except Unavailable as outage:
                # The company's later events wait too, so that none overtakes this one.
                return Published(of_company[:number], outage)
        return Published(of_company)

    companies = [list(group) for _, group in groupby(events, lambda event: event.company)]
    results = await asyncio.gather(*map(publish, companies))
    return Published(
        [event for result in results for event in result.events],
        next((result.outage for result in results if result.outage), None),
    )
