"""Broadcasts: transient messages from one process to all current listeners."""

from collections.abc import Callable

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import DeliveryError

from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.errors import BrokerUnavailable, broker_calls
from common.messaging.topology import Topology, declare

#: Messages that wait for one receiver; beyond, the oldest is dropped.
MAX_WAITING = 100

log = structlog.get_logger()


class Broadcaster:
    """Sends broadcasts through a topic exchange; a failure loses the message."""

    def __init__(self, connection: SupervisedConnection, exchange: str) -> None:
        self._supervised = connection
        self._exchange = exchange
        self._channel: AbstractChannel | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens the channel and declares the exchange."""
        channel = await self._supervised.open_channel(connection, confirms=False)
        await declare(channel, Topology(topic_exchanges=(self._exchange,)))
        self._channel = channel

    def detach(self) -> None:
        """Drops the channel; broadcasts are lost until the next one."""
        self._channel = None

    async def send(self, body: bytes) -> None:
        """Sends a broadcast to all current listeners; a failure is only logged."""
        if self._channel is None:
            return
        message = Message(body, delivery_mode=DeliveryMode.NOT_PERSISTENT)
        try:
            with broker_calls():
                exchange = await self._channel.get_exchange(self._exchange, ensure=False)
                await exchange.publish(message, "", mandatory=False, timeout=CONNECT_TIMEOUT)
        except (BrokerUnavailable, DeliveryError) as error:
            log.debug("broadcast.failed", exchange=self._exchange, reason=str(error))


class BroadcastReceiver:
    """Receives the broadcasts of one exchange in an exclusive queue of this process."""

    def __init__(
        self,
        connection: SupervisedConnection,
        exchange: str,
        *,
        receive: Callable[[bytes], None],
        missed: Callable[[], None],
    ) -> None:
        """`missed` is called on each new connection: earlier broadcasts may be lost."""
        self._supervised = connection
        self._exchange = exchange
        self._receive = receive
        self._missed = missed

    async def attach(self, connection: AbstractConnection) -> None:
        """Consumes a new queue; then calls `missed`, as earlier broadcasts may be lost."""
        channel = await self._supervised.open_channel(connection, confirms=False)
        await declare(channel, Topology(topic_exchanges=(self._exchange,)))
        queue = await self._supervised.declare_own_queue(
            channel, {"x-max-length": MAX_WAITING, "x-overflow": "drop-head"}
        )
        await queue.bind(self._exchange, "#", timeout=CONNECT_TIMEOUT)

        async def take(message: AbstractIncomingMessage) -> None:
            self._receive(message.body)

        await queue.consume(take, no_ack=True, timeout=CONNECT_TIMEOUT)
        self._missed()

    def detach(self) -> None:
        """The queue is deleted with its connection."""
