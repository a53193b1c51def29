"""RPC client: calls with their deadlines."""

import asyncio
from collections.abc import Sequence
from typing import Self, TypeVar

from common.contracts.contract import Contract
from common.contracts.failures import NEUTRAL
from common.messaging.connection import SupervisedConnection
from common.messaging.rpc import Call, RpcFailed, deadline_exceeded, fail_all, unavailable
from common.messaging.rpc_batches import BatchSender
from common.messaging.rpc_links import PROBE, QUESTION
from common.messaging.rpc_routes import FAILED, Route
from common.runtime import tracing

C = TypeVar("C", bound=Contract)

#: Seconds between checks for expired calls.
TICK = 0.02


class RpcClient:
    """Calls over one connection or several, each to another node of the broker.

    Each server has a queue of its own at each node that it is connected to (ADR 0037). The client
    asks for these queues through the exchange of the request queue, which has the request queue's
    name and routes to all of them.

    A call is sent again when its connection, its server or a node between them is lost or falls
    silent, and asked of a second server when it takes unusually long (ADR 0048). Calls wait while
    there is no connection or no server, but fail at once after `OUTAGE` seconds of that.
    """

    def __init__(self, *connections: SupervisedConnection, queues: Sequence[str]) -> None:
        self._batches = BatchSender(connections, queues)
        self._calls: dict[Call, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tick_at = 0.0

    async def __aenter__(self) -> Self:
        await self._batches.links.attach()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Fails the calls whose replies can no longer arrive."""
        self._batches.links.close()
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
        if self._batches.links.are_down(started):
            raise unavailable("broker_unavailable")
        route_queue = self._batches.route_queue(route)
        overload = route_queue.overload(call.client)
        if overload is not None:
            raise unavailable(overload)
        self._calls[call] = None
        self._expect(loop)
        route_queue.pending.append(call)
        route_queue.open_calls += 1
        route_queue.recent.called()
        if route_queue.open_calls == 1:
            self._batches.send_pending(
                route_queue
            )  # no other call that it could share a message with
        else:
            self._batches.pump_soon(route_queue)
        try:
            return await call.answer
        finally:
            del self._calls[call]
            route_queue.open_calls -= 1
            route_queue.latency.observe(loop.time() - started)

    async def is_served(self, route: Route) -> bool:
        """Returns whether a server of the route answers a question now."""
        clock, route_queue = asyncio.get_running_loop().time, self._batches.route_queue(route)
        asked_at = clock()
        self._batches.ask(route_queue)
        while route_queue.introduced_at < asked_at and clock() < asked_at + QUESTION:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(TICK)
        return route_queue.introduced_at >= asked_at

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
        self._batches.end_outage()
        is_waiting = self._batches.check(now, stood_still=now - self._tick_at >= PROBE / 2)
        if self._calls or is_waiting:
            self._expect(loop)

    def _end_expired(self, calls: Sequence[Call]) -> None:
        """Fails calls without a reply in time, as unavailable if nothing could take them."""
        if calls and self._batches.links.best() is None:
            fail_all(calls, unavailable("broker_unavailable"))
        for route_queue in self._batches.route_queues.values() if calls else ():
            if not route_queue.servers:
                unserved = [call for call in calls if call in route_queue.pending]
                fail_all(unserved, unavailable("no_consumer"))
        fail_all(calls, deadline_exceeded())
