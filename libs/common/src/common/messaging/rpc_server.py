"""RPC server: batches of requests in, batches of results out."""

import asyncio
from collections import Counter as Counted
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import structlog
from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from prometheus_client import Counter, Histogram

from common.contracts.contract import Contract
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.messaging.connection import (
    CONNECT_TIMEOUT,
    BrokerUnavailable,
    SupervisedConnection,
    broker_calls,
)
from common.messaging.in_flight import InFlightHandlers
from common.messaging.rpc import Asked, Result, Undecodable, decode_requests, encode_results

C = TypeVar("C", bound=Contract)

#: Handles a batch of requests; returns one result for each.
Handler = Callable[[Sequence[Asked[C]]], Awaitable[Sequence[Result]]]

#: Maximum messages in a request queue; further ones are rejected, and the caller fails at once.
QUEUE_LIMIT = 500
#: Messages that one process handles concurrently.
PREFETCH = 8

_SECONDS = Histogram(
    "rpc_server_seconds",
    "Processing of one batch of requests",
    ["queue"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_REQUESTS = Counter("rpc_server_requests_total", "Requests by result", ["queue", "result"])

log = structlog.get_logger()


class RpcServer(Generic[C]):
    """Serves one request queue, which is deleted with its last consumer."""

    def __init__(
        self,
        link: SupervisedConnection,
        queue: str,
        kind: type[C],
        handler: Handler[C],
        *,
        prefetch: int = PREFETCH,
    ) -> None:
        self._link = link
        self._queue_name = queue
        self._kind = kind
        self._handler = handler
        self._prefetch = prefetch
        self._channel: AbstractChannel | None = None
        self._in_flight = InFlightHandlers(self._work)
        self._seconds = _SECONDS.labels(queue)

    async def attach(self, connection: AbstractConnection) -> None:
        channel = await self._link.open_channel(connection, confirms=False)
        await channel.set_qos(prefetch_count=self._prefetch, timeout=CONNECT_TIMEOUT)
        queue = await channel.declare_queue(
            self._queue_name,
            auto_delete=True,
            arguments={"x-max-length": QUEUE_LIMIT, "x-overflow": "reject-publish"},
            timeout=CONNECT_TIMEOUT,
        )
        self._channel = channel
        await self._in_flight.begin(queue)

    def detach(self) -> None:
        self._channel = None
        self._in_flight.forget()

    async def drain(self, grace: float) -> None:
        """Stops consuming, then waits at most `grace` seconds for running handlers."""
        await self._in_flight.drain(grace)

    async def _work(self, message: AbstractIncomingMessage) -> None:
        with self._seconds.time():
            await self._answer(message)

    async def _answer(self, message: AbstractIncomingMessage) -> None:
        loop = asyncio.get_running_loop()
        try:
            asked = decode_requests(message.body, self._kind, now=loop.time())
        except Undecodable as error:
            # The caller times out; no other consumer could decode it, so it is not requeued.
            log.error("rpc.undecodable_request", queue=self._queue_name, reason=str(error))
            results: Sequence[Result] = ()
        else:
            results = await self._results(asked)
        try:
            with broker_calls():
                if results and message.reply_to is not None:
                    await self._reply(message.reply_to, message.correlation_id, results)
                await message.ack()
        except BrokerUnavailable as error:
            log.debug("rpc.reply_failed", queue=self._queue_name, reason=str(error))

    async def _reply(
        self, queue: str, correlation_id: str | None, results: Sequence[Result]
    ) -> None:
        if self._channel is None:
            raise BrokerUnavailable("the connection was lost while the answer was made")
        reply = Message(
            encode_results(results),
            correlation_id=correlation_id,
            delivery_mode=DeliveryMode.NOT_PERSISTENT,
        )
        # The caller is gone and needs no reply.
        await self._channel.default_exchange.publish(
            reply, queue, mandatory=False, timeout=CONNECT_TIMEOUT
        )

    async def _results(self, asked: list[Asked[C]]) -> Sequence[Result]:
        last = max(item.deadline for item in asked)
        try:
            async with asyncio.timeout_at(last):
                results = await self._handler(asked)
        except TimeoutError:
            results = [_TIMED_OUT] * len(asked)
        except Unavailable as outage:
            results = [Failure(code=FailureCode.SERVICE_UNAVAILABLE, detail=str(outage))] * len(
                asked
            )
        except Exception:
            # The server survives any failed request: callers get the failure, the log the cause.
            log.exception(
                "rpc.failed", queue=self._queue_name, request_ids=[a.request_id for a in asked]
            )
            results = [_FAILED] * len(asked)
        words = Counted(r.code if isinstance(r, Failure) else "ok" for r in results)
        for word, count in words.items():
            _REQUESTS.labels(self._queue_name, word).inc(count)
        return results


_TIMED_OUT = Failure(code=FailureCode.LOOKUP_TIMEOUT, detail="the answer was not ready in time")
_FAILED = Failure(code=FailureCode.INTERNAL_ERROR, detail="an internal error")


@asynccontextmanager
async def serving(
    link: SupervisedConnection, server: RpcServer[C], *, drain_limit: float
) -> AsyncIterator[None]:
    """Serves during the body; leaving stops consuming first, then waits for running handlers."""
    await link.add(server)
    try:
        yield
    finally:
        await server.drain(drain_limit)
        link.remove(server)
