"""AMQP frames of a message: encoded to one buffer, decoded without an object for each frame.

Only what RPC messages need; connections, channels, queues and consumers are aio-pika's.
"""

from collections.abc import Mapping
from struct import Struct
from typing import NamedTuple

#: Type, channel and size of the payload, which one octet ends.
HEAD = Struct(">BHI")
METHOD, HEADER, BODY = 1, 2, 3
END = b"\xce"
HEARTBEAT = HEAD.pack(8, 0, 0) + END

#: Class and method.
PUBLISH, RETURN, DELIVER = b"\0\x3c\0\x28", b"\0\x3c\0\x32", b"\0\x3c\0\x3c"

#: Class, weight, size of the body, and which properties follow, the highest bit first.
_CONTENT = Struct(">HHQH")
_HEADERS, _DELIVERY_MODE = 1 << 13, 1 << 12
_CORRELATION_ID, _REPLY_TO, _EXPIRATION = 1 << 10, 1 << 9, 1 << 8
_NOT_PERSISTENT = b"\1"
_MANDATORY = b"\1"


class Content(NamedTuple):
    """A message of an RPC channel, without what only the broker reads."""

    #: Of a returned message or one to be published; "" of a delivered one.
    routing_key: str
    correlation_id: str
    reply_to: str | None
    body: bytes
    #: A `table`, empty without headers.
    headers: bytes = b""


def publish(  # noqa: PLR0913 (the fields of the frames)
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
    flags, properties = _DELIVERY_MODE | _CORRELATION_ID, _NOT_PERSISTENT + _short(correlation_id)
    if headers and len(headers) <= frame_max // 2:
        flags, properties = flags | _HEADERS, headers + properties
    if reply_to is not None:
        flags, properties = flags | _REPLY_TO, properties + _short(reply_to)
    if expiration is not None:
        flags, properties = flags | _EXPIRATION, properties + _short(str(expiration))
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


def table(fields: Mapping[str, str]) -> bytes:
    """Returns a table of headers."""
    parts = [_short(name) + b"S" + _sized(value.encode()) for name, value in fields.items()]
    return _sized(b"".join(parts))


def texts(headers: bytes) -> dict[str, str]:
    """Returns the headers of a `table`, up to the first that is not a text."""
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


def content(header: bytes) -> tuple[int, str | None, str | None, bytes]:
    """Size of the body, correlation id, reply queue and `table` of headers."""
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
