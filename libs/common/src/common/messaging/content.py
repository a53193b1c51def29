"""Messages of RPC channels, read and written on aio-pika's connection without aio-pika.

aio-pika and aiormq make two tasks, some queue entries and dozens of objects for each message, which
cost more than the rest of a lookup (ADR 0033), or of the publication of an event (ADR 0062). The
frames of messages on such a channel go from the socket to a callback and back; every other frame is
aiormq's.
"""

import asyncio
from collections.abc import Callable, Mapping
from struct import Struct
from typing import NamedTuple

from aio_pika.abc import AbstractIncomingMessage

#: Seconds without a frame for aiormq after which it gets a heartbeat for those that it missed.
_QUIET = 1.0
#: Type, channel and size of the payload, which one octet ends.
HEAD = Struct(">BHI")
METHOD, HEADER, BODY = 1, 2, 3
END = b"\xce"
HEARTBEAT = HEAD.pack(8, 0, 0) + END

#: Class and method.
PUBLISH, RETURN, DELIVER = b"\0\x3c\0\x28", b"\0\x3c\0\x32", b"\0\x3c\0\x3c"
ACK, NACK = b"\0\x3c\0\x50", b"\0\x3c\0\x78"

#: Class, weight, size of the body, and which properties follow, the highest bit first.
_CONTENT = Struct(">HHQH")
_HEADERS, _DELIVERY_MODE = 1 << 13, 1 << 12
_CORRELATION_ID, _REPLY_TO, _EXPIRATION = 1 << 10, 1 << 9, 1 << 8
_CONTENT_TYPE, _MESSAGE_ID = 1 << 15, 1 << 7
_NOT_PERSISTENT, _PERSISTENT = b"\1", b"\2"
_MANDATORY = b"\1"


class Content(NamedTuple):
    """A message of an RPC channel, without what only the broker reads."""

    #: Of a returned message or one to be published; "" of a delivered one.
    routing_key: str
    correlation_id: str
    reply_to: str | None
    body: bytes
    #: An encoded table, empty without headers.
    headers: bytes = b""


def encode_message(  # noqa: PLR0913 (the fields of the frames)
    channel: int,
    content: Content,
    *,
    exchange: str = "",
    expiration: int | None = None,
    mandatory: bool = False,
    message_id: str | None = None,
    frame_max: int,
) -> bytes:
    """Returns the frames that publish a message; `expiration` in milliseconds.

    With an id the message is persistent and its body JSON; otherwise it is transient. The default
    exchange routes to the queue whose name is the routing key. Headers are left out if they would
    take more than half of a frame: they all go into one, and no message depends on them.
    """
    routing_key, correlation_id, reply_to, body, headers = content
    flags = _DELIVERY_MODE | _CORRELATION_ID
    properties = (_PERSISTENT if message_id else _NOT_PERSISTENT) + _short(correlation_id)
    if headers and len(headers) <= frame_max // 2:
        flags, properties = flags | _HEADERS, headers + properties
    if reply_to is not None:
        flags, properties = flags | _REPLY_TO, properties + _short(reply_to)
    if expiration is not None:
        flags, properties = flags | _EXPIRATION, properties + _short(str(expiration))
    if message_id is not None:
        flags |= _CONTENT_TYPE | _MESSAGE_ID
        properties = _JSON + properties + _short(message_id)
    options = _MANDATORY if mandatory else b"\0"
    method = PUBLISH + b"\0\0" + _short(exchange) + _short(routing_key) + options
    header = _CONTENT.pack(60, 0, len(body), flags) + properties
    most = frame_max - HEAD.size - len(END)
    parts = [_frame(METHOD, channel, method), _frame(HEADER, channel, header)]
    parts += [_frame(BODY, channel, body[at : at + most]) for at in range(0, len(body), most)]
    return b"".join(parts)


def returned_key(method: bytes) -> str:
    """Returns the routing key in a Basic.Return, after its code, text and exchange."""
    at = 6
    for _ in range(2):
        at += 1 + method[at]
    return _text(method, at)[0]


def encode_table(fields: Mapping[str, str]) -> bytes:
    """Returns a table of headers."""
    parts = [_short(name) + b"S" + _sized(value.encode()) for name, value in fields.items()]
    return _sized(b"".join(parts))


def decode_table(headers: bytes) -> dict[str, str]:
    """Returns the headers of an encoded table, up to the first that is not a text."""
    fields: dict[str, str] = {}
    at = 4
    while at < len(headers):
        name, at = _text(headers, at)
        if headers[at : at + 1] != b"S":
            break
        end = at + 5 + int.from_bytes(headers[at + 1 : at + 5])
        fields[name] = headers[at + 5 : end].decode("utf-8", "replace")
        at = end
    return fields


def decode_header(header: bytes) -> tuple[int, str | None, str | None, bytes]:
    """Returns the size of the body, correlation id, reply queue and table of headers."""
    _, _, size, flags = _CONTENT.unpack_from(header)
    at = _CONTENT.size
    for flag in (1 << 15, 1 << 14):  # content type and encoding
        if flags & flag:
            at += 1 + header[at]
    headers = b""
    if flags & _HEADERS:
        start, at = at, at + 4 + int.from_bytes(header[at : at + 4])
        headers = header[start:at]
    at += bool(flags & _DELIVERY_MODE) + bool(flags & 1 << 11)  # and priority
    correlation_id = reply_to = None
    if flags & _CORRELATION_ID:
        correlation_id, at = _text(header, at)
    if flags & _REPLY_TO:
        reply_to, at = _text(header, at)
    return size, correlation_id, reply_to, headers


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return HEAD.pack(kind, channel, len(payload)) + payload + END


def _sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


def _short(text: str) -> bytes:
    encoded = text.encode()
    return bytes((len(encoded),)) + encoded


def _text(payload: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + payload[at]
    return payload[at + 1 : end].decode("utf-8", "replace"), end


_JSON = _short("application/json")

#: Takes a message; called in the loop, must not raise.
Take = Callable[[Content], None]


class Confirm(NamedTuple):
    """The broker's confirm of a message, or of all up to it."""

    #: The number of the message on its channel, from 1.
    number: int
    up_to: bool
    #: False if the broker refuses it.
    taken: bool


TakeConfirm = Callable[[Confirm], None]


class ContentChannel:
    """The messages of one channel; consuming and closing remain aio-pika's."""

    def __init__(
        self, number: int, transport: asyncio.WriteTransport, frame_max: int, readers: "Readers"
    ) -> None:
        self.number = number
        self._transport = transport
        self._frame_max = frame_max
        self._readers = readers

    def take(
        self,
        *,
        delivered: Take | None = None,
        returned: Take | None = None,
        confirmed: TakeConfirm | None = None,
    ) -> None:
        """Gives each message that is delivered to, or returned on, the channel to a callback.

        With `confirmed`, which gets the confirms, the channel is one that confirms.
        """
        self._readers[self.number] = MessageReader(
            delivered or _ignore, returned or _ignore, confirmed
        )

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
        self.write(
            encode_message(
                self.number,
                content,
                exchange=exchange,
                expiration=expiration,
                mandatory=mandatory,
                frame_max=self._frame_max,
            )
        )

    def stored(self, content: Content, *, exchange: str, message_id: str) -> bytes:
        """Returns the frames of a persistent message, to be written; it returns if unroutable."""
        return encode_message(
            self.number,
            content,
            exchange=exchange,
            mandatory=True,
            message_id=message_id,
            frame_max=self._frame_max,
        )

    def write(self, frames: bytes) -> None:
        """Sends frames of messages; raises ConnectionError when the connection is being closed."""
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

    def __init__(
        self, delivered: Take, returned: Take, confirmed: TakeConfirm | None = None
    ) -> None:
        self._delivered = delivered
        self._returned = returned
        self._confirmed = confirmed
        self._take = delivered
        self._size = 0
        self._routing_key = ""
        self._correlation_id: str | None = None
        self._reply_to: str | None = None
        self._headers = b""
        self._parts: list[bytes] = []

    def takes(self, kind: int, payload: bytes) -> bool:
        """Takes a frame; False for one that is not of a message."""
        if kind == METHOD:
            return self._begins(payload)
        if kind == HEADER:
            self._size, self._correlation_id, self._reply_to, self._headers = decode_header(payload)
        else:
            self._parts.append(payload)
            self._size -= len(payload)
        if not self._size:
            body, self._parts = b"".join(self._parts), []
            self._take(
                Content(
                    self._routing_key,
                    self._correlation_id or "",
                    self._reply_to,
                    body,
                    self._headers,
                )
            )
        return True

    def _begins(self, method: bytes) -> bool:
        if method.startswith(DELIVER):
            self._take, self._routing_key = self._delivered, ""
            return True
        if method.startswith(RETURN):
            self._take, self._routing_key = self._returned, returned_key(method)
            return True
        if self._confirmed is not None and method.startswith((ACK, NACK)):
            taken, number = method.startswith(ACK), int.from_bytes(method[4:12])
            self._confirmed(Confirm(number, bool(method[12] & 1), taken))
            return True
        return False


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
        while len(data) - at > HEAD.size:
            kind, channel, size = HEAD.unpack_from(data, at)
            start = at + HEAD.size
            end = start + size + 1
            if len(data) < end:
                break
            reader = self.readers.get(channel)
            if reader is None or not reader.takes(kind, data[start : end - 1]):
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
