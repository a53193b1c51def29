"""Notices to owners: events about their webhooks, handed to the lookup service's outbox."""

from dataclasses import dataclass

from dispatcher.ports import Notices, OwnerEvents

#: Webhooks per pass.
BATCH = 100


@dataclass(frozen=True, slots=True)
class NotifyOwners:
    """Safe to repeat at any point: an event has the same id each time."""

    notices: Notices
    owner_events: OwnerEvents

    async def __call__(self) -> int:
        """One pass; returns the number of events. Raises `Unavailable`."""
        count = 0
        for notice in await self.notices.due(limit=BATCH):
            for event in notice.events:
                await self.owner_events.store(notice.owner, event)
                count += 1
            await self.notices.remove(notice)
        return count
