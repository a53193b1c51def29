"""Publishers: messages with confirms, and broadcasts to all current listeners."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import DeliveryError
from prometheus_client import Counter

from common.messaging.connection import (
    CONNECT_TIMEOUT,
    BrokerUnavailable,
    SupervisedConnection,
    broker_calls,
)
from common.messaging.queues import Topology, declare
from common.runtime import tracing

_PUBLISHED = Counter("broker_messages_published_total", "Messages by outcome", ["outcome"])
_OUTCOMES = ("confirmed", "unroutable", "broker_unavailable")


class Unroutable(Exception):
    """No queue took the message: none is bound, or the queue is full."""


class Publisher:
    """Publishes persistent messages with confirms and `mandatory`, each within `timeout`."""

    def __init__(
        self,
        connection: SupervisedConnection,
        *,
        topology: Topology,
        timeout: timedelta,
    ) -> None:
        self._supervised = connection
        self._topology = topology
        self._timeout = timeout.total_seconds()
        self._channel: AbstractChannel | None = None
        #: The timeouts of the publishes in flight.
        self._timeouts: set[asyncio.Timeout] = set()
        for outcome in _OUTCOMES:  # Prometheus sees no increase in a counter's first sample
            _PUBLISHED.labels(outcome)

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens a channel with confirms and declares the topology."""
        channel = await self._supervised.open_channel(connection, confirms=True)
        await declare(channel, CONNECT_TIMEOUT, self._topology)
        self._channel = channel

    def detach(self) -> None:
        """Drops the channel and ends the waits for its confirms."""
        self._channel = None
        # A blocked connection never confirms messages sent over it, and takes seconds to close.
        now = asyncio.get_running_loop().time()
        for timeout in self._timeouts:
            if not timeout.expired():
                timeout.reschedule(now)

    async def publish(self, body: bytes, *, exchange: str = "", routing_key: str) -> None:
        """Publish with a confirm; raises BrokerUnavailable or Unroutable.

        After BrokerUnavailable the broker may have the message; publishing it again is safe.
        """
        if self._channel is None:
            raise BrokerUnavailable("the broker cannot be reached")
        trace = tracing.CURRENT.get()
        message = Message(
            body,
            delivery_mode=DeliveryMode.PERSISTENT,
            content_type="application/json",
            headers=None if trace is None else dict(trace.fields()),
        )
        try:
            with broker_calls():
                await self._confirmed(self._channel, message, exchange, routing_key)
        except DeliveryError as error:
            _PUBLISHED.labels("unroutable").inc()
            raise Unroutable(f"no queue took a message for {routing_key!r}") from error
        except BrokerUnavailable:
            _PUBLISHED.labels("broker_unavailable").inc()
            raise
        _PUBLISHED.labels("confirmed").inc()

    async def _confirmed(
        self, channel: AbstractChannel, message: Message, exchange: str, routing_key: str
    ) -> None:
        async with asyncio.timeout(self._timeout) as timeout:
            self._timeouts.add(timeout)
            try:
                target = (
                    await channel.get_exchange(exchange, ensure=False)
                    if exchange
                    else channel.default_exchange
                )
                await target.publish(message, routing_key, mandatory=True)
            finally:
                self._timeouts.discard(timeout)


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
        await declare(channel, CONNECT_TIMEOUT, Topology(topic_exchanges=(self._exchange,)))
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
        queue = await self._supervised.declare_own_queue(
            channel, {"x-max-length": MAX_WAITING, "x-overflow": "drop-head"}
        )

        async def bind(channel: AbstractChannel, timeout: float | None) -> None:
            await declare(channel, timeout, Topology(topic_exchanges=(self._exchange,)))
            own = await channel.get_queue(queue.name, ensure=False)
            await own.bind(self._exchange, "#", timeout=timeout)

        await self._supervised.declare(queue.name, channel, bind, exchange=self._exchange)

        async def take(message: AbstractIncomingMessage) -> None:
            self._receive(message.body)

        await queue.consume(take, no_ack=True, timeout=CONNECT_TIMEOUT)
        self._missed()

    def detach(self) -> None:
        """The queue is deleted with its connection."""
