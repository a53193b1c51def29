"""Sockets of connections: each to another node of the broker."""

import asyncio
import socket
from collections.abc import Sequence
from random import Random
from typing import Any

from aio_pika.abc import AbstractChannel
from aiohappyeyeballs import AddrInfoType, start_connection
from aiormq.connection import TransportFactory
from yarl import URL

from common.messaging.rpc import ContentChannel, ContentProtocol, Readers

#: Seconds until the next address of a host is tried as well, if none has answered: one of a
#: cluster's nodes may be dead and still be named.
_NEXT_ADDRESS = 0.25
#: A host that neither acknowledges what was sent nor a probe within 3 s is gone. AMQP's heartbeats
#: would notice it after up to 30 s, and requests would wait for it until then.
_NOTICE_SILENCE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3_000),
)


class Nodes:
    """The addresses of nodes that connections use, so that each takes another one."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._used: list[str] = []
        self._left = ""
        #: Held by the connection that chooses: two at once could choose the same node.
        self.choosing = asyncio.Lock()

    def in_order(self, addresses: Sequence[AddrInfoType]) -> list[AddrInfoType]:
        """Returns unused addresses first, and one whose connection ended after the others.

        Otherwise in any order: the resolver sorts them, by which all processes would choose the
        same node.
        """
        shuffled = self._random.sample(addresses, len(addresses))
        return sorted(
            shuffled, key=lambda each: (each[4][0] in self._used, each[4][0] == self._left)
        )

    def use(self, address: str) -> str:
        """Notes that a connection to the address begins, and returns it."""
        self._used.append(address)
        return address

    def leave(self, address: str) -> None:
        """Notes that it has ended."""
        self._used.remove(address)
        self._left = address


class ContentTransport(TransportFactory):
    """Opens the socket of one connection, for aiormq."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._address: str | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._readers: Readers = {}

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the broker and returns the streams that aiormq reads and writes."""
        context = kwargs.pop("ssl_context_provider")
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        ssl = await context.get_context() if url.scheme == "amqps" else None
        addresses = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
        async with self._nodes.choosing:
            connected = await start_connection(
                self._nodes.in_order(addresses), happy_eyeballs_delay=_NEXT_ADDRESS
            )
            self._address = self._nodes.use(connected.getpeername()[0])
        for level, option, value in _NOTICE_SILENCE:
            connected.setsockopt(level, option, value)
        transport, protocol = await loop.create_connection(
            lambda: ContentProtocol(reader, loop.time),
            sock=connected,
            ssl=ssl,
            server_hostname=None if ssl is None else url.host,
            **kwargs,
        )
        self._transport, self._readers = transport, protocol.readers
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def leave(self) -> None:
        """Notes that the connection has ended."""
        if self._address is not None:
            self._nodes.leave(self._address)
            self._address = None

    async def content_of(self, channel: AbstractChannel) -> ContentChannel:
        """Returns the messages of an open channel of this connection."""
        underlay = await channel.get_underlay_channel()
        if self._transport is None or underlay.number is None:
            raise ConnectionError("the connection was lost")
        frame_max = underlay.connection.connection_tune.frame_max
        return ContentChannel(underlay.number, self._transport, frame_max, self._readers)
