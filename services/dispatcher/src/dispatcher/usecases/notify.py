"""Notices to owners: events about their webhooks, handed to the lookup service's outbox."""

import asyncio
from dataclasses import dataclass

from dispatcher.ports import Notices, OwnerEvents
from webhook_store.models import OwnerNotice

#: Webhooks per batch.
BATCH = 100


@dataclass(frozen=True, slots=True)
class NotifyOwners:
    """Safe to repeat at any point: an event has the same id each time."""

    notices: Notices
    owner_events: OwnerEvents

    async def __call__(self) -> None:
        """Hands over all notices that are due.

        Raises the first error of a batch, such as `Unavailable`, after it has tried every notice.
        """
        while True:
            due = await self.notices.due(limit=BATCH)
            results = await asyncio.gather(*map(self._notify, due), return_exceptions=True)
            for error in results:
                if isinstance(error, BaseException):
                    raise error
            if len(due) < BATCH:
                return

    async def _notify(self, notice: OwnerNotice) -> None:
        for event in notice.events:
            await self.owner_events.store(notice.owner, event)
        await self.notices.remove(notice)
