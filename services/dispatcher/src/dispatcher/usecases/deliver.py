"""Handling of delivery messages: claim and start each delivery, or add it to a backlog.

A message is acked once its deliveries are claimed, so a hanging receiver holds no message. From
then on the row's lease guards the delivery; after a crash the requeue job requeues it.
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
    """Idempotent: a late or repeated message finds nothing to claim."""

    webhooks: Webhooks
    rows: Rows
    attempt: Attempt
    slots: Slots
    throttled: ThrottledWebhooks
    telemetry: Telemetry

    async def __call__(self, body: bytes) -> None:
        """Claims or defers every delivery; raises `Unavailable` when it must be retried."""
        message = DeliveryTasks.model_validate_json(body)
        # Not a TaskGroup: one failure must not cancel the other claims.
        ended = await asyncio.gather(
            *(self._one(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # Internal errors come first: a message that always fails must be dead-lettered.
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
            self.telemetry.deferred(task.delivery_id, DeferReason.THROTTLED)
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
