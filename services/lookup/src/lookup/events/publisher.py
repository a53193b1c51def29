"""Publishes the outbox: at least once, and in order for each company."""

import asyncio
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from common.contracts.failures import Unavailable
from common.contracts.feed import FeedNotice, PublishedEvent
from lookup.events.outbox import Depth, StoredOutbox, WaitingEvent


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
#: Maximum companies whose events are published concurrently.
AT_ONCE = 100


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

        An event is marked after the broker has confirmed it. After a crash between the two it is
        published again with the same id, and the dispatcher ignores the repeat.
        """
        waiting = await self.outbox.waiting(BATCH)
        published = await publish_in_order(self.bus, waiting)
        if published:
            now = self.now()
            again_at = now + self.receipt_timeout
            position = await self.outbox.mark(published, at=now, again_at=again_at)
            await self.bus.notify(_notice(position, waiting, set(published)))
        return len(published)

    async def drop_expired(self) -> int:
        """Deletes events that could not be published within the retention; returns their number."""
        return await self.outbox.drop_expired(at=self.now())

    async def waiting(self) -> Depth:
        """Number of unpublished events, and the time of the oldest."""
        return await self.outbox.depth()

    async def repeat_notice(self) -> None:
        """Sends readers the newest position: a notice is lost if its process ends before it."""
        await self.bus.notify(FeedNotice(position=await self.outbox.position()))


def _notice(position: int, events: Sequence[WaitingEvent], published: Set[str]) -> FeedNotice:
    return FeedNotice(
        position=position,
        events=tuple(
            PublishedEvent(type=event.type, company=event.company, owner=event.owner)
            for event in events
            if event.id in published
        ),
    )


async def publish_in_order(bus: EventBus, events: Sequence[WaitingEvent]) -> list[str]:
    """Publishes events, which are ordered by company; returns the confirmed ids.

    Raises `Unavailable` if the broker took none.
    """
    room = asyncio.Semaphore(AT_ONCE)

    async def publish(of_company: Sequence[WaitingEvent]) -> tuple[list[str], Unavailable | None]:
        done: list[str] = []
        async with room:
            for event in of_company:
                try:
                    await bus.publish(event)
                except Unavailable as outage:
                    # The company's later events wait too, so that none overtakes this one.
                    return done, outage
                done.append(event.id)
        return done, None

    companies = [list(group) for _, group in groupby(events, lambda event: event.company)]
    results = await asyncio.gather(*(publish(of_company) for of_company in companies))
    published = [event for done, _ in results for event in done]
    outages = [outage for _, outage in results if outage is not None]
    if outages and not published:
        raise outages[0]
    return published
