"""RPC client: pending requests are sent in batches, each to the least busy server."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Self, TypeVar

import structlog
from prometheus_client import Counter

from common.contracts.contract import Contract
from common.contracts.failures import NEUTRAL
from common.messaging.connection import SupervisedConnection
from common.messaging.frames import Content
from common.messaging.rpc import (
    RpcFailed,
    Undecodable,
    deadline_exceeded,
    encode_traces,
    unavailable,
)
from common.messaging.rpc_channels import Replies, Requests
from common.messaging.rpc_pending import Call
from common.messaging.rpc_routes import (
    FAILED,
    Batch,
    Route,
    RouteQueue,
    Server,
    answer_all,
    fail_all,
)
from common.runtime import tracing

C = TypeVar("C", bound=Contract)

_LATE = Counter("rpc_late_replies_total", "Replies after their deadline, dropped")

#: Seconds between checks for expired calls.
TICK = 0.02
#: Seconds without a reply after which the client probes whether a server still consumes.
PROBE = 0.25
#: Seconds between questions for further servers, while there are calls.
DISCOVERY = 2.0

log = structlog.get_logger()


class RpcClient:
    """Calls over one publishing and one consuming connection.

    Each server has a queue of its own (ADR 0037). The client asks for these queues through the
    exchange of the request queue, which has the request queue's name and routes to all of them.
    Requests are published without confirms: the broker returns one whose server is gone, and the
    reply confirms every other (ADR 0033). Replies arrive in an exclusive queue of this process,
    declared anew on each connection: RabbitMQ's direct reply-to does not survive a reconnect and
    measured slower.
    """

    def __init__(
        self,
        publishing: SupervisedConnection,
        consuming: SupervisedConnection,
        *,
        queues: Sequence[str],
    ) -> None:
        self._ids = map(str, count(1))
        self._route_queues: dict[str, RouteQueue] = {}
        self._calls: dict[Call, None] = {}
        self._sent: dict[str, Batch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._replies = Replies(consuming, self._replied, self._lost)
        self._requests = Requests(publishing, queues, self._replies, self._returned, self._lost)

    async def __aenter__(self) -> Self:
        await self._requests.supervised.add(self._requests)
        await self._replies.supervised.add(self._replies)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Fails the calls whose replies can no longer arrive."""
        self._requests.supervised.remove(self._requests)
        self._replies.supervised.remove(self._replies)
        self._requests.detach()
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
            deadline = loop.time() + timeout
            call = Call(request_id, request, deadline, loop.create_future(), trace, client)
            answer = await self._answer(route, call)
            failure = None
            return reply.model_validate(answer)
        except RpcFailed as failed:
            failure = failed.cause if failed.failure.code in NEUTRAL else None
            # A company that does not exist is a reply, not a failed request.
            if failed.failure.code in NEUTRAL:
                FAILED.labels(route.queue, failed.cause).inc()
            raise
        finally:
            if span is not None:
                span.end(error=failure)

    async def _answer(self, route: Route, call: Call) -> dict[str, object]:
        if self._requests.content is None or self._replies.queue is None:
            raise unavailable("broker_unavailable")
        route_queue = self._route_queues.get(route.queue)
        if route_queue is None:
            route_queue = self._route_queues[route.queue] = RouteQueue(route)
        overload = route_queue.overload(call.client)
        if overload is not None:
            raise unavailable(overload)
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._calls[call] = None
        self._expect(loop)
        route_queue.pending.append(call)
        route_queue.open_calls += 1
        if route_queue.open_calls == 1:
            self._send_pending(route_queue)  # no other call that it could share a message with
        else:
            self._pump_soon(route_queue)
        try:
            return await call.answer
        finally:
            del self._calls[call]
            route_queue.open_calls -= 1
            route_queue.latency.observe(loop.time() - started)

    def _pump_soon(self, route_queue: RouteQueue) -> None:
        # On the next loop iteration, so that simultaneous calls share a message.
        if not route_queue.pump_is_due and (route_queue.free_server() or not route_queue.servers):
            route_queue.pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump, route_queue)

    def _pump(self, route_queue: RouteQueue) -> None:
        route_queue.pump_is_due = False
        self._send_pending(route_queue)

    def _send_pending(self, route_queue: RouteQueue) -> None:
        while route_queue.pending.is_ready:
            server = route_queue.free_server()
            if server is None:
                if not route_queue.servers:
                    self._discover(route_queue, every=PROBE)
                return
            calls = route_queue.pending.take(route_queue.route.max_batch_size)
            if calls:
                self._send(route_queue, server, calls)

    def _send(self, route_queue: RouteQueue, server: Server, calls: list[Call]) -> None:
        now = asyncio.get_running_loop().time()
        deadline = max(call.deadline for call in calls)
        correlation_id = next(self._ids)
        items = [
            (call.request_id, int((call.deadline - now) * 1000), call.request) for call in calls
        ]
        try:
            self._requests.publish(
                server.queue,
                items,
                correlation_id,
                headers=encode_traces([call.trace for call in calls]),
                seconds=deadline - now,
            )
        except ConnectionError:
            fail_all(calls, unavailable("broker_unavailable"))
            return
        self._sent[correlation_id] = Batch(route_queue, server, calls, now, deadline)
        route_queue.begin(server, calls)
        route_queue.batch_size.observe(len(calls))

    def _discover(self, route_queue: RouteQueue, *, every: float) -> None:
        """Requests the queues of all servers of a route, unless it did so `every` seconds ago."""
        now = asyncio.get_running_loop().time()
        if now - route_queue.asked_at >= every:
            route_queue.asked_at = now
            queue = route_queue.route.queue
            with suppress(ConnectionError):  # `_lost` is about to fail the calls
                self._requests.publish(queue, (), queue, exchange=queue, seconds=PROBE)

    def _probe(self, batch: Batch, now: float) -> None:
        """Probes a slow server: the broker returns the message if its queue is gone."""
        if now - max(batch.sent_at, batch.server.probed_at) >= PROBE:
            batch.server.probed_at = now
            self._question(batch)

    def _question(self, batch: Batch) -> None:
        """Requests the queue of a message's server."""
        with suppress(ConnectionError):
            self._requests.publish(
                batch.server.queue, (), batch.route_queue.route.queue, seconds=PROBE
            )

    def _ended(self, correlation_id: str) -> Batch | None:
        """Drops a message that is answered, returned or late, so that the next can be sent."""
        batch = self._sent.pop(correlation_id, None)
        if batch is not None:
            batch.route_queue.end(batch.server, batch.calls)
            if batch.route_queue.pending:
                self._pump_soon(batch.route_queue)
        return batch

    def _replied(self, reply: Content) -> None:
        batch = self._ended(reply.correlation_id)
        if batch is None:
            self._introduced(reply)
            return
        try:
            answer_all(batch.calls, reply.body)
        except Undecodable as error:
            queue = batch.route_queue.route.queue
            log.error("rpc.undecodable_reply", queue=queue, reason=str(error))
            fail_all(batch.calls, unavailable("undecodable"))

    def _introduced(self, reply: Content) -> None:
        route_queue, server = self._route_queues.get(reply.correlation_id), reply.reply_to
        if route_queue is None or server is None:
            _LATE.inc()
        elif server not in route_queue.servers:
            # A server that was only slow still has its earlier messages in flight.
            known = (sent.server for sent in self._sent.values() if sent.server.queue == server)
            route_queue.servers[server] = next(known, None) or Server(server)
            self._send_pending(route_queue)

    def _returned(self, request: Content) -> None:
        """A message whose server is gone, or a question to all servers when there is none."""
        route_queue = self._route_queues.get(request.routing_key)
        if route_queue is not None:
            route_queue.asked_at = float("-inf")
            if not route_queue.servers:
                fail_all(route_queue.pending, unavailable("no_consumer"))
            return
        for correlation_id, batch in list(self._sent.items()):
            if batch.server.queue == request.routing_key:
                self._ended(correlation_id)
                batch.route_queue.pending.put_back(batch.calls)
        for route_queue in self._route_queues.values():
            route_queue.servers.pop(request.routing_key, None)
            self._send_pending(route_queue)

    def _lost(self) -> None:
        """Fails every call: a lost connection loses the replies in transit."""
        for correlation_id in list(self._sent):
            self._ended(correlation_id)
        for route_queue in self._route_queues.values():
            route_queue.servers.clear()
            route_queue.asked_at = float("-inf")
        fail_all(self._calls, unavailable("broker_unavailable"))

    def _expect(self, loop: asyncio.AbstractEventLoop) -> None:
        # One timer for all calls: a timer each would cost as much as the rest of the call.
        if self._timer is None:
            self._timer = loop.call_later(TICK, self._end_expired)

    def _end_expired(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        fail_all([call for call in self._calls if call.deadline <= now], deadline_exceeded())
        for correlation_id, batch in list(self._sent.items()):
            if batch.deadline <= now:
                # A server that does not answer gets no further requests until it says where it is.
                batch.route_queue.servers.pop(batch.server.queue, None)
                self._ended(correlation_id)
                self._question(batch)
            else:
                self._probe(batch, now)
        for route_queue in self._route_queues.values():
            route_queue.pending.drop_ended()
            if route_queue.open_calls:
                self._discover(route_queue, every=DISCOVERY if route_queue.servers else PROBE)
        if self._calls or self._sent:
            self._expect(loop)
