"""Names of exchanges and queues, and what they are declared with."""

from datetime import timedelta
from typing import Any

from common.contracts.company import Country

#: Topic exchange of registry events; the routing key is `<country>.<event type>`.
EVENTS_EXCHANGE = "registry.events"


def lookup_queue(country: Country) -> str:
    """Indexed reads of one country: a number never waits for a name."""
    return f"rpc.lookup.{country}"


def search_queue(country: Country) -> str:
    """Name and address searches of one country."""
    return f"rpc.search.{country}"


def suggest_queue(country: Country) -> str:
    """Suggestions of one country: whoever types waits for no search, and no search for them."""
    return f"rpc.suggest.{country}"


WEBHOOKS_QUEUE = "rpc.webhooks"

#: Registry events on their way to the rows of the webhooks that they are for.
EVENTS_QUEUE = "dispatcher.events"
#: Wake-ups of first attempts; retries never stand in their way.
DELIVERIES_QUEUE = "deliveries"
#: Wake-ups of retries: what comes out of the delay queues.
RETRIES_QUEUE = "deliveries.retries"
#: Messages whose processing failed repeatedly.
DEAD_LETTERS_QUEUE = "dispatcher.dead_letters"

#: The broker counts each lost connection as a failed delivery, so its limit would make dead letters
#: of an outage. The consumer counts instead; RabbitMQ 4 has a limit of 20 where none is given.
_NO_DELIVERY_LIMIT = 1_000_000

_DURABLE: dict[str, Any] = {"x-queue-type": "quorum"}
# Without this a dead letter is lost when its target is away at that moment. It needs
# `reject-publish`: with the other overflow behaviour the broker falls back in silence.
_AT_LEAST_ONCE = {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}

DEAD_LETTERS_ARGUMENTS: dict[str, Any] = _DURABLE
#: What a queue of work is declared with.
WORK_ARGUMENTS: dict[str, Any] = {
    **_DURABLE,
    **_AT_LEAST_ONCE,
    "x-delivery-limit": _NO_DELIVERY_LIMIT,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": DEAD_LETTERS_QUEUE,
}


def delay_queue(delay: timedelta) -> str:
    """Where wake-ups wait for `delay`. Arguments never change, so the delay is in the name."""
    return f"deliveries.retry.{_milliseconds(delay)}ms"


def delay_arguments(delay: timedelta) -> dict[str, Any]:
    """What the queue of a delay is declared with: it hands what is due to the retries."""
    return {
        **_DURABLE,
        **_AT_LEAST_ONCE,
        "x-message-ttl": _milliseconds(delay),
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": RETRIES_QUEUE,
    }


def _milliseconds(delay: timedelta) -> int:
    return delay // timedelta(milliseconds=1)
