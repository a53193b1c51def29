"""Queue depths: the number of messages waiting."""

from dataclasses import dataclass
from typing import Final

from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import ChannelNotFoundEntity

from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.errors import BrokerUnavailable, broker_calls
from common.messaging.topology import Topology, declare

#: Messages in a queue from which on it counts as slow: none is lost, so none is published again.
LONG_QUEUE: Final = 500


class QueueDepths:
    """Queries the broker over its own channel."""

    def __init__(self, connection: SupervisedConnection, *, topology: Topology) -> None:
        self._supervised = connection
        self._topology = topology
        self._channel: AbstractChannel | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens the channel and declares the queues."""
        channel = await self._supervised.open_channel(connection, confirms=False)
        # A passive declare of a missing queue would close the channel.
        await declare(channel, self._topology)
        self._channel = channel

    def detach(self) -> None:
        """Drops the channel."""
        self._channel = None

    async def ready(self, queue: str) -> int:
        """Messages not delivered to a consumer yet; raises BrokerUnavailable."""
        if self._channel is None:
            raise BrokerUnavailable("the broker cannot be reached")
        with broker_calls():
            declared = await self._channel.declare_queue(
                queue, durable=True, passive=True, timeout=CONNECT_TIMEOUT
            )
        return declared.declaration_result.message_count or 0


@dataclass(frozen=True, slots=True)
class QueueState:
    """The messages and consumers of a queue."""

    #: Messages not delivered to a consumer yet.
    ready: int
    consumers: int


class QueueProbe:
    """Inspects queues that other services declare; it declares none itself."""

    def __init__(self) -> None:
        self._connection: AbstractConnection | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        """Keeps the connection, on which each query opens a channel."""
        self._connection = connection

    def detach(self) -> None:
        """Drops the connection."""
        self._connection = None

    async def state(self, queue: str) -> QueueState | None:
        """Returns the state of a queue; None when it does not exist. Raises BrokerUnavailable."""
        if self._connection is None:
            raise BrokerUnavailable("the broker cannot be reached")
        # A separate channel: the broker closes it when the queue does not exist.
        channel = self._connection.channel(publisher_confirms=False)
        with broker_calls():
            await channel.initialize(timeout=CONNECT_TIMEOUT)
            try:
                declared = await channel.declare_queue(
                    queue, durable=True, passive=True, timeout=CONNECT_TIMEOUT
                )
            except ChannelNotFoundEntity:
                return None
            finally:
                await channel.close()
        result = declared.declaration_result
        return QueueState(result.message_count or 0, result.consumer_count or 0)
