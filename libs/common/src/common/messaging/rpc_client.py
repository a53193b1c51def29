"""RPC client: pending requests are sent in batches."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import DeliveryError
from prometheus_client import Counter, Gauge, Histogram

from common.contracts.contract import Contract
from common.contracts.failures import Unavailable
from common.messaging.connection import (
    CONNECT_TIMEOUT,
    BrokerUnavailable,
    Publishing,
    SupervisedConnection,
    broker_calls,
)
from common.messaging.rpc import RpcFailed, Undecodable, decode_results, encode_requests

C = TypeVar("C", bound=Contract)

_LATENCY = Histogram(
    "rpc_client_seconds",
    "From request to reply",
    ["queue"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_IN_FLIGHT = Gauge("rpc_client_in_flight", "Requests waiting for a reply", ["queue"])
_FAILED = Counter("rpc_client_failures_total", "Failed requests by cause", ["queue", "cause"])
_LATE = Counter("rpc_client_late_replies_total", "Replies after their deadline, dropped")
_LIST = Histogram(
    "rpc_client_list_size",
    "Requests in a message",
    ["queue"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 128),
)

#: Seconds between checks for expired calls.
TICK = 0.02

log = structlog.get_logger()


class NoConsumer(Unavailable):
    """No process consumes the queue, or it is full."""


class DeadlineExceeded(Exception):
    """The deadline passed without an answer."""


@dataclass(frozen=True, slots=True)
class Route:
    """A request queue and how it is used; a client uses a queue in one way.

    Two messages in flight measured best for indexed reads: one is processed while the next is in
    transit. A search takes longer than its transport, so more and smaller batches keep one slow
    search from delaying others.
    """

    queue: str
    in_flight: int = 2
    max_batch_size: int = 128
    #: Further requests are rejected at once: they would only time out.
    max_pending: int = 4096


@dataclass(slots=True, eq=False)
class _Call:
    request_id: str
    request: Contract
    deadline: float
    answer: asyncio.Future[dict[str, object]]


class _RouteQueue:
    """The pending calls of a route, and the number of messages in flight."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.pending: deque[_Call] = deque()
        self.in_flight = 0
        self.pump_is_due = False
        #: Number of pending calls at the end of the last loop iteration.
        self.gathered = 0
        #: Calls waiting for a reply.
        self.open_calls = 0
        _IN_FLIGHT.labels(route.queue).set_function(lambda: self.open_calls)
        # Cached, since looking up a labelled child costs more than counting with it.
        self.latency = _LATENCY.labels(route.queue)
        self.batch_size = _LIST.labels(route.queue)


class _PendingCalls:
    """Calls waiting for a reply; each ends at its deadline, to within a tick.

    One timer serves all of them: a timer each would cost as much as the rest of the call.
    """

    def __init__(self) -> None:
        self._calls: dict[_Call, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: _Call) -> None:
        self._calls[call] = None
        if self._timer is None:
            self._look_later()

    def remove(self, call: _Call) -> None:
        del self._calls[call]

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            if call.deadline <= now and not call.answer.done():
                call.answer.set_exception(DeadlineExceeded())
        if self._calls:
            self._look_later()


class RpcClient:
    """Calls over one publishing and one consuming connection.

    Replies arrive in an exclusive queue of this process, declared anew on each connection:
    RabbitMQ's direct reply-to does not survive a reconnect and measured slower.
    """

    def __init__(
        self,
        publishing: SupervisedConnection,
        consuming: SupervisedConnection,
        *,
        new_id: Callable[[], str],
    ) -> None:
        self._new_id = new_id
        self._route_queues: dict[str, _RouteQueue] = {}
        self._open = _PendingCalls()
        self._sent: dict[str, asyncio.Future[bytes]] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._requests = _Requests(publishing)
        self._replies = _Replies(consuming, self._take)

    @property
    def waiting_for_replies(self) -> int:
        """Messages sent and not yet answered; each is dropped at its deadline."""
        return len(self._sent)

    async def open(self) -> None:
        await self._requests.link.add(self._requests)
        await self._replies.link.add(self._replies)

    async def close(self) -> None:
        """Fails the calls whose replies can no longer arrive."""
        for task in self._sending:
            task.cancel()
        if self._sending:
            await asyncio.wait(self._sending)
        self._requests.link.remove(self._requests)
        self._replies.link.remove(self._replies)

    async def call(
        self, route: Route, request: Contract, reply: type[C], *, limit: float, request_id: str
    ) -> C:
        """Send one request and return its reply, within `limit` seconds.

        Raises RpcFailed (the service reported a failure), DeadlineExceeded, NoConsumer or
        BrokerUnavailable.
        """
        if self._requests.channel is None or self._replies.queue is None:
            _FAILED.labels(route.queue, "broker_away").inc()
            raise BrokerUnavailable("the broker cannot be reached")
        route_queue = self._route_queues.get(route.queue)
        if route_queue is None:
            route_queue = self._route_queues[route.queue] = _RouteQueue(route)
        if len(route_queue.pending) >= route.max_pending:
            _FAILED.labels(route.queue, "overload").inc()
            raise NoConsumer("too many requests are waiting")
        loop = asyncio.get_running_loop()
        started = loop.time()
        call = _Call(request_id, request, started + limit, loop.create_future())
        route_queue.pending.append(call)
        self._pump_soon(route_queue)
        self._open.add(call)
        route_queue.open_calls += 1
        try:
            return reply.model_validate(await call.answer)
        except DeadlineExceeded:
            _FAILED.labels(route.queue, "timeout").inc()
            raise
        except (RpcFailed, Unavailable) as error:
            cause = error.failure.code if isinstance(error, RpcFailed) else "unavailable"
            _FAILED.labels(route.queue, cause).inc()
            raise
        finally:
            self._open.remove(call)
            route_queue.open_calls -= 1
            route_queue.latency.observe(loop.time() - started)

    def _pump_soon(self, route_queue: _RouteQueue) -> None:
        # On the next loop iteration, so that simultaneous calls share a message.
        if not route_queue.pump_is_due and route_queue.in_flight < route_queue.route.in_flight:
            route_queue.pump_is_due = True
            asyncio.get_running_loop().call_soon(self._pump, route_queue)

    def _pump(self, route_queue: _RouteQueue) -> None:
        route_queue.pump_is_due = False
        if route_queue.gathered < len(route_queue.pending) < route_queue.route.max_batch_size:
            # Calls arrived in this iteration, so wait for more: a message costs as much as ten.
            route_queue.gathered = len(route_queue.pending)
            self._pump_soon(route_queue)
            return
        route_queue.gathered = 0
        while route_queue.pending and route_queue.in_flight < route_queue.route.in_flight:
            calls = self._next_batch(route_queue)
            if calls:
                route_queue.in_flight += 1
                task = asyncio.create_task(self._exchange(route_queue, calls))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    def _next_batch(self, route_queue: _RouteQueue) -> list[_Call]:
        calls: list[_Call] = []
        while route_queue.pending and len(calls) < route_queue.route.max_batch_size:
            call = route_queue.pending.popleft()
            if not call.answer.done():  # expired, or cancelled by its caller
                calls.append(call)
        return calls

    async def _exchange(self, route_queue: _RouteQueue, calls: list[_Call]) -> None:
        """Sends one batch and distributes its results; every call gets a result or an exception."""
        queue = route_queue.route.queue
        try:
            route_queue.batch_size.observe(len(calls))
            with broker_calls():
                _hand_out(calls, await self._send(queue, calls))
        except DeadlineExceeded:
            pass  # each call has its own deadline, and the last of them has passed
        except DeliveryError:
            _fail(calls, NoConsumer(f"nobody serves {queue}, or it is full"))
        except BrokerUnavailable as error:
            _fail(calls, error)
        except (asyncio.CancelledError, Undecodable) as error:
            _fail(
                calls, BrokerUnavailable("the connection was closed while a request was under way")
            )
            if isinstance(error, Undecodable):
                log.error("rpc.undecodable_reply", queue=queue, reason=str(error))
            else:
                raise
        finally:
            route_queue.in_flight -= 1
            self._pump_soon(route_queue)

    async def _send(self, queue: str, calls: list[_Call]) -> bytes:
        channel, reply_queue = self._requests.channel, self._replies.queue
        if channel is None or reply_queue is None:
            raise BrokerUnavailable("the broker cannot be reached")
        loop = asyncio.get_running_loop()
        now = loop.time()
        last = max(call.deadline for call in calls)
        correlation_id = self._new_id()
        message = Message(
            encode_requests(
                [
                    (call.request_id, int((call.deadline - now) * 1000), call.request)
                    for call in calls
                ]
            ),
            message_id=correlation_id,
            correlation_id=correlation_id,
            reply_to=reply_queue,
            # The broker drops expired requests.
            expiration=max(last - now, 0.001),
            delivery_mode=DeliveryMode.NOT_PERSISTENT,
        )
        answer: asyncio.Future[bytes] = loop.create_future()
        self._sent[correlation_id] = answer
        try:
            async with asyncio.timeout_at(last):
                async with self._requests.publishing.within(None):
                    await channel.default_exchange.publish(message, queue, mandatory=True)
                return await answer
        except TimeoutError:
            if loop.time() < last:
                raise BrokerUnavailable("the connection was given up") from None
            raise DeadlineExceeded from None
        finally:
            del self._sent[correlation_id]

    def _take(self, message: AbstractIncomingMessage | None) -> None:
        if message is None:  # the reply queue is gone, and with it every reply in transit
            for waiting in self._sent.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError("the reply queue is gone"))
            return
        answer = self._sent.get(message.correlation_id or "")
        if answer is None or answer.done():
            _LATE.inc()
        else:
            answer.set_result(message.body)


def _hand_out(calls: list[_Call], body: bytes) -> None:
    results = decode_results(body)
    if len(results) != len(calls):
        raise Undecodable(f"{len(calls)} requests got {len(results)} results")
    for call, (failure, reply) in zip(calls, results, strict=True):
        if call.answer.done():
            continue
        if failure is not None:
            call.answer.set_exception(RpcFailed(failure))
        else:
            call.answer.set_result(reply or {})


def _fail(calls: list[_Call], error: Exception) -> None:
    for call in calls:
        if not call.answer.done():
            call.answer.set_exception(error)


class _Requests:
    """The channel for requests."""

    def __init__(self, link: SupervisedConnection) -> None:
        self.link = link
        self.channel: AbstractChannel | None = None
        self.publishing = Publishing()

    async def attach(self, connection: AbstractConnection) -> None:
        self.channel = await self.link.open_channel(connection, confirms=True)

    def detach(self) -> None:
        self.channel = None
        self.publishing.give_up()


class _Replies:
    """The exclusive reply queue."""

    def __init__(
        self, link: SupervisedConnection, take: Callable[[AbstractIncomingMessage | None], None]
    ) -> None:
        self.link = link
        self.queue: str | None = None
        self._channel: AbstractChannel | None = None
        self._take = take

    async def attach(self, connection: AbstractConnection) -> None:
        self._channel = await self.link.open_channel(connection, confirms=False)
        queue = await self._channel.declare_queue(
            exclusive=True, auto_delete=True, timeout=CONNECT_TIMEOUT
        )

        async def take(message: AbstractIncomingMessage) -> None:
            self._take(message)

        await queue.consume(take, no_ack=True, timeout=CONNECT_TIMEOUT)
        self.queue = queue.name

    def detach(self) -> None:
        self.queue = self._channel = None
        self._take(None)


@asynccontextmanager
async def rpc_client(
    publishing: SupervisedConnection, consuming: SupervisedConnection, *, new_id: Callable[[], str]
) -> AsyncIterator[RpcClient]:
    client = RpcClient(publishing, consuming, new_id=new_id)
    await client.open()
    try:
        yield client
    finally:
        await client.close()
