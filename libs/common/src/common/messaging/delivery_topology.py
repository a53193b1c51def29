"""Topology of webhook deliveries, which the dispatcher declares."""

from collections.abc import Sequence
from datetime import timedelta

from common.contracts.topology import (
    DEAD_LETTERS_ARGUMENTS,
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    EVENTS_EXCHANGE,
    EVENTS_QUEUE,
    RETRIES_QUEUE,
    WORK_ARGUMENTS,
    delay_arguments,
    delay_queue,
)
from common.messaging.topology import Queue, Topology


def delivery_topology(delays: Sequence[timedelta] = ()) -> Topology:
    """The queues from event to dead letter, and a delay queue for each of `delays`."""
    return Topology(
        topic_exchanges=(EVENTS_EXCHANGE,),
        queues=(
            Queue(DEAD_LETTERS_QUEUE, DEAD_LETTERS_ARGUMENTS),
            Queue(EVENTS_QUEUE, WORK_ARGUMENTS, EVENTS_EXCHANGE),
            Queue(DELIVERIES_QUEUE, WORK_ARGUMENTS),
            Queue(RETRIES_QUEUE, WORK_ARGUMENTS),
            *(Queue(delay_queue(delay), delay_arguments(delay)) for delay in dict.fromkeys(delays)),
        ),
    )
