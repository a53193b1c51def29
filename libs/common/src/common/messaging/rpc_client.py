"""RPC client: pending requests are sent in batches, each to the least busy server."""

import asyncio
from collections.abc import Sequence
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
    decode_server,
    encode_traces,
    unavailable,
)
from common.messaging.rpc_links import PROBE, Link
from common.messaging.rpc_pending import Call
from common.messaging.rpc_routes import (
    FAILED,
    HEDGED,
    Batch,
    ResendReason,
    Route,
    RouteQueue,
    ServerQueue,
    answer_all,
    fail_all,
)
from common.runtime import tracing

C = TypeVar("C", bound=Contract)

_LATE = Counter("rpc_late_replies_total", "Replies after their deadline, dropped")

#: Seconds between checks for expired calls.
TICK = 0.02
#: Seconds between questions for further servers, while there are calls.
DISCOVERY = 2.0
#: Seconds that a question to a server may wait for it; more than until it counts as silent.
QUESTION = 1.0
#: Seconds without a connection or a server until calls fail at once.
OUTAGE = 2.0

log = structlog.get_logger()


class RpcClient:
    """Calls over one connection or several, each to another node of the broker.

    Each server has a queue of its own at each node that it is connected to (ADR 0037). The client
    asks for these queues through the exchange of the request queue, which has the request queue's
    name and routes to all of them. Requests are published without confirms: the broker returns one
    whose server is gone, and the reply confirms every other (ADR 0033).

    A call is sent again when its connection, its server or a node between them is lost or falls
    silent, and asked of a second server when it takes unusually long (ADR 0048). Calls wait while
    there is no connection or no server, but fail at once after `OUTAGE` seconds of that.
    """

    def __init__(self, *connections: SupervisedConnection, queues: Sequence[str]) -> None:
        self._ids = map(str, count(1))
        self._route_queues: dict[str, RouteQueue] = {}
        self._calls: dict[Call, None] = {}
        self._sent: dict[str, Batch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tick_at = 0.0
        #: Time from which there is no link, if there is none.
        self._down_since = float("-inf")
        self._links = [
            Link(
                connection, queues, replied=self._replied, returned=self._returned, lost=self._lost
            )
            for connection in connections
        ]

    async def __aenter__(self) -> Self:
        for link in self._links:
            await link.supervised.add(link)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Fails the calls whose replies can no longer arrive."""
        for link in self._links:
            link.supervised.remove(link)
        self._down_since = float("-inf")
        for link in self._links:
            link.detach()
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
            call = Call(
                request_id,
                request,
                deadline,
                loop.create_future(),
                trace,
                client,
                is_repeatable=route.is_repeatable,
            )
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
        loop = asyncio.get_running_loop()
        started = loop.time()
        if self._link() is None and started - self._down_since >= OUTAGE:
            raise unavailable("broker_unavailable")
        route_queue = self._route_queue(route)
        overload = route_queue.overload(call.client)
        if overload is not None:
            raise unavailable(overload)
        self._calls[call] = None
        self._expect(loop)
        route_queue.pending.append(call)
        route_queue.open_calls += 1
        route_queue.recent.called()
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

    async def is_served(self, route: Route) -> bool:
        """Returns whether a server of the route answers a question now."""
        clock, route_queue = asyncio.get_running_loop().time, self._route_queue(route)
        asked_at = clock()
        for link in self._links:
            link.publish(route.queue, (), route.queue, exchange=route.queue, seconds=QUESTION)
        while route_queue.introduced_at < asked_at and clock() < asked_at + QUESTION:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(TICK)
        return route_queue.introduced_at >= asked_at

    def _route_queue(self, route: Route) -> RouteQueue:
        route_queue = self._route_queues.get(route.queue)
        if route_queue is None:
            route_queue = self._route_queues[route.queue] = RouteQueue(route)
        return route_queue

    def _pump_soon(self, route_queue: RouteQueue) -> None:
        # On the next loop iteration, so that simultaneous calls share a message.
        if not route_queue.pump_is_due and (route_queue.free_server() or not route_queue.servers):
            route_queue.pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump, route_queue)

    def _pump(self, route_queue: RouteQueue) -> None:
        route_queue.pump_is_due = False
        self._send_pending(route_queue)

    def _link(self) -> Link | None:
        """The link for the next message: the first that is up, of those that are not silent."""
        best = None
        for link in self._links:
            if link.is_up:
                if not link.silence.is_silent:
                    return link
                best = best or link
        return best

    def _send_pending(self, route_queue: RouteQueue) -> None:
        while route_queue.pending.is_ready:
            link, server = self._link(), route_queue.free_server()
            if link is None:
                return
            if server is None:
                if not route_queue.servers:
                    self._discover(route_queue, every=PROBE)
                return
            calls = route_queue.pending.take(route_queue.route.max_batch_size)
            if calls and not self._send(route_queue, link, server.queues[0], calls):
                route_queue.pending.put_back(calls)

    def _send(
        self,
        route_queue: RouteQueue,
        link: Link,
        queue: ServerQueue,
        calls: list[Call],
        *,
        is_hedge: bool = False,
    ) -> bool:
        """Sends calls in a message; False if the link is down."""
        now = asyncio.get_running_loop().time()
        deadline = max(call.deadline for call in calls)
        correlation_id = next(self._ids)
        items = [
            (call.request_id, int((call.deadline - now) * 1000), call.request) for call in calls
        ]
        headers = encode_traces([call.trace for call in calls])
        if not link.publish(
            queue.name, items, correlation_id, headers=headers, seconds=deadline - now
        ):
            return False
        self._sent[correlation_id] = Batch(
            route_queue, queue, link, calls, now, deadline, is_hedged=is_hedge
        )
        route_queue.begin(queue.server, calls)
        route_queue.batch_size.observe(len(calls))
        return True

    def _hedge(self, batch: Batch, now: float) -> None:
        """Asks another server, too, for calls that take longer than all recent messages did."""
        route_queue = batch.route_queue
        calls = [call for call in batch.calls if call.is_repeatable and not call.answer.done()]
        server = route_queue.free_server(beside=batch.queue.server)
        links = [link for link in self._links if link.is_up and not link.silence.is_silent]
        if (
            server is not None
            and server.rank == 0
            and links
            and route_queue.recent.may_hedge(len(calls), now - batch.sent_at)
        ):
            batch.is_hedged = True
            # Over another link, if there is one: the slow part may be the node.
            link = next((link for link in links if link is not batch.link), links[0])
            if self._send(route_queue, link, server.queues[0], calls, is_hedge=True):
                route_queue.recent.hedged(len(calls))
                HEDGED.labels(route_queue.route.queue).inc(len(calls))

    def _discover(self, route_queue: RouteQueue, *, every: float) -> None:
        """Requests the queues of all servers of a route, unless it did so `every` seconds ago."""
        now = asyncio.get_running_loop().time()
        link = self._link()
        if link is not None and now - route_queue.asked_at >= every:
            route_queue.asked_at = now
            queue = route_queue.route.queue
            link.publish(queue, (), queue, exchange=queue, seconds=PROBE)

    def _question(self, batch: Batch, now: float) -> None:
        """Probes link and server of a message: one or the other, or a node between, may be lost.

        The server answers with its queue; the broker returns the message if the queue is gone.
        """
        batch.link.probe(now)
        if batch.link.silence.is_silent:
            batch.queue.silence.heard()  # it is not known to be silent
        elif batch.queue.silence.is_due(now):
            batch.link.publish(
                batch.queue.name, (), batch.route_queue.route.queue, seconds=QUESTION
            )

    def _again(self, batch: Batch, reason: ResendReason) -> None:
        """Sends the reads of a message again, elsewhere; the first reply counts."""
        batch.end()
        batch.route_queue.send_again((call for call in batch.calls if call.is_repeatable), reason)
        self._pump_soon(batch.route_queue)

    def _replied(self, reply: Content) -> None:
        batch = self._sent.pop(reply.correlation_id, None)
        if batch is None:
            self._introduced(reply)
            return
        batch.queue.silence.heard()
        was_open = batch.is_open
        if was_open:
            batch.route_queue.recent.add(asyncio.get_running_loop().time() - batch.sent_at)
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
        if refused and was_open:
            self._refused(batch, refused)

    def _refused(self, batch: Batch, calls: Sequence[Call]) -> None:
        """Sends reads that a server refused to another one, once."""
        route_queue = batch.route_queue
        if len(calls) == len(batch.calls):
            batch.queue.server.refuse(refuses=True)
        if batch.is_hedged:  # the other message of a call may still be answered
            others = [other.calls for other in self._sent.values() if other.is_open]
            calls = [call for call in calls if not any(call in other for other in others)]
        again: list[Call] = []
        if route_queue.is_served_beside(batch.queue):
            again = [call for call in calls if call.is_repeatable and not call.was_refused]
        for call in again:
            call.was_refused = True
        route_queue.send_again(again, ResendReason.UNAVAILABLE)
        fail_all((call for call in calls if call not in again), unavailable("unavailable"))
        self._pump_soon(route_queue)

    def _introduced(self, reply: Content) -> None:
        route_queue, queue = self._route_queues.get(reply.correlation_id), reply.reply_to
        if route_queue is None or queue is None:
            _LATE.inc()
            return
        route_queue.introduced_at = asyncio.get_running_loop().time()
        is_new = queue not in route_queue.queues
        known = route_queue.add(queue, decode_server(reply.headers) or queue)
        known.silence.heard()
        known.server.refuse(refuses=False)
        if is_new:
            self._send_pending(route_queue)

    def _returned(self, request: Content) -> None:
        """A message whose server is gone, or a question to all servers when there is none."""
        now = asyncio.get_running_loop().time()
        route_queue = self._route_queues.get(request.routing_key)
        if route_queue is not None:
            if not route_queue.servers and now - route_queue.left_at >= OUTAGE:
                route_queue.asked_at = float("-inf")
                fail_all(route_queue.pending, unavailable("no_consumer"))
            return
        for route_queue in self._route_queues.values():
            route_queue.remove(request.routing_key, now)
        for correlation_id, batch in list(self._sent.items()):
            if batch.queue.name == request.routing_key:
                del self._sent[correlation_id]
                if batch.is_open:
                    batch.end()
                    batch.route_queue.send_again(batch.calls, ResendReason.SERVER_LOST)
        for route_queue in self._route_queues.values():
            self._send_pending(route_queue)

    def _lost(self, link: Link) -> None:
        """Sends again what was sent over a lost connection, or fails it if it is no read."""
        for correlation_id, batch in list(self._sent.items()):
            if batch.link is link:
                del self._sent[correlation_id]
                fail_all(
                    (call for call in batch.calls if not call.is_repeatable),
                    unavailable("broker_unavailable"),
                )
                if batch.is_open:
                    self._again(batch, ResendReason.CONNECTION_LOST)
        if not any(each.is_up for each in self._links):
            # A broker that is short of a resource blocks the connections to every node.
            if not any(each.supervised.is_blocked for each in self._links):
                self._down_since = asyncio.get_running_loop().time()
            self._end_outage()

    def _end_outage(self) -> None:
        """Fails every call once there has been no connection for long."""
        now = asyncio.get_running_loop().time()
        if self._link() is None and now - self._down_since >= OUTAGE:
            fail_all(self._calls, unavailable("broker_unavailable"))

    def _expect(self, loop: asyncio.AbstractEventLoop) -> None:
        # One timer for all calls: a timer each would cost as much as the rest of the call.
        if self._timer is None:
            self._tick_at = loop.time() + TICK
            self._timer = loop.call_at(self._tick_at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._end_expired([call for call in self._calls if call.deadline <= now])
        self._end_outage()
        # After a standstill of this process, what others have sent still waits to be read.
        stood_still = now - self._tick_at >= PROBE / 2
        for correlation_id, batch in list(self._sent.items()):
            if batch.deadline <= now:
                del self._sent[correlation_id]
                batch.end()
            elif batch.is_open and now - batch.sent_at >= PROBE and not stood_still:
                self._question(batch, now)
                if self._is_silent(batch):
                    self._again(batch, ResendReason.SILENCE)
            if batch.is_open and not batch.is_hedged and not stood_still:
                self._hedge(batch, now)
        for route_queue in self._route_queues.values():
            route_queue.pending.drop_ended()
            if route_queue.open_calls:
                self._discover(route_queue, every=DISCOVERY if route_queue.is_whole else PROBE)
                self._send_pending(route_queue)
        if self._calls or self._sent:
            self._expect(loop)

    def _end_expired(self, calls: Sequence[Call]) -> None:
        """Fails calls without a reply in time, as unavailable if nothing could take them."""
        if calls and self._link() is None:
            fail_all(calls, unavailable("broker_unavailable"))
        for route_queue in self._route_queues.values() if calls else ():
            if not route_queue.servers:
                unserved = [call for call in calls if call in route_queue.pending]
                fail_all(unserved, unavailable("no_consumer"))
        fail_all(calls, deadline_exceeded())

    def _is_silent(self, batch: Batch) -> bool:
        """True if a message waits for a silent link or server and could be sent elsewhere."""
        if batch.link.silence.is_silent:
            return self._link() is not batch.link
        return batch.queue.silence.is_silent and batch.route_queue.is_served_beside(batch.queue)
