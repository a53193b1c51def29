"""Messages of RPC: their wire format, their frames, and the calls that wait for replies.

A message carries a batch: requests pending at the same time share it. Both sides use msgpack, so
that a reply's ready JSON travels as bytes and is copied, never parsed.

Request: `[[request_id, milliseconds_left, contract], …]`. Reply, in the same order:
`[[failure | nil, contract | nil], …]`. The time left is relative, since the clocks of two
hosts differ. A message without requests asks for the server's queue, which is the reply-to of the
reply. The header `server` of that reply is the same for all queues of a server; without it the
queue is its only one. A server that would refuse requests now does not reply to it.

The headers `traceparent` and `tracestate` have one line for each request of the batch, empty for a
request without a trace. A message has neither if none has one.

aio-pika and aiormq make two tasks, some queue entries and dozens of objects for each message, which
cost more than the rest of a lookup (ADR 0033). The frames of messages on a channel of RPC are read
and written here with pamqp, and go from the socket to a callback and back; every other frame is
aiormq's.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import Any, Generic, NamedTuple, TypeVar

import ormsgpack
from aio_pika.abc import AbstractIncomingMessage
from pamqp import commands, frame
from pamqp.common import FieldTable
from pamqp.constants import FRAME_BODY, FRAME_END_CHAR, FRAME_HEADER_SIZE, FRAME_METHOD
from pamqp.header import ContentHeader
from pamqp.heartbeat import Heartbeat
from pydantic import ValidationError

from common.contracts.contract import TRACEPARENT, TRACESTATE, Contract, TraceContext, parse
from common.contracts.failures import Failure, FailureCode

C = TypeVar("C", bound=Contract)

Result = Contract | Failure

#: The header of a reply that introduces a server.
SERVER = "server"
NO_HEADERS: Mapping[str, str] = {}


class Undecodable(Exception):
    """A message that does not have the wire format."""


class RpcFailed(Exception):
    """A call without a reply: the service reported a failure, or the client could not reach it."""

    def __init__(self, failure: Failure, *, cause: str | None = None) -> None:
        """`cause` distinguishes failures of one code in the metrics; by default it is the code."""
        self.failure = failure
        self.cause = cause or failure.code.value
        super().__init__(self.cause, failure.detail)


def deadline_exceeded() -> RpcFailed:
    """Returns the error of a call without a reply before its deadline."""
    return RpcFailed(Failure(code=FailureCode.DEADLINE_EXCEEDED))


def unavailable(cause: str) -> RpcFailed:
    """Returns the error of a call that no server could take; `cause` is for the metrics."""
    return RpcFailed(Failure(code=FailureCode.UNAVAILABLE), cause=cause)


class RpcRequest(NamedTuple, Generic[C]):
    """One request of a batch."""

    request_id: str
    request: C
    #: The caller's deadline on this process' monotonic clock, in seconds.
    deadline: float
    trace: TraceContext | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The fields by which a log line is found."""
        if self.trace is None:
            return {"request_id": self.request_id}
        return {"request_id": self.request_id, "trace_id": self.trace.trace_id}


def encode_traces(traces: Sequence[TraceContext | None]) -> dict[str, str]:
    """Returns the headers of a message, empty if no request has a trace."""
    if not any(traces):
        return {}
    fields = {TRACEPARENT: "\n".join(trace.parent if trace else "" for trace in traces)}
    if any(trace is not None and trace.state for trace in traces):
        fields[TRACESTATE] = "\n".join(trace.state if trace else "" for trace in traces)
    return fields


def _decode_traces(headers: Mapping[str, str], count: int) -> Sequence[TraceContext | None]:
    if headers:
        parents = headers.get(TRACEPARENT, "").split("\n")
        states = headers.get(TRACESTATE, "").split("\n")
        if len(parents) == count:
            if len(states) != count:
                states = [""] * count
            return [parse(*pair) for pair in zip(parents, states, strict=True)]
    return [None] * count


def encode_requests(items: Sequence[tuple[str, int, Contract]]) -> bytes:
    """Returns the body of a message of (request id, milliseconds left, request)."""
    return ormsgpack.packb(items, option=ormsgpack.OPT_SERIALIZE_PYDANTIC)


def decode_requests(
    body: bytes, kind: type[C], *, now: float, headers: Mapping[str, str] = NO_HEADERS
) -> list[RpcRequest[C]]:
    """Returns the requests of a message; raises Undecodable when any is invalid."""
    try:
        items = ormsgpack.unpackb(body)
        return [
            RpcRequest(request_id, kind.model_validate(request), now + milliseconds / 1000, trace)
            for (request_id, milliseconds, request), trace in zip(
                items, _decode_traces(headers, len(items)), strict=True
            )
        ]
    except (ValidationError, ValueError, TypeError) as error:
        raise Undecodable(str(error)) from error


def encode_results(results: Sequence[Result]) -> bytes:
    """Returns the body of a reply: a failure or a contract for each request, in order."""
    return ormsgpack.packb(
        [(result, None) if isinstance(result, Failure) else (None, result) for result in results],
        option=ormsgpack.OPT_SERIALIZE_PYDANTIC,
    )


def decode_results(body: bytes) -> list[tuple[Failure | None, dict[str, Any] | None]]:
    """Returns the failure or the unvalidated contract of each request.

    Raises Undecodable if the body does not have the wire format.
    """
    try:
        return [
            (None if failure is None else Failure.model_validate(failure), reply)
            for failure, reply in ormsgpack.unpackb(body)
        ]
    except (ValidationError, ValueError, TypeError) as error:
        raise Undecodable(str(error)) from error


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
    headers: Mapping[str, str] = NO_HEADERS


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
    return b"".join(
        (
            _publish_frame(channel, exchange, routing_key, mandatory),
            frame.marshal(ContentHeader(body_size=len(body), properties=properties), channel),
            *(_body_frame(channel, body[at : at + most]) for at in range(0, len(body), most)),
        )
    )


@lru_cache(1024)  # of one queue for thousands of messages
def _publish_frame(channel: int, exchange: str, routing_key: str, mandatory: bool) -> bytes:  # noqa: FBT001 (a key of the cache)
    publish = commands.Basic.Publish(
        exchange=exchange, routing_key=routing_key, mandatory=mandatory
    )
    return frame.marshal(publish, channel)


def _body_frame(channel: int, part: bytes) -> bytes:
    return b"%b%b%b" % (_HEAD.pack(FRAME_BODY, channel, len(part)), part, FRAME_END_CHAR)


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
        if data[0] == FRAME_METHOD:
            return self._begins(data)
        if data[0] == FRAME_BODY:
            self._parts.append(data[FRAME_HEADER_SIZE:-1])
            self._left -= len(data) - _AROUND
        elif isinstance(header := frame.unmarshal(data)[2], ContentHeader):
            self._left, self._properties = header.body_size or 0, header.properties
        else:
            return False
        if not self._left:
            self._end()
        return True

    def _begins(self, data: bytes) -> bool:
        # Of a delivery nothing but that it is one is needed, of a return also its queue.
        if data.startswith(_DELIVER, FRAME_HEADER_SIZE):
            self._take, self._routing_key = self._delivered, ""
        elif data.startswith(_RETURN, FRAME_HEADER_SIZE) and isinstance(
            returned := frame.unmarshal(data)[2], commands.Basic.Return
        ):
            self._take, self._routing_key = self._returned, returned.routing_key or ""
        else:
            return False
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


@dataclass(slots=True, eq=False)
class Call:
    """A call that waits for its reply; `deadline` is in seconds of the event loop's clock."""

    request_id: str
    request: Contract
    deadline: float
    answer: asyncio.Future[dict[str, object]]
    trace: TraceContext | None
    #: Whose call it is, where calls are sent in turns by client.
    client: str = ""
    #: True if it may be carried out twice.
    is_repeatable: bool = True
    #: True once a server has refused it, and it was sent to another.
    was_refused: bool = False
    #: True once it was sent again for want of a reply.
    is_repeated: bool = False


class PendingCalls:
    """The calls of each client in their order, and a message of each client in turn.

    Without a limit all calls are of one client, "".
    """

    def __init__(self, in_flight: int | None = None) -> None:
        """`in_flight` limits the messages of one client that are not answered yet."""
        self._limit = in_flight
        #: By client, the next in turn first; none is empty.
        self._waiting: dict[str, deque[Call]] = {}
        self._in_flight: Counter[str] = Counter()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Call]:
        return chain.from_iterable(self._waiting.values())

    def of(self, client: str) -> int:
        """Returns the number of pending calls of a client."""
        return len(self._waiting.get(client, ()))

    def append(self, call: Call) -> None:
        """Adds a call behind the others of its client."""
        self._waiting.setdefault(call.client, deque()).append(call)
        self._count += 1

    @property
    def is_ready(self) -> bool:
        """True if a message may be sent now."""
        return self._next() is not None

    def take(self, count: int) -> list[Call]:
        """At most so many calls of the client whose turn it is, without those that have ended."""
        client = self._next()
        if client is None:
            return []
        waiting, taken = self._waiting.pop(client), list[Call]()
        while waiting and len(taken) < count:
            call = waiting.popleft()
            self._count -= 1
            if not call.answer.done():  # expired, or cancelled by its caller
                taken.append(call)
        if waiting:
            self._waiting[client] = waiting
        return taken

    def put_back(self, calls: Sequence[Call]) -> None:
        """Makes calls of one client pending again, before all others."""
        again = [call for call in calls if not call.answer.done()]
        if again:
            waiting = self._waiting.pop(again[0].client, deque())
            waiting.extendleft(reversed(again))
            self._waiting = {again[0].client: waiting, **self._waiting}
            self._count += len(again)

    def sent(self, client: str) -> None:
        """Counts a message of a client as in flight."""
        if self._limit is not None:
            self._in_flight[client] += 1

    def ended(self, client: str) -> None:
        """Takes back `sent`."""
        if self._limit is not None:
            self._in_flight[client] -= 1
            if not self._in_flight[client]:
                del self._in_flight[client]

    def drop_ended(self) -> None:
        """Drops calls that have failed or were cancelled, so that they take no place."""
        left = {
            client: deque(call for call in waiting if not call.answer.done())
            for client, waiting in self._waiting.items()
        }
        self._waiting = {client: waiting for client, waiting in left.items() if waiting}
        self._count = sum(map(len, self._waiting.values()))

    def _next(self) -> str | None:
        for client in self._waiting:
            if self._limit is None or self._in_flight[client] < self._limit:
                return client
        return None


def fail_all(calls: Iterable[Call], error: RpcFailed) -> None:
    """Fails the calls that have no answer yet."""
    for call in calls:
        if not call.answer.done():
            call.answer.set_exception(error)


def answer_all(calls: Sequence[Call], body: bytes) -> list[Call]:
    """Gives each call its result from a reply's body, and returns those that were refused.

    Raises Undecodable.
    """
    results = decode_results(body)
    if len(results) != len(calls):
        raise Undecodable(f"{len(calls)} requests got {len(results)} results")
    refused: list[Call] = []
    for call, (failure, reply) in zip(calls, results, strict=True):
        if call.answer.done():
            continue
        if failure is None:
            call.answer.set_result(reply or {})
        elif failure.code is FailureCode.UNAVAILABLE:
            refused.append(call)
        else:
            call.answer.set_exception(RpcFailed(failure))
    return refused
