"""From the outbox to the broker: at least once, and in order for each company."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol

from common.contracts.company import CompanyKey
from common.contracts.failures import Unavailable


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """An event that is stored and not published yet."""

    id: str
    company: CompanyKey
    routing_key: str
    body: bytes


class Outbox(Protocol):
    """Events that were never published. Every method may raise `Unavailable`."""

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        """The first events to publish, those of one company together and by revision."""

    async def mark(self, events: Collection[str], *, at: datetime, again_at: datetime) -> None:
        """Notes that these were published, and are due again unless they are confirmed."""


class EventBus(Protocol):
    async def publish(self, event: WaitingEvent) -> None:
        """Returns when the broker has it; raises `Unavailable` when it has not."""


#: Events read and marked at once.
BATCH = 500
#: Companies whose events are under way to the broker at once.
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    outbox: Outbox
    bus: EventBus
    now: Callable[[], datetime]
    #: How long the dispatcher's receipt may take before an event is published again.
    receipt_timeout: timedelta

    async def __call__(self) -> int:
        """One pass; how many events went out. Raises `Unavailable` when none could.

        An event is marked after the broker has confirmed it. After a crash between the two it is
        published again with the same id, and the dispatcher ignores the repeat.
        """
        published = await publish_in_order(self.bus, await self.outbox.waiting(BATCH))
        if published:
            now = self.now()
            await self.outbox.mark(published, at=now, again_at=now + self.receipt_timeout)
        return len(published)


async def publish_in_order(bus: EventBus, events: Sequence[WaitingEvent]) -> list[str]:
    """Publishes events, which come ordered by company; gives the ids that the broker has.

    Raises `Unavailable` when the broker took none.
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
    translated_errors = [outage for _, outage in results if outage is not None]
    if translated_errors and not published:
        raise translated_errors[0]
    return published
