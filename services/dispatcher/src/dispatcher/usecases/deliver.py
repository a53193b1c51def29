"""Handling of delivery messages: claim and start each delivery, or add it to a backlog.

A message is acked once its deliveries are claimed, so a hanging receiver holds no message. From
then on the row's lease guards the delivery; after a crash the requeue job requeues it.
"""

import asyncio
from dataclasses import dataclass

from common.contracts.deliveries import DeliveryTasks
from common.contracts.failures import Unavailable
from dispatcher.usecases.throttled_webhooks import ThrottledWebhooks


@dataclass(frozen=True, slots=True)
class Deliver:
    """Idempotent: a late or repeated message finds nothing to claim."""

    throttled: ThrottledWebhooks

    async def __call__(self, body: bytes) -> None:
        """Claims or defers every delivery; raises `Unavailable` when it must be retried."""
        message = DeliveryTasks.model_validate_json(body)
        # Not a TaskGroup: one failure must not cancel the other claims.
        ended = await asyncio.gather(
            *(self.throttled.deliver(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # Internal errors come first: a message that always fails must be dead-lettered.
        for error in sorted(errors, key=lambda error: isinstance(error, Unavailable)):
            raise error
