"""Wake-ups: each due delivery is claimed and begun, or left to its webhook's lane.

A wake-up is done as soon as its deliveries are claimed: a receiver that hangs holds no message.
From then on the row's lease guards the delivery; should the process die, the sweeper wakes it.
"""

import asyncio
from dataclasses import dataclass

from common.contracts.deliveries import DeliveryTask, DeliveryTasks
from common.contracts.failures import Unavailable
from dispatcher.domain.concurrency import LimitKey
from dispatcher.ports import DeferReason, Rows, Telemetry, Webhooks
from dispatcher.usecases.attempt import Attempt
from dispatcher.usecases.slots import Slots
from dispatcher.usecases.throttled_webhooks import ThrottledWebhooks
from webhook_store.models import Sendable


@dataclass(frozen=True, slots=True)
class Deliver:
    """A wake-up that comes late or twice finds nothing to claim, and does nothing."""

    webhooks: Webhooks
    rows: Rows
    attempt: Attempt
    slots: Slots
    throttled: ThrottledWebhooks
    telemetry: Telemetry

    async def __call__(self, message: DeliveryTasks) -> None:
        """Claim or defer every delivery; raises `Unavailable` if it has to be retried."""
        # Not a TaskGroup: one that fails must not cut off the others' claims.
        ended = await asyncio.gather(
            *(self._one(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # An error of ours comes first: a message that fails each time must not be held for ever.
        for error in sorted(errors, key=lambda error: isinstance(error, Unavailable)):
            raise error

    async def _one(self, task: DeliveryTask, *, more: bool) -> None:
        webhook = await self.webhooks.sendable(task.webhook_id)
        if webhook is None:
            await self._cancel(task)
            return
        limit_key = _limit_key(webhook)
        if more:
            self.throttled.scan(limit_key)
        if not self.slots.acquire(limit_key):
            self.telemetry.deferred(task.delivery_id, DeferReason.CAP)
            self.throttled.add(limit_key, task)
            return
        delivery = None
        try:
            delivery = await self.rows.claim(task)
        finally:
            if delivery is None:
                self.slots.release(limit_key)
        if delivery is not None:
            self.throttled.start(limit_key, webhook, delivery)

    async def _cancel(self, task: DeliveryTask) -> None:
        delivery = await self.rows.claim(task)
        if delivery is not None:
            await self.attempt.post(None, delivery)


def _limit_key(webhook: Sendable) -> LimitKey:
    return LimitKey(webhook.webhook_id, webhook.host, webhook.owner)
