"""How many messages wait in a queue."""

from aio_pika.abc import AbstractChannel, AbstractConnection

from common.messaging.connection import CONNECT_LIMIT, BrokerAway, Link, broker_calls
from common.messaging.topology import Topology, declare


class QueueDepths:
    """Asks the broker over a channel of its own."""

    def __init__(self, link: Link, *, topology: Topology) -> None:
        self._link = link
        self._topology = topology
        self._channel: AbstractChannel | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self._link.open_channel(connection, confirms=False)
        # Asking for a queue that is not there would close the channel.
        await declare(channel, self._topology)
        self._channel = channel

    def detach(self) -> None:
        self._channel = None

    async def ready(self, queue: str) -> int:
        """Messages that nobody has taken yet; raises BrokerAway."""
        if self._channel is None:
            raise BrokerAway("the broker cannot be reached")
        with broker_calls():
            declared = await self._channel.declare_queue(
                queue, durable=True, passive=True, timeout=CONNECT_LIMIT
            )
        return declared.declaration_result.message_count or 0
