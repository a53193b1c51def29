"""Exchanges and queues as data, and their declaration."""

from dataclasses import dataclass, field
from typing import Any

from aio_pika import ExchangeType
from aio_pika.abc import AbstractChannel

from common.messaging.connection import CONNECT_TIMEOUT


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable queue. Its arguments can never change, so what varies is in its name."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    #: The topic exchange whose messages it gets, all of them.
    exchange: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Exchanges and queues that must exist before publishing or consuming."""

    topic_exchanges: tuple[str, ...] = ()
    queues: tuple[Queue, ...] = ()


async def declare(channel: AbstractChannel, topology: Topology) -> None:
    """Declares everything, durably; idempotent."""
    for name in topology.topic_exchanges:
        await channel.declare_exchange(
            name, ExchangeType.TOPIC, durable=True, timeout=CONNECT_TIMEOUT
        )
    for queue in topology.queues:
        declared = await channel.declare_queue(
            queue.name, durable=True, arguments=queue.arguments, timeout=CONNECT_TIMEOUT
        )
        if queue.exchange is not None:
            await declared.bind(queue.exchange, "#", timeout=CONNECT_TIMEOUT)
