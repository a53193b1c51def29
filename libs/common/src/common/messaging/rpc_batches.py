"""Messages of an RPC client: batches of calls, sent again elsewhere after a loss or a silence."""

import asyncio
from collections.abc import Sequence
from itertools import count, islice

import structlog
from prometheus_client import Counter

from common.messaging.connection import SupervisedConnection
from common.messaging.content import Content
from common.messaging.rpc import (
    Call,
    Undecodable,
    answer_all,
    decode_server,
    encode_traces,
    fail_all,
    unavailable,
)
from common.messaging.rpc_links import (
    OUTAGE,
    PROBE,
    QUESTION,
    Link,
    Links,
    ServerQueue,
    asked,
)
from common.messaging.rpc_routes import (
    FEW_QUEUES,
    HEDGED,
    Batch,
    ResendReason,
    Route,
    RouteQueue,
)

_LATE = Counter("rpc_late_replies_total", "Replies after their deadline, dropped")

log = structlog.get_logger()


class BatchSender:
    """Sends pending calls over the links, each batch to the least busy server of its route.

    Requests are published without confirms: the broker returns one whose server is gone, and the
    reply confirms every other (ADR 0033).
    """

    def __init__(self, connections: Sequence[SupervisedConnection], queues: Sequence[str]) -> None:
        self.links = Links(
            [
                Link(each, queues, replied=self._replied, returned=self._returned, lost=self._lost)
                for each in connections
            ]
        )
        self.route_queues: dict[str, RouteQueue] = {}
        self._sent: dict[str, Batch] = {}
        self._ids = map(str, count(1))

    def route_queue(self, route: Route) -> RouteQueue:
        """Returns the queue of a route, which is made for its first call."""
        route_queue = self.route_queues.get(route.queue)
        if route_queue is None:
            route_queue = self.route_queues[route.queue] = RouteQueue(route)
        return route_queue

    def pump_soon(self, route_queue: RouteQueue) -> None:
        """Sends pending calls on the next loop iteration, if a server may get a message."""
        # Not now, so that simultaneous calls share a message.
        if not route_queue.pump_is_due and (route_queue.free_server() or not route_queue.servers):
            route_queue.pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump, route_queue)

    def _pump(self, route_queue: RouteQueue) -> None:
        route_queue.pump_is_due = False
        self.send_pending(route_queue)

    def send_pending(self, route_queue: RouteQueue) -> None:
        """Sends pending calls while servers may get messages, and asks for servers without any."""
        while route_queue.pending.is_ready:
            link, server = self.links.best(), route_queue.free_server()
            if link is None:
                return
            if server is None:
                if not route_queue.servers:
                    self._discover(route_queue)
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
        links = [link for link in self.links if link.is_up and not link.silence.is_silent]
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

    def _discover(self, route_queue: RouteQueue, *, seconds: float = PROBE) -> bool:
        """Asks all servers of a route for their queues, unless it did so a short time ago.

        They may take so many seconds to receive the question.
        """
        now = asyncio.get_running_loop().time()
        is_due = self.links.best() is not None and now - route_queue.asked_at >= (
            route_queue.question_interval
        )
        if is_due:
            route_queue.asked_at = now
            route_queue.was_slow = False
            self.links.ask_servers(route_queue.route.queue, now=now, seconds=seconds)
        return is_due

    def ask(self, route_queue: RouteQueue) -> None:
        """Asks servers of a route whether they serve: all of them if that is due, or a few."""
        if not self._discover(route_queue, seconds=QUESTION):
            for queue in islice(route_queue.queues, FEW_QUEUES):
                for link in self.links:
                    link.publish(queue, (), route_queue.route.queue, seconds=QUESTION)

    def _again(self, batch: Batch, reason: ResendReason) -> None:
        """Sends the reads of a message again, elsewhere; the first reply counts."""
        batch.end()
        batch.route_queue.send_again((call for call in batch.calls if call.is_repeatable), reason)
        self.pump_soon(batch.route_queue)

    def _replied(self, link: Link, reply: Content) -> None:
        batch = self._sent.pop(reply.correlation_id, None)
        if batch is None:
            self._introduced(link, reply)
            return
        batch.queue.silence.heard()
        was_open = batch.is_open
        if was_open:
            batch.route_queue.recent.add(asyncio.get_running_loop().time() - batch.sent_at)
        batch.end()
        if batch.route_queue.pending:
            self.pump_soon(batch.route_queue)
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
            batch.queue.server.refused()
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
        self.pump_soon(route_queue)

    def _introduced(self, link: Link, reply: Content) -> None:
        name, asked_at = asked(reply.correlation_id)
        route_queue = self.route_queues.get(name)
        server, refusing_queue = decode_server(reply.headers)
        queue, refuses = refusing_queue or reply.reply_to, refusing_queue is not None
        if route_queue is None or queue is None:
            _LATE.inc()
            return
        now = asyncio.get_running_loop().time()
        is_new = queue not in route_queue.queues
        known = route_queue.add(queue, server or queue)
        known.silence.heard()
        if asked_at is not None:
            link.distance.answered(asked_at, now)
            known.distance.answered(asked_at, now)
        known.server.introduced(refuses=refuses)
        if not refuses:
            route_queue.introduced_at = now
        if is_new and not refuses:  # of several servers, another may introduce itself soon
            self.send_pending(route_queue)

    def _returned(self, request: Content) -> None:
        """A message whose server is gone, or a question to all servers when there is none."""
        now = asyncio.get_running_loop().time()
        route_queue = self.route_queues.get(request.routing_key)
        if route_queue is not None:
            if not route_queue.servers and now - route_queue.left_at >= OUTAGE:
                route_queue.asked_at = float("-inf")
                fail_all(route_queue.pending, unavailable("no_consumer"))
            return
        for route_queue in self.route_queues.values():
            route_queue.remove(request.routing_key, now)
        for correlation_id, batch in list(self._sent.items()):
            if batch.queue.name == request.routing_key:
                del self._sent[correlation_id]
                if batch.is_open:
                    batch.end()
                    batch.route_queue.send_again(batch.calls, ResendReason.SERVER_LOST)
        for route_queue in self.route_queues.values():
            self.send_pending(route_queue)

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
        if self.links.lost(asyncio.get_running_loop().time()):
            self.end_outage()

    def end_outage(self) -> None:
        """Fails every call once there has been no link for long."""
        if self.links.are_down(asyncio.get_running_loop().time()):
            error = unavailable("broker_unavailable")
            for route_queue in self.route_queues.values():
                fail_all(route_queue.pending, error)
            for batch in self._sent.values():
                fail_all(batch.calls, error)

    def check(self, now: float, *, stood_still: bool) -> bool:
        """Sends again what waits for too long, and looks for servers; False if nothing waits.

        After a standstill of this process, what others have sent still waits to be read.
        """
        for correlation_id, batch in list(self._sent.items()):
            if batch.deadline <= now:
                del self._sent[correlation_id]
                batch.end()
            elif batch.is_open and now - batch.sent_at >= PROBE and not stood_still:
                batch.probe(now)
                if self._is_silent(batch):
                    self._again(batch, ResendReason.SILENCE)
            if batch.is_open and not stood_still:
                batch.route_queue.waits(now - batch.sent_at)
                if not batch.is_hedged:
                    self._hedge(batch, now)
        for route_queue in self.route_queues.values():
            route_queue.pending.drop_ended()
            if route_queue.open_calls:
                self._discover(route_queue)
                self.send_pending(route_queue)
        return bool(self._sent)

    def _is_silent(self, batch: Batch) -> bool:
        """True if a message waits for a silent link or server and could be sent elsewhere."""
        if batch.link.silence.is_silent:
            return self.links.best() is not batch.link
        return batch.queue.silence.is_silent and batch.route_queue.is_served_beside(batch.queue)
