"""Publisher with confirms: a message is in its queues, or the caller gets an exception."""

import asyncio
from datetime import timedelta
from itertools import takewhile
from uuid import uuid4

from aio_pika.abc import AbstractConnection
from prometheus_client import Counter

from common.messaging.connection import SupervisedConnection
from common.messaging.content import Confirm, Content, ContentChannel, encode_table
from common.messaging.errors import BrokerUnavailable, broker_calls
from common.messaging.topology import Topology, declare
from common.runtime import tracing

_PUBLISHED = Counter("broker_messages_published_total", "Messages by outcome", ["outcome"])
_OUTCOMES = ("confirmed", "unroutable", "broker_unavailable")


class Unroutable(Exception):
    """No queue took the message: none is bound, or the queue is full."""


class ConfirmedMessages:
    """Publishes on a channel, in the order of the calls, and gives each message its confirm."""

    def __init__(self, channel: ContentChannel) -> None:
        """Takes over the messages of a channel on which nothing was published."""
        self._channel = channel
        #: The messages without a confirm by their numbers on the channel, which rise from 1.
        self._in_flight: dict[int, asyncio.Future[None]] = {}
        self._number = 0
        self._unsent: list[bytes] = []
        self._closed = False
        channel.take(returned=self._take_returned, confirmed=self._take_confirm)

    def publish(
        self, body: bytes, *, exchange: str, routing_key: str, headers: bytes
    ) -> asyncio.Future[None]:
        """Returns the confirm of a message; its exceptions are BrokerUnavailable and Unroutable."""
        loop = asyncio.get_running_loop()
        confirm = loop.create_future()
        if self._closed:
            confirm.set_exception(BrokerUnavailable("the connection was lost"))
            return confirm
        number = self._number + 1
        # A returned message is known by it, as the broker does not number those.
        content = Content(routing_key, str(number), None, body, headers)
        frames = self._channel.stored(content, exchange=exchange, message_id=uuid4().hex)
        # Only now: a message that cannot be encoded must not take a number.
        self._number, self._in_flight[number] = number, confirm
        if not self._unsent:
            # Messages of one moment take one system call here, and fewer in the broker.
            loop.call_soon(self._send)
        self._unsent.append(frames)
        return confirm

    def close(self) -> None:
        """Ends the waits for confirms: the connection is lost."""
        self._closed = True
        self._unsent.clear()
        for number in tuple(self._in_flight):
            self._settle(number, BrokerUnavailable("the connection was lost"))

    def _send(self) -> None:
        frames, self._unsent = b"".join(self._unsent), []
        try:
            self._channel.write(frames)
        except ConnectionError:
            self.close()

    def _take_returned(self, message: Content) -> None:
        # Its confirm follows, and finds it settled.
        self._settle(int(message.correlation_id), Unroutable("no queue takes the message"))

    def _take_confirm(self, confirm: Confirm) -> None:
        error = None if confirm.taken else Unroutable("the broker refused the message")
        numbers = [confirm.number]
        if confirm.up_to:
            numbers = list(takewhile(lambda number: number <= confirm.number, self._in_flight))
        for number in numbers:
            self._settle(number, error)

    def _settle(self, number: int, error: Exception | None) -> None:
        confirm = self._in_flight.pop(number, None)
        if confirm is None or confirm.done():  # its caller waits no longer
            return
        if error is None:
            confirm.set_result(None)
        else:
            confirm.set_exception(error)


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
        self._messages: ConfirmedMessages | None = None
        for outcome in _OUTCOMES:  # Prometheus sees no increase in a counter's first sample
            _PUBLISHED.labels(outcome)

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens a channel with confirms and declares the topology."""
        channel = await self._supervised.open_channel(connection, confirms=True)
        await declare(channel, self._topology)
        self._messages = ConfirmedMessages(await self._supervised.content_of(channel))

    def detach(self) -> None:
        """Drops the channel and ends the waits for its confirms."""
        # A blocked connection never confirms messages sent over it, and takes seconds to close.
        messages, self._messages = self._messages, None
        if messages is not None:
            messages.close()

    async def publish(self, body: bytes, *, exchange: str = "", routing_key: str) -> None:
        """Publish with a confirm; raises BrokerUnavailable or Unroutable.

        Messages of concurrent calls reach the broker in the order of the calls. After
        BrokerUnavailable the broker may have the message; publishing it again is safe.
        """
        if self._messages is None:
            raise BrokerUnavailable("the broker cannot be reached")
        trace = tracing.CURRENT.get()
        headers = b"" if trace is None else encode_table(trace.fields())
        try:
            with broker_calls():
                async with asyncio.timeout(self._timeout):
                    await self._messages.publish(
                        body, exchange=exchange, routing_key=routing_key, headers=headers
                    )
        except Unroutable as error:
            _PUBLISHED.labels("unroutable").inc()
            raise Unroutable(f"no queue took a message for {routing_key!r}") from error
        except BrokerUnavailable:
            _PUBLISHED.labels("broker_unavailable").inc()
            raise
        _PUBLISHED.labels("confirmed").inc()
