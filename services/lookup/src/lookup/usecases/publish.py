"""From the outbox to the broker: at least once, and in order for each company."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from common.contracts.outage import Outage
from lookup.ports import EventBus, Outbox, WaitingEvent

#: Events read and marked at once.
BATCH = 500
#: Companies whose events are under way to the broker at once.
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class PublishOutbox:
    outbox: Outbox
    bus: EventBus
    now: Callable[[], datetime]

    async def __call__(self) -> int:
        """One pass; how many events went out. Raises `Outage` when none could.

        An event is marked after the broker has confirmed it. Whoever dies between the two
        publishes it again, with the same id, which consumers take for what it is.
        """
        events = await self.outbox.waiting(BATCH)
        room = asyncio.Semaphore(AT_ONCE)

        async def publish(of_company: Sequence[WaitingEvent]) -> tuple[list[str], Outage | None]:
            done: list[str] = []
            async with room:
                for event in of_company:
                    try:
                        await self.bus.publish(event)
                    except Outage as outage:
                        # What follows of this company waits too, so that nothing overtakes.
                        return done, outage
                    done.append(event.id)
            return done, None

        companies = [list(group) for _, group in groupby(events, lambda event: event.company)]
        results = await asyncio.gather(*(publish(of_company) for of_company in companies))
        published = [event for done, _ in results for event in done]
        if published:
            await self.outbox.mark(published, at=self.now())
        outages = [outage for _, outage in results if outage is not None]
        if outages and not published:
            raise outages[0]
        return len(published)
