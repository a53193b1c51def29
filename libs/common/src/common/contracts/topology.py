"""Names of exchanges and queues, and their arguments."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field

from common.contracts.contract import Contract
from common.contracts.webhooks import DeliveryId, WebhookId

#: Topic exchange of registry events; the routing key is `<country>.<event type>`.
EVENTS_EXCHANGE = "registry.events"


#: Arguments of the queue of a server of requests (`common.messaging.requests`). A server keeps it
#: empty; the limit, beyond which the oldest request is dropped, bounds what the broker holds for a
#: stopped process.
REQUESTS_ARGUMENTS: dict[str, Any] = {"x-max-length": 500}


#: Topic exchange of notices that events were published, broadcast to every gateway.
FEED_EXCHANGE = "registry.feed"

#: Registry events, to be matched with webhooks and stored as deliveries.
FAN_OUT_QUEUE = "dispatcher.events"
#: Tasks of first attempts, apart from retries so that these never delay them.
DELIVERIES_QUEUE = "deliveries"
#: Tasks of retries, dead-lettered here by the delay queues.
RETRIES_QUEUE = "deliveries.retries"
#: Messages whose processing failed repeatedly.
DEAD_LETTERS_QUEUE = "dispatcher.dead_letters"

#: The broker counts each lost connection as a failed delivery, so its limit would dead-letter
#: messages during an outage. The consumer counts instead; RabbitMQ 4 defaults to a limit of 20.
_NO_DELIVERY_LIMIT = 1_000_000

_DURABLE: dict[str, Any] = {"x-queue-type": "quorum"}
# Without this a dead letter is lost if its target is unavailable at that time. It needs
# `reject-publish`: with the other overflow behaviour it silently falls back to at-most-once.
_AT_LEAST_ONCE = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}

DEAD_LETTERS_ARGUMENTS: dict[str, Any] = _DURABLE
#: Arguments of a work queue.
WORK_ARGUMENTS: dict[str, Any] = {
    **_DURABLE,
    **_AT_LEAST_ONCE,
    "x-delivery-limit": _NO_DELIVERY_LIMIT,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": DEAD_LETTERS_QUEUE,
}


def delay_queue(delay: timedelta) -> str:
    """Returns the queue that delays tasks by `delay`; a queue's arguments cannot change."""
    return f"deliveries.retry.{_milliseconds(delay)}ms"


def delay_arguments(delay: timedelta) -> dict[str, Any]:
    """Returns the arguments of a delay queue: expired messages go to the retry queue."""
    return {
        **_DURABLE,
        **_AT_LEAST_ONCE,
        "x-message-ttl": _milliseconds(delay),
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": RETRIES_QUEUE,
    }


def _milliseconds(delay: timedelta) -> int:
    return delay // timedelta(milliseconds=1)


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
