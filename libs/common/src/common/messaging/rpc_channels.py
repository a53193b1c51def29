"""Channels of an RPC client: one for requests, one for replies."""

from collections.abc import Callable, Sequence

from aio_pika import ExchangeType
from aio_pika.abc import AbstractConnection

from common.contracts.contract import Contract
from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.content import ContentChannel, never
from common.messaging.frames import Content
from common.messaging.rpc import encode_requests


class Replies:
    """The exclusive reply queue."""

    def __init__(
        self,
        connection: SupervisedConnection,
        replied: Callable[[Content], None],
        lost: Callable[[], None],
    ) -> None:
        self.supervised = connection
        self.queue: str | None = None
        self._replied = replied
        self._lost = lost

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares the reply queue and consumes it."""
        channel = await self.supervised.open_channel(connection, confirms=False)
        queue = await self.supervised.declare_own_queue(channel)
        (await self.supervised.content_of(channel)).take(delivered=self._replied)
        await queue.consume(never, no_ack=True, timeout=CONNECT_TIMEOUT)
        self.queue = queue.name

    def detach(self) -> None:
        """Drops the queue; its unanswered calls fail."""
        self.queue = None
        self._lost()


class Requests:
    """The channel for requests, whose replies arrive in the queue of `replies`."""

    def __init__(
        self,
        connection: SupervisedConnection,
        queues: Sequence[str],
        replies: Replies,
        returned: Callable[[Content], None],
        lost: Callable[[], None],
    ) -> None:
        self.supervised = connection
        self.content: ContentChannel | None = None
        self._queues = queues
        self._replies = replies
        self._returned = returned
        self._lost = lost

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares the exchanges of the request queues and takes returned messages."""
        channel = await self.supervised.open_channel(connection, confirms=False)
        # A message to an exchange that does not exist would close the channel.
        for queue in self._queues:
            await channel.declare_exchange(
                queue, ExchangeType.FANOUT, durable=True, timeout=CONNECT_TIMEOUT
            )
        content = await self.supervised.content_of(channel)
        content.take(returned=self._returned)
        self.content = content

    def detach(self) -> None:
        """Drops the channel; unconfirmed calls fail."""
        self.content = None
        self._lost()

    def publish(  # noqa: PLR0913 (the properties of a message)
        self,
        routing_key: str,
        items: Sequence[tuple[str, int, Contract]],
        correlation_id: str,
        *,
        exchange: str = "",
        headers: bytes = b"",
        seconds: float,
    ) -> None:
        """Publishes a message that the broker drops after `seconds`; raises ConnectionError."""
        if self.content is None or self._replies.queue is None:
            raise ConnectionError("no connection")
        replies = self._replies.queue
        self.content.publish(
            Content(routing_key, correlation_id, replies, encode_requests(items), headers),
            exchange=exchange,
            expiration=max(int(seconds * 1000), 1),
            mandatory=True,
        )
