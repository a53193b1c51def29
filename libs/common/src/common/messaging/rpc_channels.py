"""Channels of an RPC client: one for requests, one for replies."""

from collections.abc import Callable, Sequence

from aio_pika import ExchangeType
from aio_pika.abc import AbstractConnection

from common.messaging.connection import CONNECT_TIMEOUT, SupervisedConnection
from common.messaging.content import Content, ContentChannel, never


class Requests:
    """The channel for requests."""

    def __init__(
        self,
        link: SupervisedConnection,
        queues: Sequence[str],
        returned: Callable[[Content], None],
        lost: Callable[[], None],
    ) -> None:
        self.link = link
        self.content: ContentChannel | None = None
        self._queues = queues
        self._returned = returned
        self._lost = lost

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self.link.open_channel(connection, confirms=False)
        # A message to an exchange that does not exist would close the channel.
        for queue in self._queues:
            await channel.declare_exchange(
                queue, ExchangeType.FANOUT, durable=True, timeout=CONNECT_TIMEOUT
            )
        content = await self.link.content_of(channel)
        content.take(returned=self._returned)
        self.content = content

    def detach(self) -> None:
        self.content = None
        self._lost()


class Replies:
    """The exclusive reply queue."""

    def __init__(
        self,
        link: SupervisedConnection,
        replied: Callable[[Content], None],
        lost: Callable[[], None],
    ) -> None:
        self.link = link
        self.queue: str | None = None
        self._replied = replied
        self._lost = lost

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self.link.open_channel(connection, confirms=False)
        queue = await self.link.declare_own_queue(channel)
        (await self.link.content_of(channel)).take(delivered=self._replied)
        await queue.consume(never, no_ack=True, timeout=CONNECT_TIMEOUT)
        self.queue = queue.name

    def detach(self) -> None:
        self.queue = None
        self._lost()
