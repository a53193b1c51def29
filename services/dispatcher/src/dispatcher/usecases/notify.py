"""Notices to owners: events about their webhooks, handed to the lookup service's outbox."""

import asyncio
from dataclasses import dataclass

from dispatcher.ports import Notices, OwnerEvents
from webhook_store.models import OwnerNotice

#: Webhooks per pass.
BATCH = 100


@dataclass(frozen=True, slots=True)
class NotifyOwners:
    """Safe to repeat at any point: an event has the same id each time."""

    notices: Notices
    owner_events: OwnerEvents

    async def __call__(self) -> int:
        """One pass; returns the number of events.

        Raises the first error, such as `Unavailable`, after it has tried every notice.
        """
        due = await self.notices.due(limit=BATCH)
        results = await asyncio.gather(*map(self._notify, due), return_exceptions=True)
        for error in results:
            if isinstance(error, BaseException):
                raise error
        return sum(len(notice.events) for notice in due)

    async def _notify(self, notice: OwnerNotice) -> None:
        for event in notice.events:
            await self.owner_events.store(notice.owner, event)
        await self.notices.remove(notice)
