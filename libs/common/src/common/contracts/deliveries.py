"""Delivery tasks for the dispatcher: ids only, since MongoDB holds the state (ADR 0007)."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from common.contracts.contract import Contract
from common.contracts.webhooks import DeliveryId, WebhookId

#: Deliveries in one message. Batches reduce broker load; small ones are processed quickly.
MAX_BATCH_SIZE = 16


class DeliveryTask(Contract):
    """Says that a delivery's next attempt is due."""

    delivery_id: DeliveryId
    webhook_id: WebhookId
    #: The attempt that is due, counted from 1. Stale once that attempt has been made.
    attempt: int = Field(ge=1)


class DeliveryTasks(Contract):
    """One message: deliveries that became due at the same time."""

    #: An unknown version fails to decode, and the message ends in the dead letters.
    v: Literal[1] = 1
    tasks: tuple[DeliveryTask, ...] = Field(min_length=1)
    #: True if more deliveries of the same webhooks are due without messages of their own.
    more: bool = False


def encode_tasks(tasks: Sequence[DeliveryTask], *, more: bool = False) -> Iterator[bytes]:
    """Yields the messages that carry `tasks`, none longer than MAX_BATCH_SIZE."""
    for first in range(0, len(tasks), MAX_BATCH_SIZE):
        chunk = tuple(tasks[first : first + MAX_BATCH_SIZE])
        yield DeliveryTasks(tasks=chunk, more=more).model_dump_json().encode()
