"""Calls of an RPC client that wait to be sent, in turns by client."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from common.contracts.contract import Contract
from common.contracts.traces import TraceContext


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
