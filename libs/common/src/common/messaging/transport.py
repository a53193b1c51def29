"""Sockets of connections: each to another node of the broker, and the messages of RPC channels.

aio-pika and aiormq make two tasks, some queue entries and dozens of objects for each message, which
cost more than the rest of a lookup (ADR 0033). The frames of messages on such a channel are read
and written here with pamqp, and go from the socket to a callback and back; every other frame is
aiormq's.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from random import Random
from struct import Struct
from typing import Any, NamedTuple

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aiohappyeyeballs import AddrInfoType, start_connection
from aiormq.connection import TransportFactory
from pamqp import commands, frame
from pamqp.body import ContentBody
from pamqp.common import FieldTable
from pamqp.constants import FRAME_HEADER_SIZE, FRAME_METHOD
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat
from yarl import URL

#: Seconds without a frame for aiormq after which it gets a heartbeat for those that it missed.
_QUIET = 1.0
HEARTBEAT = frame.marshal(Heartbeat(), 0)
#: Type, channel and size of the payload, which one octet ends.
_HEAD = Struct(">BHI")
#: Class and method, the beginning of a payload.
_DELIVER, _RETURN = (
    method.index.to_bytes(4) for method in (commands.Basic.Deliver, commands.Basic.Return)
)
#: Octets of a frame around its payload.
_AROUND = FRAME_HEADER_SIZE + 1
_TRANSIENT = 1


class Content(NamedTuple):
    """A message of an RPC channel, without what only the broker reads."""

    #: Of a returned message or one to be published; "" of a delivered one.
    routing_key: str
    correlation_id: str
    reply_to: str | None
    body: bytes
    #: Texts only; those of other clients are left out.
    headers: Mapping[str, str] = {}


def encode_message(  # noqa: PLR0913 (the fields of the frames)
    channel: int,
    content: Content,
    *,
    exchange: str = "",
    expiration: int | None = None,
    mandatory: bool = False,
    frame_max: int,
) -> bytes:
    """Returns the frames that publish a transient message; `expiration` in milliseconds.

    The default exchange routes to the queue whose name is the routing key. Headers are left out if
    they would take more than half of a frame: they all go into one, and no message depends on them.
    """
    routing_key, correlation_id, reply_to, body, headers = content
    fits = sum(len(value.encode()) for value in headers.values()) <= frame_max // 2
    table: FieldTable | None = dict(headers) if headers and fits else None
    properties = commands.Basic.Properties(
        headers=table,
        delivery_mode=_TRANSIENT,
        correlation_id=correlation_id,
        reply_to=reply_to,
        expiration=None if expiration is None else str(expiration),
    )
    most = frame_max - _AROUND
    frames: tuple[frame.FrameTypes, ...] = (
        commands.Basic.Publish(exchange=exchange, routing_key=routing_key, mandatory=mandatory),
        ContentHeader(body_size=len(body), properties=properties),
        *(ContentBody(body[at : at + most]) for at in range(0, len(body), most)),
    )
    return b"".join(frame.marshal(each, channel) for each in frames)


#: Takes a message; called in the loop, must not raise.
Take = Callable[[Content], None]


class ContentChannel:
    """The messages of one channel; consuming and closing remain aio-pika's."""

    def __init__(
        self, number: int, transport: asyncio.WriteTransport, frame_max: int, readers: "Readers"
    ) -> None:
        self.number = number
        self._transport = transport
        self._frame_max = frame_max
        self._readers = readers

    def take(self, *, delivered: Take, returned: Take | None = None) -> None:
        """Gives each message that is delivered to, or returned on, the channel to a callback."""
        self._readers[self.number] = MessageReader(delivered, returned or _ignore)

    def publish(
        self,
        content: Content,
        *,
        exchange: str = "",
        expiration: int | None = None,
        mandatory: bool = False,
    ) -> None:
        """Publishes without a confirm, as `encode_message` describes.

        Raises ConnectionError when the connection is being closed.
        """
        frames = encode_message(
            self.number,
            content,
            exchange=exchange,
            expiration=expiration,
            mandatory=mandatory,
            frame_max=self._frame_max,
        )
        try:
            self._transport.write(frames)
        except RuntimeError as error:  # aiormq has written its last frame
            raise ConnectionError("the connection is being closed") from error


def _ignore(_content: Content) -> None:
    """A message without a waiting sender."""


async def never(_message: AbstractIncomingMessage) -> None:
    """The callback of a consumer whose messages `ContentChannel.take` takes."""


class MessageReader:
    """Assembles messages from the frames of a channel."""

    def __init__(self, delivered: Take, returned: Take) -> None:
        self._delivered = delivered
        self._returned = returned
        self._take = delivered
        self._routing_key = ""
        self._left = 0
        self._properties = commands.Basic.Properties()
        self._parts: list[bytes] = []

    def takes(self, data: bytes) -> bool:
        """Takes a frame; False for one that is not of a message."""
        if data[0] == FRAME_METHOD and not data.startswith((_DELIVER, _RETURN), FRAME_HEADER_SIZE):
            return False
        match frame.unmarshal(data)[2]:
            case commands.Basic.Deliver():
                self._take, self._routing_key = self._delivered, ""
                return True
            case commands.Basic.Return() as returned:
                self._take, self._routing_key = self._returned, returned.routing_key or ""
                return True
            case ContentHeader() as header:
                self._left, self._properties = header.body_size or 0, header.properties
            case ContentBody() as body:
                self._parts.append(body.value)
                self._left -= len(body.value)
            case _:
                return False
        if not self._left:
            self._end()
        return True

    def _end(self) -> None:
        body, self._parts = b"".join(self._parts), []
        given = self._properties
        headers = {
            name: value for name, value in (given.headers or {}).items() if isinstance(value, str)
        }
        self._take(
            Content(self._routing_key, given.correlation_id or "", given.reply_to, body, headers)
        )


Readers = dict[int, MessageReader]


class ContentProtocol(asyncio.StreamReaderProtocol):
    """Passes the frames of taken messages to their channels, and all others to aiormq's reader."""

    def __init__(self, reader: asyncio.StreamReader, clock: Callable[[], float]) -> None:
        super().__init__(reader)
        self.readers: Readers = {}
        self._rest = b""
        self._clock = clock
        self._passed_at = clock()

    def data_received(self, data: bytes) -> None:
        """Splits received bytes into frames and passes each to its reader."""
        data = self._rest + data
        others: list[bytes] = []
        at = 0
        while len(data) - at >= _HEAD.size:
            _, channel, size = _HEAD.unpack_from(data, at)
            end = at + size + _AROUND
            if len(data) < end:
                break
            reader = self.readers.get(channel)
            if reader is None or not reader.takes(data[at:end]):
                others.append(data[at:end])
            at = end
        self._rest = data[at:]
        self._pass_on(b"".join(others))

    def _pass_on(self, others: bytes) -> None:
        now = self._clock()
        if not others and now - self._passed_at > _QUIET:
            others = HEARTBEAT
        if others:
            self._passed_at = now
            super().data_received(others)


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
