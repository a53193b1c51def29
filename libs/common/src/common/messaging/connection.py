"""Supervised AMQP connection: reconnects, and restores everything attached to it.

aio-pika's robust connection restores channels, queues and consumers one by one, each with traps of
its own (an exclusive queue that cannot be consumed again, channels without a reference, a fixed
interval that reconnects all processes together). Here a lost connection is discarded, and every
attachment opens its channel and declares its queues and consumers anew.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any, Protocol

import aio_pika
import aiormq.exceptions
import structlog
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractQueue
from aio_pika.exceptions import DeliveryError
from prometheus_client import Counter, Gauge

from common.contracts.failures import Unavailable
from common.messaging.rpc import ContentChannel
from common.messaging.transport import ContentTransport, Nodes
from common.runtime.tasks import background, delays

#: Exceptions of the libraries when the broker is unavailable, refuses, or closes a channel.
_BROKER_ERRORS = (aiormq.exceptions.AMQPError, OSError, TimeoutError, RuntimeError)

#: Declares over a channel, within a timeout in seconds.
Declaration = Callable[[AbstractChannel, float | None], Awaitable[object]]

log = structlog.get_logger()


class BrokerUnavailable(Unavailable):
    """The broker cannot be reached, or did not take a message in time."""


@contextmanager
def broker_calls() -> Iterator[None]:
    """Raise BrokerUnavailable for every error that the libraries raise when a broker call fails.

    Only an unroutable message keeps its own exception, aio_pika's DeliveryError.
    """
    try:
        yield
    except (DeliveryError, BrokerUnavailable):
        raise
    except _BROKER_ERRORS as error:
        _stay_cancelled(error)
        # Clients see this message; the library's, which names hosts and queues, stays internal.
        log.debug("broker.call_failed", reason=repr(error))
        raise BrokerUnavailable("the broker cannot be reached") from error
    except Exception as error:
        # aiormq fails calls in flight with a bare Exception when it is closed without a reason.
        if type(error) is not Exception:
            raise
        _stay_cancelled(error)
        raise BrokerUnavailable("the connection was closed") from error


def reason_of(error: BrokerUnavailable) -> str:
    """Returns the reason for the log, with the library's own error if there is one."""
    return str(error) if error.__cause__ is None else f"{error}: {error.__cause__!r}"


def _stay_cancelled(error: Exception) -> None:
    """Raises CancelledError when it caused the library's error.

    aiormq replaces it when its connection is lost at the same time. A caller that retries after
    an error would otherwise never be cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


#: Seconds to connect, and for one attachment to open its channel and declare its queues.
CONNECT_TIMEOUT = 5.0
#: Seconds between heartbeats: a silent loss of the broker is detected within three.
HEARTBEAT = 10

#: Seconds between checks whether the broker blocks a connection, and whether it still has the next
#: of the connection's own queues: it loses all queues of a node together, and calls wait for it.
FLOW_INTERVAL = 0.1
QUEUE_INTERVAL = 0.25
#: Seconds between two checks of what an operator may delete while connections stay up, and how many
#: of them until all of it is declared again: every node of a cluster takes part in a binding.
DECLARE_INTERVAL = 5.0
DECLARE_ALL = 12

_UP = Gauge("broker_connection_up", "Whether a connection is usable", ["connection"])
_LOST = Counter("broker_connections_lost_total", "Connections that were lost", ["connection"])


class Attachment(Protocol):
    """A set of channels, queues or consumers on a connection."""

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens channel, queues and consumers on a new connection."""

    def detach(self) -> None:
        """Drops them: the connection is lost."""


class SupervisedConnection:
    """A connection that is restored after a loss; `ready` while every attachment is on it."""

    def __init__(self, url: str, *, name: str, random: Random, nodes: Nodes | None = None) -> None:
        self._url = url
        self._nodes = nodes or Nodes(random)
        self._random = random
        self._attachments: list[Attachment] = []
        self._connection: AbstractConnection | None = None
        self._lost: asyncio.Future[str] | None = None
        self._attached = asyncio.Event()
        self._blocked = False
        self._transport = ContentTransport(self._nodes)
        self._own_queues: dict[str, AbstractChannel] = {}
        self._declarations: dict[str, tuple[Declaration, str | None]] = {}
        self.name = name
        _LOST.labels(name)  # Prometheus sees no increase in a counter's first sample

    @property
    def ready(self) -> bool:
        """True while the connection is open and every attachment is on it."""
        return self._attached.is_set()

    @property
    def is_blocked(self) -> bool:
        """True from when the broker blocks the connection until a new one accepts messages."""
        return self._blocked

    async def health(self) -> str | None:
        """Checks the connection; returns None, or a message."""
        if self.ready:
            return None
        blocked = "blocked by the broker, which is short of a resource"
        return blocked if self._blocked else "not connected"

    async def add(self, attachment: Attachment) -> None:
        """Adds an attachment, now if there is a connection, and again on each new one."""
        self._attachments.append(attachment)
        if self.ready and self._connection is not None:
            try:
                with broker_calls():
                    await _attach(attachment, self._connection)
            except BrokerUnavailable as error:
                self.lost(f"an attachment failed: {reason_of(error)}")

    def remove(self, attachment: Attachment) -> None:
        """Removes an attachment: later connections do without it."""
        self._attachments.remove(attachment)

    def lost(self, reason: str) -> None:
        """Reports a failure on the connection, which is then replaced."""
        if self._lost is not None and not self._lost.done():
            self._attached.clear()
            self._lost.set_result(reason)

    async def open_channel(
        self, connection: AbstractConnection, *, confirms: bool
    ) -> AbstractChannel:
        """A channel; when the broker closes it or cancels a consumer, the connection is renewed."""
        channel = connection.channel(publisher_confirms=confirms, on_return_raises=confirms)
        await channel.initialize(timeout=CONNECT_TIMEOUT)
        channel.close_callbacks.add(lambda _channel, error: self.lost(f"channel closed: {error}"))
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(
            lambda _frame: self.lost("the broker cancelled a consumer")
        )
        return channel

    async def declare_own_queue(
        self, channel: AbstractChannel, arguments: Mapping[str, Any] | None = None
    ) -> AbstractQueue:
        """Declares an exclusive queue; the connection is renewed when the broker has lost it.

        RabbitMQ 4.0 may forget queues of a healthy node, with their bindings, after a partition of
        another one, while their consumers remain and receive nothing.
        """
        queue = await channel.declare_queue(
            exclusive=True,
            auto_delete=True,
            arguments=None if arguments is None else dict(arguments),
            timeout=CONNECT_TIMEOUT,
        )
        self._own_queues[queue.name] = channel
        return queue

    async def declare(
        self,
        name: str,
        channel: AbstractChannel,
        declaration: Declaration,
        *,
        exchange: str | None = None,
    ) -> None:
        """Declares the exchanges and bindings of a queue, now and every few seconds.

        Without a binding that somebody has deleted, a queue receives nothing, though every
        connection is up. With `exchange`, only that is looked for so often, and the idempotent
        `declaration` is repeated each minute and where it is missing.
        """
        await declaration(channel, CONNECT_TIMEOUT)
        self._declarations[name] = declaration, exchange

    def disown_queue(self, name: str) -> None:
        """The queue may be deleted from now on."""
        self._own_queues.pop(name, None)
        self._declarations.pop(name, None)

    async def content_of(self, channel: AbstractChannel) -> ContentChannel:
        """The messages of a channel that `open_channel` opened, to be read and written directly."""
        return await self._transport.content_of(channel)

    async def run(self) -> None:
        """Connects, and connects again after each loss, until cancelled."""
        waits = delays(self._random)
        said = False
        while True:
            try:
                with broker_calls():
                    reason = await self._connected_once()
                waits = delays(self._random)
                said = False
                _LOST.labels(self.name).inc()
                log.warning("broker.lost", connection=self.name, reason=reason)
            except BrokerUnavailable as error:
                if not said:
                    log.warning("broker.unavailable", connection=self.name, reason=reason_of(error))
                    said = True
            await asyncio.sleep(next(waits))

    async def _connected_once(self) -> str:
        self._transport = ContentTransport(self._nodes)
        try:
            return await self._connected_over(self._transport)
        finally:
            self._transport.leave()

    async def _connected_over(self, transport: ContentTransport) -> str:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            connection = aio_pika.Connection(
                aio_pika.connection.make_url(self._url, heartbeat=HEARTBEAT),
                client_properties={"connection_name": self.name},
            )
            connection.kwargs["transport_factory"] = transport
            await connection.connect()
        self._connection = connection
        self._lost = asyncio.get_running_loop().create_future()
        connection.close_callbacks.add(lambda _connection, error: self.lost(repr(error)))
        try:
            if self._blocked:
                await self._until_unblocked(connection, self._lost)
            for attachment in self._attachments:
                await _attach(attachment, connection)
            self._attached.set()
            _UP.labels(self.name).set(1)
            log.info("broker.connected", connection=self.name)
            return await self._until_lost(connection, self._lost)
        finally:
            self._attached.clear()
            self._own_queues.clear()
            self._declarations.clear()
            _UP.labels(self.name).set(0)
            for attachment in self._attachments:
                attachment.detach()
            await _close(connection)

    async def _until_lost(self, connection: AbstractConnection, lost: asyncio.Future[str]) -> str:
        """The reason why the connection is no longer usable.

        A connection blocked by the broker, as under a resource alarm, counts as lost.
        """
        async with background(
            _repeat(QUEUE_INTERVAL, self._check_own_queue, lost),
            self._declare_again(connection),
        ):
            while not lost.done():
                if not await _is_unblocked(connection):
                    self._blocked = True
                    return "blocked by the broker"
                # The checks are not waited for: a broker that blocks the connection now does not
                # answer them.
                await asyncio.wait((lost,), timeout=FLOW_INTERVAL)
        return lost.result()

    async def _check_own_queue(self) -> None:
        if self._own_queues:
            name, channel = next(iter(self._own_queues.items()))
            self._own_queues[name] = self._own_queues.pop(name)  # the last to be checked again
            await channel.declare_queue(name, passive=True, timeout=CONNECT_TIMEOUT)

    async def _declare_again(self, connection: AbstractConnection) -> None:
        """Repeats the declarations, over a channel of its own and without a timeout.

        While one node of the broker hangs, others do not answer a binding. Nothing may wait for it,
        and a call that is cancelled closes its channel.
        """
        channel: AbstractChannel | None = None
        # At different moments in different processes.
        left = self._random.randint(1, DECLARE_ALL)
        while True:
            await asyncio.sleep(DECLARE_INTERVAL)
            left = DECLARE_ALL if left == 0 else left - 1
            try:
                with broker_calls():
                    if channel is None or channel.is_closed:
                        channel = connection.channel(publisher_confirms=False)
                        await channel.initialize()
                    for declaration, exchange in list(self._declarations.values()):
                        if exchange is None or left == 0:
                            await declaration(channel, None)
                        else:
                            # Known to the node that is asked. A missing one closes the channel.
                            await channel.get_exchange(exchange)
            except BrokerUnavailable as error:
                log.info("broker.declaring_again", connection=self.name, reason=reason_of(error))
                left = 1

    async def _until_unblocked(
        self, connection: AbstractConnection, lost: asyncio.Future[str]
    ) -> None:
        """Waits until the broker accepts messages.

        A new connection is blocked only by its first message, so one without a receiver is sent.
        That one is still taken and confirmed; the question after it is answered when the broker
        reads again. Heartbeats bound the wait. Raises BrokerUnavailable if the connection ends.
        """
        channel = connection.channel(publisher_confirms=False)
        await channel.initialize(timeout=CONNECT_TIMEOUT)
        await channel.default_exchange.publish(
            aio_pika.Message(b""), "", mandatory=False, timeout=CONNECT_TIMEOUT
        )
        question = asyncio.ensure_future(channel.set_qos())
        try:
            await asyncio.wait((question, lost), return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                raise BrokerUnavailable("the connection was lost while the broker blocked it")
            await question
        finally:
            question.cancel()
            await asyncio.wait((question,))
        await channel.close()
        self._blocked = False


async def _repeat(
    seconds: float, check: Callable[[], Awaitable[None]], lost: asyncio.Future[str]
) -> None:
    while not lost.done():
        await asyncio.sleep(seconds)
        try:
            with broker_calls():
                await check()
        except BrokerUnavailable as error:
            if not lost.done():
                lost.set_result(f"a check of what it declared: {reason_of(error)}")


async def _is_unblocked(connection: AbstractConnection) -> bool:
    # aiormq has no callback for it, but its `ready()` returns immediately unless it is blocked.
    transport = connection.transport
    if transport is None:
        return True
    try:
        async with asyncio.timeout(0):
            await transport.connection.ready()
    except TimeoutError:
        return False
    return True


async def _attach(attachment: Attachment, connection: AbstractConnection) -> None:
    async with asyncio.timeout(CONNECT_TIMEOUT):
        await attachment.attach(connection)


async def _close(connection: AbstractConnection) -> None:
    try:
        with broker_calls():
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await connection.close()
    except BrokerUnavailable as error:
        log.debug("broker.close_failed", reason=reason_of(error))


@asynccontextmanager
async def supervised(
    url: str, *, name: str, random: Random, nodes: Nodes | None = None
) -> AsyncIterator[SupervisedConnection]:
    """A supervised connection during the body; it may not be connected when the body starts."""
    connection = SupervisedConnection(url, name=name, random=random, nodes=nodes)
    _UP.labels(name).set(0)
    async with background(connection.run()):
        yield connection


@asynccontextmanager
async def supervised_apart(
    url: str, *, name: str, random: Random
) -> AsyncIterator[tuple[SupervisedConnection, SupervisedConnection]]:
    """Two supervised connections, to different nodes if the host of the URL has several."""
    nodes = Nodes(random)
    async with (
        supervised(url, name=f"{name}-1", random=random, nodes=nodes) as first,
        supervised(url, name=f"{name}-2", random=random, nodes=nodes) as second,
    ):
        yield first, second


async def health_of(connections: Sequence[SupervisedConnection]) -> str | None:
    """Checks connections of which one is enough; returns None, or a message."""
    messages = [await connection.health() for connection in connections]
    return None if None in messages else messages[0]
