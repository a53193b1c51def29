"""RPC server: batches of requests in, batches of results out.

It alone turns an exception into a failure: a neutral code for the caller, the cause for the log.
"""

import asyncio
from collections import Counter as Counted
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar
from uuid import uuid4

import structlog
from aio_pika import ExchangeType
from aio_pika.abc import AbstractChannel, AbstractConnection
from prometheus_client import Counter, Gauge, Histogram

from common.contracts.contract import Contract
from common.contracts.failures import NEUTRAL, Failure, FailureCode, Unavailable
from common.contracts.topology import REQUESTS_ARGUMENTS
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumption, drained
from common.messaging.rpc import (
    NO_HEADERS,
    SERVER,
    Content,
    ContentChannel,
    Result,
    RpcRequest,
    Undecodable,
    decode_requests,
    encode_results,
    never,
)
from common.runtime import tracing

C = TypeVar("C", bound=Contract)

#: Handles requests together; returns a reply or a domain failure for each, in order.
Handler = Callable[[Sequence[C]], Awaitable[Sequence[Result]]]
#: Logs the results of a batch, which took so many seconds.
Report = Callable[[Sequence[RpcRequest[C]], Sequence[Result], float], None]

#: Messages that one process handles concurrently.
CONCURRENCY = 8
#: Messages that one process handles or holds; requests in further ones fail immediately.
MAX_HELD = 500
#: Bytes of a reply. For a longer message than `max_message_size`, by default 16 MiB, RabbitMQ 4
#: closes the channel, and each server that the requests are sent to again would lose its own.
MAX_REPLY = 15 * 1024 * 1024
#: Seconds, and at most this part of what is left, by which requests that share a message end before
#: their deadline, so that those that are done reach their callers in time.
_REPLY_TIME, _REPLY_PART = 0.1, 0.1
#: Seconds for a check of a dependency, between two of a lost one, and of one that nothing suspects.
_CHECK_TIMEOUT, _SOON, REGULARLY = 1.0, 0.1, 2.0

_SECONDS = Histogram(
    "rpc_server_batch_duration_seconds",
    "Processing of one batch of requests",
    ["queue"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
_REQUESTS = Counter("rpc_server_requests_total", "Requests by result", ["queue", "result"])
_HELD = Gauge(
    "rpc_server_messages_held", "Messages that are handled or wait for their turn", ["queue"]
)

log = structlog.get_logger()


def _sooner(deadline: float, now: float) -> float:
    return deadline - min(_REPLY_TIME, _REPLY_PART * max(0.0, deadline - now))


class _Listener:
    """The queue of a server on one connection."""

    def __init__(
        self,
        connection: SupervisedConnection,
        queue: str,
        take: Callable[[Content, "_Listener", ContentChannel], None],
    ) -> None:
        self.supervised = connection
        self.own_queue = ""
        self.consumption = Consumption()
        self._queue_name = queue
        self._take = take

    async def attach(self, connection: AbstractConnection) -> None:
        """Declares this process's queue, consumes it and binds it to the exchange."""
        channel = await self.supervised.open_channel(connection, confirms=False)
        queue = await self.supervised.declare_own_queue(channel, REQUESTS_ARGUMENTS)
        self.own_queue = queue.name

        async def bind(channel: AbstractChannel, timeout: float | None) -> None:
            exchange = await channel.declare_exchange(
                self._queue_name, ExchangeType.FANOUT, durable=True, timeout=timeout
            )
            own = await channel.get_queue(queue.name, ensure=False)
            await own.bind(exchange, timeout=timeout)

        content = await self.supervised.content_of(channel)
        content.take(delivered=lambda message: self._take(message, self, content))
        if await self.consumption.begin(queue, never, no_ack=True):
            await self.supervised.declare(queue.name, channel, bind, exchange=self._queue_name)

    def detach(self) -> None:
        """Forgets the requests in flight: no reply can be sent over a lost connection."""
        self.consumption.forget()

    async def stop(self) -> None:
        """Stops consuming for good."""
        self.supervised.disown_queue(self.own_queue)
        await self.consumption.stop()


class Dependency:
    """A dependency of RPC handlers, such as the database or a search index.

    It is checked when it starts, regularly, and after a handler has raised `Unavailable`, and is
    lost until a check succeeds. So a server refuses at once what it could only answer late. Rows of
    the table of faults: a lookup process that is cut off from the database, or that starts.
    """

    def __init__(
        self, check: Callable[[], Awaitable[object]], *, interval: float = REGULARLY
    ) -> None:
        """`check` raises `Unavailable` while the dependency cannot be reached."""
        self.is_lost = True
        self.suspected = asyncio.Event()
        self._check = check
        self._interval = interval

    async def run(self) -> None:
        """Checks the dependency, and a lost one until it answers; until cancelled."""
        while True:
            self.suspected.clear()
            self.is_lost = not await self._answers()
            if self.is_lost:
                await asyncio.sleep(_SOON)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self.suspected.wait()

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(_CHECK_TIMEOUT):
                await self._check()
        except (TimeoutError, Unavailable):
            return False
        except Exception:
            log.exception("rpc.check_failed")
            return False
        return True


class RpcServer(Generic[C]):
    """Serves a request queue, in an exclusive queue of this process on each of its connections.

    The broker passes every message on immediately and waits for no ack: one that is lost with this
    process, or with a node, is sent again by its client. The requests of a batch are handled
    together, and each alone if that raises; or, if they take different times or change something,
    each alone from the start (`together=False`). While one of the `dependencies` is lost, requests
    are refused immediately and questions of clients not answered: they prefer other servers.
    """

    def __init__(  # noqa: PLR0913 (a queue, its handler and its limits)
        self,
        connections: Sequence[SupervisedConnection],
        queue: str,
        kind: type[C],
        handler: Handler[C],
        *,
        report: Report[C],
        together: bool = False,
        concurrency: int = CONCURRENCY,
        dependencies: Sequence[Dependency] = (),
    ) -> None:
        self._queue_name = queue
        self._introduction: Mapping[str, str] = {SERVER: uuid4().hex}
        self._kind = kind
        self._handler = handler
        self._report = report
        self._together = together
        self._dependencies = dependencies
        self._turns = asyncio.Semaphore(concurrency)
        self._listeners = [_Listener(connection, queue, self._take) for connection in connections]
        self._handlers: set[asyncio.Task[None]] = set()
        _HELD.labels(queue).set_function(lambda: len(self._handlers))
        self._seconds = _SECONDS.labels(queue)

    @asynccontextmanager
    async def serving(self, *, drain_timeout: float) -> AsyncIterator[None]:
        """Serves during the body; leaving stops consuming, then waits for running handlers."""
        for listener in self._listeners:
            await listener.supervised.add(listener)
        try:
            yield
        finally:
            await asyncio.gather(*(listener.stop() for listener in self._listeners))
            await drained(self._handlers, drain_timeout)
            for listener in self._listeners:
                listener.supervised.remove(listener)

    def _take(self, message: Content, listener: "_Listener", channel: ContentChannel) -> None:
        overloaded = len(self._handlers) >= MAX_HELD
        work = self._work(message, channel, listener.own_queue, overloaded=overloaded)
        handler = asyncio.create_task(work)
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)

    async def _work(
        self, message: Content, channel: ContentChannel, own_queue: str, *, overloaded: bool
    ) -> None:
        started = asyncio.get_running_loop().time()
        try:
            asked = decode_requests(message.body, self._kind, now=started, headers=message.headers)
        except Undecodable as error:
            # The caller times out.
            log.error("rpc.undecodable_request", queue=self._queue_name, reason=str(error))
            return
        results: Sequence[Result] = ()
        refuses = any(dependency.is_lost for dependency in self._dependencies)
        if refuses and not asked:
            return
        if refuses:
            results = [Failure(code=FailureCode.UNAVAILABLE)] * len(asked)
        elif overloaded:
            log.warning("rpc.overload", **self._which(asked))
            results = [Failure(code=FailureCode.UNAVAILABLE)] * len(asked)
        elif asked:
            async with self._turns:
                results = await self._results(asked, started)
        # Without a connection the client sends the request again.
        with suppress(ConnectionError):
            body = self._encoded(asked, results)
            reply_to, headers = (None, NO_HEADERS) if asked else (own_queue, self._introduction)
            # Not mandatory: a caller that has ended needs no reply.
            channel.publish(
                Content(message.reply_to or "", message.correlation_id, reply_to, body, headers)
            )
        self._seconds.observe(asyncio.get_running_loop().time() - started)

    def _encoded(self, asked: Sequence[RpcRequest[C]], results: Sequence[Result]) -> bytes:
        body = encode_results(results)
        if len(body) <= MAX_REPLY:
            return body
        log.warning("rpc.reply_too_long", size=len(body), **self._which(asked))
        left, sent = MAX_REPLY, list(results)
        for number, result in enumerate(results):
            size = len(encode_results([result]))
            if size <= left:
                left -= size
            else:
                sent[number] = Failure(code=FailureCode.UNAVAILABLE)
        return encode_results(sent)

    async def _results(self, asked: Sequence[RpcRequest[C]], started: float) -> Sequence[Result]:
        results = await (self._attempt(asked) if self._together else self._each(asked))
        self._report(asked, results, asyncio.get_running_loop().time() - started)
        words = Counted(r.code if isinstance(r, Failure) else "ok" for r in results)
        for word, count in words.items():
            _REQUESTS.labels(self._queue_name, word).inc(count)
        return results

    async def _each(self, asked: Sequence[RpcRequest[C]]) -> Sequence[Result]:
        now = asyncio.get_running_loop().time()
        if len(asked) > 1:
            asked = [item._replace(deadline=_sooner(item.deadline, now)) for item in asked]
        results = await asyncio.gather(*(self._attempt([item]) for item in asked))
        return [result for (result,) in results]

    async def _attempt(self, asked: Sequence[RpcRequest[C]]) -> Sequence[Result]:
        queue, kind = self._queue_name, tracing.Kind.SERVER
        spans = [
            tracing.continued(queue, kind, queue, item.trace, request_id=item.request_id)
            for item in asked
        ]
        if len(asked) == 1:  # logs and further messages are about this one request
            [item], [span] = asked, spans
            tracing.REQUEST_ID.set(item.request_id)
            tracing.CURRENT.set(item.trace if span is None else span.context)
        results = await self._handled(asked)
        for span, result in zip(spans, results, strict=True):
            if span is not None:
                code = result.code if isinstance(result, Failure) else None
                span.end(error=code if code in NEUTRAL else None)
        return results

    async def _handled(self, asked: Sequence[RpcRequest[C]]) -> Sequence[Result]:
        try:
            async with asyncio.timeout_at(max(item.deadline for item in asked)):
                results = await self._handler([item.request for item in asked])
            if len(results) != len(asked):
                raise ValueError(f"{len(results)} results for {len(asked)} requests")
            return results
        except TimeoutError:
            code = FailureCode.DEADLINE_EXCEEDED
            log.warning("rpc.deadline_exceeded", **self._which(asked))
        except Unavailable as outage:
            # Not tried again one by one: the dependency is unavailable to each of them.
            code = FailureCode.UNAVAILABLE
            for dependency in self._dependencies:
                dependency.suspected.set()
            reason, cause = str(outage), repr(outage.__cause__)
            log.warning("rpc.unavailable", reason=reason, cause=cause, **self._which(asked))
        except Exception:
            log.exception("rpc.failed", **self._which(asked))
            if len(asked) > 1:
                return await self._each(asked)
            code = FailureCode.INTERNAL
        return [Failure(code=code)] * len(asked)

    def _which(self, asked: Sequence[RpcRequest[C]]) -> dict[str, object]:
        return {"queue": self._queue_name, "request_ids": [item.request_id for item in asked]}
