"""Wake-ups: each due delivery is attempted now, or left to its webhook's lane."""

import asyncio
from dataclasses import dataclass

from common.contracts.deliveries import DeliveryTask, DeliveryTasks
from common.contracts.outage import Outage
from dispatcher.domain.caps import Place
from dispatcher.ports import Journal, Left, Rows, Webhooks
from dispatcher.usecases.attempt import Attempt
from dispatcher.usecases.lanes import Lanes
from dispatcher.usecases.slots import Slots
from webhook_store.models import Sendable


@dataclass(frozen=True, slots=True)
class Deliver:
    """A wake-up that comes late or twice finds nothing to claim, and does nothing."""

    webhooks: Webhooks
    rows: Rows
    attempt: Attempt
    slots: Slots
    lanes: Lanes
    journal: Journal

    async def __call__(self, message: DeliveryTasks) -> None:
        """Returns when every attempt is recorded; raises `Outage` when some must be tried again."""
        # Not a TaskGroup: one that fails must not cut off the others' posts.
        ended = await asyncio.gather(
            *(self._one(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # An error of ours comes first: a message that fails each time must not be held for ever.
        for error in sorted(errors, key=lambda error: isinstance(error, Outage)):
            raise error

    async def _one(self, task: DeliveryTask, *, more: bool) -> None:
        webhook = await self.webhooks.sendable(task.webhook_id)
        if webhook is None:
            await self._attempt(None, task)
            return
        place = _place(webhook)
        if more:
            self.lanes.look(place)
        if not self.slots.take(place):
            self.journal.left(task.delivery_id, Left.CAP)
            self.lanes.add(place, task)
            return
        try:
            await self._attempt(webhook, task)
        finally:
            self.slots.free(place)

    async def _attempt(self, webhook: Sendable | None, task: DeliveryTask) -> None:
        delivery = await self.rows.claim(task)
        if delivery is not None:
            await self.attempt(webhook, delivery)


def _place(webhook: Sendable) -> Place:
    return Place(webhook.webhook_id, webhook.host, webhook.owner)
