"""Names of exchanges and queues, and their arguments."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.webhooks import DeliveryId, WebhookId

#: Topic exchange of registry events; the routing key is `<country>.<event type>`.
EVENTS_EXCHANGE = "registry.events"


# The request queues of RPC. Each name is a fanout exchange, to which each server binds an exclusive
# queue of its own; clients publish to these (ADR 0037).


#: Arguments of a server's queue. A server keeps it empty; the limit, beyond which the oldest
#: request is dropped, bounds what the broker holds for a stopped process.
REQUESTS_ARGUMENTS: dict[str, Any] = {"x-max-length": 500}


def lookup_queue(country: Country) -> str:
    """Returns the queue of one country's indexed reads, apart from the slower name searches."""
    return f"rpc.lookup.{country}"


def search_queue(country: Country) -> str:
    """Returns the queue of one country's name and address searches."""
    return f"rpc.search.{country}"


def suggest_queue(country: Country) -> str:
    """Returns the queue of one country's suggestions, which searches must not delay."""
    return f"rpc.suggest.{country}"


def find_queue(country: Country) -> str:
    """Returns the queue of lists of one country's companies that fit filters."""
    return f"rpc.find.{country}"


def match_queue(country: Country) -> str:
    """Returns the queue of records to be matched with one country's companies."""
    return f"rpc.match.{country}"


def export_queue(country: Country) -> str:
    """Returns the queue of pages of a copy of one country's register."""
    return f"rpc.export.{country}"


def parts_queue(country: Country) -> str:
    """Returns the queue of pages of the lists of one country's companies, such as owners."""
    # The name is that of its first list; another one would end what an older gateway calls.
    return f"rpc.units.{country}"


def known_queue(country: Country) -> str:
    """Returns the queue of checks whether one country's register has companies."""
    return f"rpc.known.{country}"


WEBHOOKS_QUEUE = "rpc.webhooks"
#: Queue of operations on watchlists, whose changes may take seconds.
WATCHLISTS_QUEUE = "rpc.watchlists"
#: Queue of reads of the companies of watchlists, for readers of the feed.
WATCHED_QUEUE = "rpc.watched"
#: Queue of the links in messages to subscribers.
DIGEST_LINKS_QUEUE = "rpc.digest_links"

#: Queue of reads of pages of the event feed.
FEED_PAGE_QUEUE = "rpc.events"
#: Queue of reads of single events of the feed.
FEED_EVENT_QUEUE = "rpc.event"
#: Queue of reads of how fresh the registers are.
SOURCES_QUEUE = "rpc.lookup.sources"
#: Queue of events about webhooks, to be stored in the outbox.
OWNER_EVENTS_QUEUE = "rpc.owner_events"

#: Request queues that a gateway calls.
GATEWAY_QUEUES = (
    *map(lookup_queue, Country),
    *map(search_queue, Country),
    *map(suggest_queue, Country),
    *map(parts_queue, Country),
    *map(find_queue, Country),
    *map(match_queue, Country),
    *map(export_queue, Country),
    FEED_PAGE_QUEUE,
    FEED_EVENT_QUEUE,
    SOURCES_QUEUE,
    WEBHOOKS_QUEUE,
    WATCHLISTS_QUEUE,
    WATCHED_QUEUE,
    DIGEST_LINKS_QUEUE,
)

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
