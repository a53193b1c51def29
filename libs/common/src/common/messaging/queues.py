"""Exchanges and queues as data, their declaration and depths; dead letters, for commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import aio_pika
from aio_pika import DeliveryMode, ExchangeType, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, HeadersType
from aio_pika.exceptions import ChannelNotFoundEntity, DeliveryError, QueueEmpty

from common.messaging.connection import (
    CONNECT_TIMEOUT,
    BrokerUnavailable,
    SupervisedConnection,
    broker_calls,
)


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable queue. Its arguments can never change, so what varies is in its name."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    #: The topic exchange whose messages it gets, all of them.
    exchange: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Exchanges and queues that must exist before publishing or consuming."""

    topic_exchanges: tuple[str, ...] = ()
    queues: tuple[Queue, ...] = ()


async def declare(channel: AbstractChannel, timeout: float | None, topology: Topology) -> None:
    """Declares everything, durably, each within `timeout` seconds; idempotent."""
    for name in topology.topic_exchanges:
        await channel.declare_exchange(name, ExchangeType.TOPIC, durable=True, timeout=timeout)
    for queue in topology.queues:
        declared = await channel.declare_queue(
            queue.name, durable=True, arguments=queue.arguments, timeout=timeout
        )
        if queue.exchange is not None:
            await declared.bind(queue.exchange, "#", timeout=timeout)


#: Messages in a queue from which on it counts as slow: none is lost, so none is published again.
LONG_QUEUE: Final = 500


class QueueDepths:
    """Queries the broker over its own channel."""

    def __init__(self, connection: SupervisedConnection, *, topology: Topology) -> None:
        self._supervised = connection
        self._topology = topology
        self._channel: AbstractChannel | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        """Opens the channel and declares the queues."""
        channel = await self._supervised.open_channel(connection, confirms=False)
        # A passive declare of a missing queue would close the channel.
        await declare(channel, CONNECT_TIMEOUT, self._topology)
        self._channel = channel

    def detach(self) -> None:
        """Drops the channel."""
        self._channel = None

    async def ready(self, queue: str) -> int:
        """Messages not delivered to a consumer yet; raises BrokerUnavailable."""
        if self._channel is None:
            raise BrokerUnavailable("the broker cannot be reached")
        with broker_calls():
            declared = await self._channel.declare_queue(
                queue, durable=True, passive=True, timeout=CONNECT_TIMEOUT
            )
        return declared.declaration_result.message_count or 0


@dataclass(frozen=True, slots=True)
class QueueState:
    """The messages and consumers of a queue."""

    #: Messages not delivered to a consumer yet.
    ready: int
    consumers: int


class QueueProbe:
    """Inspects queues that other services declare; it declares none itself."""

    def __init__(self) -> None:
        self._connection: AbstractConnection | None = None

    async def attach(self, connection: AbstractConnection) -> None:
        """Keeps the connection, on which each query opens a channel."""
        self._connection = connection

    def detach(self) -> None:
        """Drops the connection."""
        self._connection = None

    async def state(self, queue: str) -> QueueState | None:
        """Returns the state of a queue; None when it does not exist. Raises BrokerUnavailable."""
        if self._connection is None:
            raise BrokerUnavailable("the broker cannot be reached")
        # A separate channel: the broker closes it when the queue does not exist.
        channel = self._connection.channel(publisher_confirms=False)
        with broker_calls():
            await channel.initialize(timeout=CONNECT_TIMEOUT)
            try:
                declared = await channel.declare_queue(
                    queue, durable=True, passive=True, timeout=CONNECT_TIMEOUT
                )
            except ChannelNotFoundEntity:
                return None
            finally:
                await channel.close()
        result = declared.declaration_result
        return QueueState(result.message_count or 0, result.consumer_count or 0)


#: A letter that was returned this often is replaced by a copy, whose count begins again: RabbitMQ 4
#: deletes a message of this queue when it is returned for the 20th time.
_RENEWED = 10


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead-lettered message."""

    message_id: str
    #: The queue that it failed in; empty when the broker does not report it.
    queue: str
    #: The broker's reason for it: `delivery_limit`, `rejected`, …
    reason: str
    died_at: datetime | None
    body: bytes


class DeadLetters:
    """One queue of dead letters. Every method may raise BrokerUnavailable."""

    def __init__(self, channel: AbstractChannel, queue: str) -> None:
        self._channel = channel
        self._queue = queue

    async def look(self, *, limit: int) -> list[DeadLetter]:
        """Returns the oldest letters; they stay in the queue."""
        with broker_calls():
            taken = [message async for message in self._take(limit)]
            for message in taken:
                await self._give_back(message)
        return [_letter(message) for message in taken]

    async def requeue(self, *, limit: int, message_id: str | None = None) -> int:
        """Moves letters back to the queues that they failed in; returns the number."""
        return await self._settle(limit, message_id, put_back=True)

    async def drop(self, *, limit: int, message_id: str | None = None) -> int:
        """Deletes letters; returns the number."""
        return await self._settle(limit, message_id, put_back=False)

    async def _settle(self, limit: int, message_id: str | None, *, put_back: bool) -> int:
        done, others = 0, []
        with broker_calls():
            async for message in self._take(limit):
                letter = _letter(message)
                if message_id not in (None, letter.message_id) or (put_back and not letter.queue):
                    others.append(message)
                    continue
                if put_back:
                    # Without headers: by the old ones the broker would see a cycle, and drop it.
                    await self._publish(letter, letter.queue)
                await message.ack()
                done += 1
            for message in others:
                await self._give_back(message)
        return done

    async def _give_back(self, message: AbstractIncomingMessage) -> None:
        returned = message.headers.get("x-delivery-count", 0)
        if not isinstance(returned, int) or returned < _RENEWED:
            await message.nack(requeue=True)
            return
        deaths = {"x-death": message.headers.get("x-death")}
        await self._publish(_letter(message), self._queue, headers=deaths)
        await message.ack()

    async def _publish(
        self, letter: DeadLetter, queue: str, *, headers: HeadersType | None = None
    ) -> None:
        fresh = Message(
            letter.body,
            headers=headers,
            message_id=letter.message_id,
            delivery_mode=DeliveryMode.PERSISTENT,
            content_type="application/json",
        )
        try:
            await self._channel.default_exchange.publish(
                fresh, queue, mandatory=True, timeout=CONNECT_TIMEOUT
            )
        except DeliveryError:
            raise BrokerUnavailable(f"the queue {queue} does not take messages") from None

    async def _take(self, limit: int) -> AsyncIterator[AbstractIncomingMessage]:
        queue = await self._channel.get_queue(self._queue, ensure=False)
        for _ in range(limit):
            try:
                yield await queue.get(timeout=CONNECT_TIMEOUT)
            except QueueEmpty:
                return


@asynccontextmanager
async def dead_letters(url: str, queue: Queue) -> AsyncIterator[DeadLetters]:
    """A separate connection during the body; raises BrokerUnavailable."""
    with broker_calls():
        connection = await aio_pika.connect(url, timeout=CONNECT_TIMEOUT)
    try:
        with broker_calls():
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
            await declare(channel, CONNECT_TIMEOUT, Topology(queues=(queue,)))
        yield DeadLetters(channel, queue.name)
    finally:
        await connection.close()


def _letter(message: AbstractIncomingMessage) -> DeadLetter:
    deaths = message.headers.get("x-death")
    death = deaths[0] if isinstance(deaths, list) and deaths else {}
    if not isinstance(death, dict):
        death = {}
    died_at = death.get("time")
    return DeadLetter(
        message_id=message.message_id or "",
        queue=str(death.get("queue", "")),
        reason=str(death.get("reason", "")),
        died_at=died_at if isinstance(died_at, datetime) else None,
        body=message.body,
    )
