"""RPC client: calls, the messages that they share, and their second chance.

Calls of the same moment share a message to the least busy server (ADR 0039). A read is sent to
another server when its server or its connection is lost or it is refused, and it is asked once
more after `PATIENCE` seconds without a reply (ADR 0073).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Final, Self, TypeVar

import structlog
from prometheus_client import Counter

from common.contracts.contract import Contract
from common.contracts.failures import NEUTRAL
from common.messaging.connection import SupervisedConnection
from common.messaging.rpc import (
    Call,
    Content,
    RpcFailed,
    Undecodable,
    answer_all,
    deadline_exceeded,
    encode_traces,
    fail_all,
    unavailable,
)
from common.messaging.rpc_servers import (
    BURST,
    FAILED,
    FEW_QUEUES,
    OUTAGE,
    QUESTION,
    REPEATED,
    Link,
    Links,
    ResendReason,
    Route,
    RouteQueue,
    Server,
)
from common.runtime import tracing

C = TypeVar("C", bound=Contract)

#: Seconds between checks for expired calls.
TICK: Final = 0.02
#: Seconds without a reply after which a read is sent again; half of it after which its server is
#: asked whether it is there.
PATIENCE: Final = 0.4
#: Seconds between questions to all servers while there are calls, and while one is missing.
_DISCOVERY, _SEARCH = 2.0, 0.25
_LATE = Counter("rpc_late_replies_total", "Replies after their deadline, dropped")
log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Batch:
    """A message that waits for its reply until the last deadline of its calls."""

    route_queue: RouteQueue
    server: Server
    queue: str
    link: Link
    calls: list[Call]
    sent_at: float
    deadline: float
    #: False once its calls were sent again; its reply still counts if it is the first.
    is_open: bool = True
    #: True once its server was asked whether it is there.
    is_late: bool = False

    def end(self) -> None:
        """Lets the server have another message instead."""
        if self.is_open:
            self.is_open = False
            self.server.in_flight -= 1
            self.route_queue.pending.ended(self.calls[0].client)


class RpcClient:
    """Calls over one connection or several, each to another node of the broker.

    Calls wait while there is no connection or no server, but fail at once after `OUTAGE` seconds
    of that. Requests are published without confirms: the broker returns one whose server is gone,
    and the reply confirms every other (ADR 0033).
    """

    def __init__(self, *connections: SupervisedConnection, queues: Sequence[str]) -> None:
        self._links = Links(
            [
                Link(each, queues, replied=self._replied, returned=self._returned, lost=self._lost)
                for each in connections
            ]
        )
        self._route_queues: dict[str, RouteQueue] = {}
        self._calls: dict[Call, None] = {}
        self._sent: dict[str, Batch] = {}
        self._ids = map(str, count(1))
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._links.attach()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Fails the calls whose replies can no longer arrive."""
        self._links.close()
        if self._timer is not None:
            self._timer.cancel()

    async def call(  # noqa: PLR0913 (the options of a call)
        self,
        route: Route,
        request: Contract,
        reply: type[C],
        *,
        timeout: float,
        request_id: str,
        client: str = "",
    ) -> C:
        """Send one request and return its reply, within `timeout` seconds.

        `client` is whose turn it takes, on a route with a limit for each client.

        Raises RpcFailed: with the service's failure, `deadline_exceeded` or `unavailable`.
        """
        trace = tracing.CURRENT.get()
        span = tracing.continued(
            route.queue, tracing.Kind.CLIENT, route.queue, trace, request_id=request_id
        )
        if span is not None:
            trace = span.context
        failure: str | None = "cancelled"
        try:
            loop = asyncio.get_running_loop()
            deadline, answer = loop.time() + timeout, loop.create_future()
            call = Call(request_id, request, deadline, answer, trace, client, route.is_repeatable)
            result = await self._answer(route, call)
            failure = None
            return reply.model_validate(result)
        except RpcFailed as failed:
            failure = failed.cause if failed.failure.code in NEUTRAL else None
            # A company that does not exist is a reply, not a failed request.
            if failed.failure.code in NEUTRAL:
                FAILED.labels(route.queue, failed.cause).inc()
            raise
        finally:
            if span is not None:
                span.end(error=failure)

    async def is_served(self, route: Route) -> bool:
        """Returns whether a server of the route answers a question now."""
        clock, route_queue = asyncio.get_running_loop().time, self._route_queue(route)
        asked_at = clock()
        if not self._ask_all(route_queue, _DISCOVERY):
            self._links.ask(route.queue, *islice(route_queue.servers.queues, FEW_QUEUES))
        while route_queue.introduced_at < asked_at and clock() < asked_at + QUESTION:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(TICK)
        return route_queue.introduced_at >= asked_at

    async def _answer(self, route: Route, call: Call) -> dict[str, object]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        if self._links.are_down(started):
            raise unavailable("broker_unavailable")
        route_queue = self._route_queue(route)
        overload = route_queue.overload(call.client)
        if overload is not None:
            raise unavailable(overload)
        self._calls[call] = None
        self._expect(loop)
        route_queue.pending.append(call)
        route_queue.open_calls += 1
        route_queue.budget = min(route_queue.budget + REPEATED, BURST)
        if route_queue.open_calls == 1:  # no other call that it could share a message with
            self._send_pending(route_queue)
        else:
            self._pump_soon(route_queue)
        try:
            return await call.answer
        finally:
            del self._calls[call]
            route_queue.open_calls -= 1
            route_queue.latency.observe(loop.time() - started)

    def _route_queue(self, route: Route) -> RouteQueue:
        route_queue = self._route_queues.get(route.queue)
        if route_queue is None:
            route_queue = self._route_queues[route.queue] = RouteQueue(route)
        return route_queue

    # Sending

    def _pump_soon(self, route_queue: RouteQueue) -> None:
        # Not now, so that simultaneous calls share a message.
        if not route_queue.pump_is_due and (route_queue.free_server() or not route_queue.servers):
            route_queue.pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump, route_queue)

    def _pump(self, route_queue: RouteQueue) -> None:
        route_queue.pump_is_due = False
        self._send_pending(route_queue)

    def _send_pending(self, route_queue: RouteQueue) -> None:
        while route_queue.pending.is_ready:
            link, server = self._links.best(), route_queue.free_server()
            if link is None:
                return
            if server is None:
                if not route_queue.servers:
                    self._ask_all(route_queue, _SEARCH)
                return
            calls = route_queue.pending.take(route_queue.route.max_batch_size)
            if calls and not self._send(route_queue, link, server, calls):
                route_queue.pending.put_back(calls)

    def _send(self, route_queue: RouteQueue, link: Link, server: Server, calls: list[Call]) -> bool:
        now = asyncio.get_running_loop().time()
        deadline = max(call.deadline for call in calls)
        correlation_id, queue = next(self._ids), server.queues[0]
        items = [
            (call.request_id, int((call.deadline - now) * 1000), call.request) for call in calls
        ]
        headers = encode_traces([call.trace for call in calls])
        if not link.publish(queue, items, correlation_id, headers=headers, seconds=deadline - now):
            return False
        batch = Batch(route_queue, server, queue, link, calls, now, deadline)
        self._sent[correlation_id] = batch
        route_queue.servers.begin(server)
        route_queue.pending.sent(calls[0].client)
        route_queue.batch_size.observe(len(calls))
        return True

    def _ask_all(self, route_queue: RouteQueue, interval: float) -> bool:
        now = asyncio.get_running_loop().time()
        if self._links.best() is None or not route_queue.is_due(now, interval):
            return False
        route_queue.asked_at = now
        self._links.ask(route_queue.route.queue)
        return True

    # Replies, returned messages and losses

    def _replied(self, link: Link, reply: Content) -> None:
        batch = self._sent.pop(reply.correlation_id, None)
        if batch is None:
            self._introduced(link, reply)
            return
        batch.server.is_suspect = batch.server.is_refusing = False
        batch.end()
        if batch.route_queue.pending:
            self._pump_soon(batch.route_queue)
        try:
            refused = answer_all(batch.calls, reply.body)
        except Undecodable as error:
            queue = batch.route_queue.route.queue
            log.error("rpc.undecodable_reply", queue=queue, reason=str(error))
            fail_all(batch.calls, unavailable("undecodable"))
            return
        if refused:
            self._refused(batch, refused)

    def _refused(self, batch: Batch, calls: Sequence[Call]) -> None:
        route_queue = batch.route_queue
        batch.server.is_suspect = batch.server.is_refusing = len(calls) == len(batch.calls)
        # The other message of a repeated call may still be answered.
        others = {*route_queue.pending}.union(*(other.calls for other in self._sent.values()))
        calls = [call for call in calls if call not in others]
        best = route_queue.servers.best()
        again: list[Call] = []
        if best is not None and best is not batch.server and not best.is_refusing:
            again = [call for call in calls if call.is_repeatable and not call.was_refused]
        for call in again:
            call.was_refused = True
        route_queue.send_again(again, ResendReason.UNAVAILABLE)
        fail_all((call for call in calls if call not in again), unavailable("unavailable"))
        self._pump_soon(route_queue)

    def _introduced(self, link: Link, reply: Content) -> None:
        answer = self._links.answered(link, reply)
        if answer is None or reply.reply_to is None:
            _LATE.inc()
            return
        route, server, question = answer
        route_queue = self._route_queues[route]
        route_queue.introduced_at = asyncio.get_running_loop().time()
        if route_queue.servers.introduced(reply.reply_to, server, question):
            self._send_pending(route_queue)

    def _returned(self, request: Content) -> None:
        now = asyncio.get_running_loop().time()
        route_queue = self._route_queues.get(request.routing_key)
        if route_queue is not None:
            if not route_queue.servers and now - route_queue.servers.left_at >= OUTAGE:
                route_queue.asked_at = float("-inf")
                fail_all(route_queue.pending, unavailable("no_consumer"))
            return
        for route_queue in self._route_queues.values():
            route_queue.servers.remove(request.routing_key, now)
        returned = self._sent.pop(request.correlation_id, None)
        if returned is not None and returned.is_open:
            returned.end()
            returned.route_queue.send_again(returned.calls, ResendReason.SERVER_LOST)
        for correlation_id, batch in list(self._sent.items()):
            if batch.queue == request.routing_key:
                self._end_lost(correlation_id, "unavailable", ResendReason.SERVER_LOST)
        for route_queue in self._route_queues.values():
            self._send_pending(route_queue)

    def _lost(self, link: Link) -> None:
        for correlation_id, batch in list(self._sent.items()):
            if batch.link is link:
                self._end_lost(correlation_id, "broker_unavailable", ResendReason.CONNECTION_LOST)
        if self._links.lost(asyncio.get_running_loop().time()):
            self._end_outage()

    def _end_lost(self, correlation_id: str, cause: str, reason: ResendReason) -> None:
        batch = self._sent.pop(correlation_id)
        fail_all((call for call in batch.calls if not call.is_repeatable), unavailable(cause))
        if batch.is_open:
            batch.end()
            batch.route_queue.send_again(batch.calls, reason)
            self._pump_soon(batch.route_queue)

    # The clock

    def _expect(self, loop: asyncio.AbstractEventLoop) -> None:
        # One timer for all calls: a timer each would cost as much as the rest of the call.
        if self._timer is None:
            self._timer = loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._end_expired([call for call in self._calls if call.deadline <= now])
        self._end_outage()
        for correlation_id, batch in list(self._sent.items()):
            if batch.deadline <= now:
                del self._sent[correlation_id]
                batch.end()
            elif batch.is_open and now - batch.sent_at >= PATIENCE / 2:
                self._wait_longer(batch, now)
        for route_queue in self._route_queues.values():
            route_queue.pending.drop_ended()
            if route_queue.open_calls:
                self._look_for_servers(route_queue, now)
                self._send_pending(route_queue)
        if self._calls or self._sent:
            self._expect(loop)

    def _wait_longer(self, batch: Batch, now: float) -> None:
        """Asks for the server of a message, and at last sends its reads again, once.

        Rows of the table of faults: a process or a node that is suspended, or cut off. By then
        what answered the question first is used, so they go over another link or to another
        server, whichever is to blame.
        """
        route_queue = batch.route_queue
        if not batch.is_late:
            batch.is_late = batch.server.is_suspect = True
            self._ask_all(route_queue, _SEARCH)
            self._links.ask(route_queue.route.queue, *batch.server.queues)
        if now - batch.sent_at < PATIENCE:
            return
        calls = [call for call in batch.calls if call.is_repeatable and not call.is_repeated]
        calls = [call for call in calls if not call.answer.done()]
        if 0 < len(calls) <= route_queue.budget:
            route_queue.budget -= len(calls)
            for call in calls:
                call.is_repeated = True
            batch.server.is_suspect = True  # until the next question: another may be quicker
            batch.end()
            route_queue.send_again(calls, ResendReason.NO_REPLY)
            self._send_pending(route_queue)

    def _look_for_servers(self, route_queue: RouteQueue, now: float) -> None:
        serve = any(not server.is_suspect for server in route_queue.servers)
        self._ask_all(route_queue, _DISCOVERY if serve else _SEARCH)
        for server in route_queue.servers:
            if server.is_suspect and now - server.asked_at >= _SEARCH:
                server.asked_at = now
                self._links.ask(route_queue.route.queue, *server.queues)

    def _end_expired(self, calls: Sequence[Call]) -> None:
        if calls and self._links.best() is None:
            fail_all(calls, unavailable("broker_unavailable"))
        for route_queue in self._route_queues.values() if calls else ():
            if not route_queue.servers:
                unserved = [call for call in calls if call in route_queue.pending]
                fail_all(unserved, unavailable("no_consumer"))
        fail_all(calls, deadline_exceeded())

    def _end_outage(self) -> None:
        if self._links.are_down(asyncio.get_running_loop().time()):
            error = unavailable("broker_unavailable")
            for route_queue in self._route_queues.values():
                fail_all(route_queue.pending, error)
            for batch in self._sent.values():
                fail_all(batch.calls, error)
