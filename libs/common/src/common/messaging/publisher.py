"""Publisher with confirms: a message is in its queues, or the caller gets an exception."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import DeliveryError
from prometheus_client import Counter

from common.messaging.connection import SupervisedConnection
from common.messaging.errors import BrokerUnavailable, broker_calls
from common.messaging.topology import Topology, declare
from common.runtime import tracing

_PUBLISHED = Counter("broker_messages_published_total", "Messages by outcome", ["outcome"])
_OUTCOMES = ("confirmed", "unroutable", "broker_unavailable")


class Unroutable(Exception):
    """No queue took the message: none is bound, or the queue is full."""


class Publisher:
    """Publishes persistent messages with confirms and `mandatory`, each within `timeout`."""

    def __init__(
        self,
        link: SupervisedConnection,
        *,
        topology: Topology,
        new_id: Callable[[], str],
        timeout: timedelta,
    ) -> None:
        self._link = link
        self._topology = topology
        self._new_id = new_id
        self._timeout = timeout.total_seconds()
        self._channel: AbstractChannel | None = None
        self._publishing = _Publishing()
        for outcome in _OUTCOMES:  # Prometheus sees no increase in a counter's first sample
            _PUBLISHED.labels(outcome)

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self._link.open_channel(connection, confirms=True)
        await declare(channel, self._topology)
        self._channel = channel

    def detach(self) -> None:
        self._channel = None
        self._publishing.give_up()

    async def publish(self, body: bytes, *, exchange: str = "", routing_key: str) -> None:
        """Publish with a confirm; raises BrokerUnavailable or Unroutable.

        After BrokerUnavailable the broker may have the message; publishing it again is safe.
        """
        if self._channel is None:
            raise BrokerUnavailable("the broker cannot be reached")
        trace = tracing.CURRENT.get()
        # aiormq matches a returned message to its publish by this id, so it is new for each.
        message = Message(
            body,
            message_id=self._new_id(),
            delivery_mode=DeliveryMode.PERSISTENT,
            content_type="application/json",
            headers=None if trace is None else dict(trace.fields()),
        )
        try:
            with broker_calls():
                async with self._publishing.within(self._timeout):
                    target = (
                        await self._channel.get_exchange(exchange, ensure=False)
                        if exchange
                        else self._channel.default_exchange
                    )
                    await target.publish(message, routing_key, mandatory=True)
        except DeliveryError as error:
            _PUBLISHED.labels("unroutable").inc()
            raise Unroutable(f"no queue took a message for {routing_key!r}") from error
        except BrokerUnavailable:
            _PUBLISHED.labels("broker_unavailable").inc()
            raise
        _PUBLISHED.labels("confirmed").inc()


class _Publishing:
    """Publishes in flight on a channel; all fail when its connection is abandoned.

    A blocked connection never confirms messages sent over it, and takes seconds to close.
    """

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def within(self, timeout: float | None) -> AsyncIterator[None]:
        """Runs the body for at most `timeout` seconds; raises TimeoutError after `give_up`, too."""
        async with asyncio.timeout(timeout) as running:
            self._timeouts.add(running)
            try:
                yield
            finally:
                self._timeouts.discard(running)

    def give_up(self) -> None:
        now = asyncio.get_running_loop().time()
        for timeout in self._timeouts:
            if not timeout.expired():
                timeout.reschedule(now)
