"""Wire format of RPC requests and replies, and the calls that wait for them.

A message carries a batch: requests pending at the same time share it. Both sides use msgpack, so
that a reply's ready JSON travels as bytes and is copied, never parsed.

Request: `[[request_id, milliseconds_left, contract], …]`. Reply, in the same order:
`[[failure | nil, contract | nil], …]`. The time left is relative, since the clocks of two
hosts differ. A message without requests asks for the server's queue, which is the reply-to of the
reply. The header `server` of that reply is the same for all queues of a server; without it the
queue is its only one. A server that would refuse requests now does not reply to it.

The headers `traceparent` and `tracestate` have one line for each request of the batch, empty for a
request without a trace. A message has neither if none has one.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import ormsgpack
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
