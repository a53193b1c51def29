"""Delivery tasks over RabbitMQ: at once or after their delay, never before."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import aio_pika
import pytest

from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DEAD_LETTERS_ARGUMENTS,
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    MAX_BATCH_SIZE,
    RETRIES_QUEUE,
    DeliveryTask,
    DeliveryTasks,
    delay_queue,
)
from common.messaging.connection import SupervisedConnection
from common.messaging.consumer import Consumer, attached
from common.messaging.publisher import Publisher
from common.messaging.queues import Queue, QueueDepths, Topology, dead_letters, declare
from common.runtime.tasks import running
from dispatcher.queues import DelayQueues, delivery_topology
from tests.builders.deliveries import a_task
from tests.delivery.broker import a_publisher, connections
from tests.delivery.waiting import SOON, eventually

pytestmark = pytest.mark.integration

SHORT, LONG = timedelta(milliseconds=300), timedelta(seconds=1)
DELAYS = (SHORT, LONG)
DEAD = Queue(DEAD_LETTERS_QUEUE, DEAD_LETTERS_ARGUMENTS)


@dataclass
class Inbox:
    """Takes wake-ups, and notes when they came."""

    tasks: list[tuple[DeliveryTask, float]] = field(default_factory=list)
    messages: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, body: bytes) -> None:
        if body == b"poison":
            raise ValueError("cannot be understood")
        async with self._changed:
            self.messages += 1
            now = time.monotonic()
            self.tasks += [(task, now) for task in DeliveryTasks.model_validate_json(body).tasks]
            self._changed.notify_all()

    async def until(self, count: int) -> list[tuple[DeliveryTask, float]]:
        async with asyncio.timeout(SOON), self._changed:
            await self._changed.wait_for(lambda: len(self.tasks) >= count)
        return self.tasks


@dataclass
class Broker:
    url: str
    delivery_queue: DelayQueues
    publisher: Publisher
    depths: QueueDepths
    connection: SupervisedConnection
    stack: AsyncExitStack

    async def until_dead(self, count: int) -> None:
        """Returns once there are so many dead letters."""
        await eventually(lambda: self.depths.ready(DEAD_LETTERS_QUEUE), lambda dead: dead == count)

    async def inbox(self, queue: str) -> Inbox:
        inbox = Inbox()
        consumer = Consumer(
            self.connection,
            queue,
            inbox,
            topology=delivery_topology(DELAYS),
            prefetch=10,
            random=Random(2),
        )
        await self.stack.enter_async_context(
            attached(self.connection, consumer, drain_timeout=SOON)
        )
        return inbox


@pytest.fixture(name="own")
async def _own(amqp_url: str) -> AsyncIterator[Broker]:
    async with connections(amqp_url, "test") as [connection], AsyncExitStack() as stack:
        topology = delivery_topology(DELAYS)
        publisher = await a_publisher(connection, topology)
        depths = QueueDepths(connection, topology=topology)
        await connection.add(depths)
        delivery_queue = DelayQueues(publisher, depths, DELAYS, renew=connection.lost)
        await stack.enter_async_context(running(*delivery_queue.batchers))
        yield Broker(amqp_url, delivery_queue, publisher, depths, connection, stack)


async def test_first_attempts_and_retries_have_separate_queues(own: Broker) -> None:
    first, retries = await own.inbox(DELIVERIES_QUEUE), await own.inbox(RETRIES_QUEUE)

    await own.delivery_queue.enqueue([a_task(1)], retries=False)
    await own.delivery_queue.enqueue([a_task(2, attempt=2)], retries=True)

    assert [task for task, _ in await first.until(1)] == [a_task(1)]
    assert [task for task, _ in await retries.until(1)] == [a_task(2, attempt=2)]


async def test_tasks_enqueued_together_share_messages(own: Broker) -> None:
    inbox = await own.inbox(DELIVERIES_QUEUE)

    await own.delivery_queue.enqueue(
        [a_task(number) for number in range(MAX_BATCH_SIZE + 1)], retries=False
    )

    assert len(await inbox.until(MAX_BATCH_SIZE + 1)) == MAX_BATCH_SIZE + 1
    assert inbox.messages == 2


async def test_a_retry_arrives_after_its_delay_regardless_of_others(own: Broker) -> None:
    inbox = await own.inbox(RETRIES_QUEUE)
    started = time.monotonic()

    # The long one is first in line: in one queue the short one would wait behind it.
    await own.delivery_queue.schedule(a_task(1), after=LONG)
    await own.delivery_queue.schedule(a_task(2), after=SHORT)

    (short, short_at), (long, long_at) = await inbox.until(2)
    assert (short, long) == (a_task(2), a_task(1))
    assert short_at - started >= SHORT.total_seconds()
    assert long_at - started >= LONG.total_seconds()


async def test_retries_scheduled_together_share_messages(own: Broker) -> None:
    inbox = await own.inbox(RETRIES_QUEUE)

    await asyncio.gather(*(own.delivery_queue.schedule(a_task(n), after=SHORT) for n in range(50)))

    await inbox.until(50)
    assert inbox.messages < 50


async def test_waiting_messages_are_counted(own: Broker) -> None:
    await own.delivery_queue.enqueue(
        [a_task(number) for number in range(3 * MAX_BATCH_SIZE)], retries=False
    )
    await own.delivery_queue.enqueue([a_task(0)], retries=True)

    assert await eventually(own.delivery_queue.waiting, lambda waiting: waiting == 4) == 4


async def test_a_deleted_queue_is_declared_again(own: Broker) -> None:
    async with await aio_pika.connect(own.url) as connection:
        await (await connection.channel()).queue_delete(delay_queue(SHORT))

    with pytest.raises(Unavailable):
        await own.delivery_queue.schedule(a_task(), after=SHORT)
    await eventually(own.connection.health, lambda word: word is None)
    inbox = await own.inbox(RETRIES_QUEUE)
    await own.delivery_queue.schedule(a_task(), after=SHORT)

    assert [task for task, _ in await inbox.until(1)] == [a_task()]


@pytest.fixture(name="inbox")
async def _inbox(own: Broker) -> Inbox:
    """Its consumer never understands the message in the queue of dead letters."""
    inbox = await own.inbox(DELIVERIES_QUEUE)
    await own.publisher.publish(b"poison", routing_key=DELIVERIES_QUEUE)
    await own.until_dead(1)
    return inbox


@pytest.mark.usefixtures("inbox")
async def test_a_dead_letter_is_listed_with_its_queue_and_stays(own: Broker) -> None:
    async with dead_letters(own.url, DEAD) as letters:
        first, again = await letters.look(limit=10), await letters.look(limit=10)

    [letter] = first
    assert (letter.queue, letter.reason, letter.body) == (DELIVERIES_QUEUE, "rejected", b"poison")
    assert [one.message_id for one in again] == [letter.message_id]


async def test_listing_dead_letters_fifty_times_loses_none(own: Broker) -> None:
    # RabbitMQ 4 deletes a message that was returned as often; 3.10 does it where it is told to.
    letters_queue = Queue("letters", {"x-queue-type": "quorum", "x-delivery-limit": 20})
    expiring = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "letters"}
    work = Queue("work", {**expiring, "x-message-ttl": 0})
    async with await aio_pika.connect(own.url) as connection:
        await declare(await connection.channel(), SOON, Topology(queues=(letters_queue, work)))
    await own.publisher.publish(b"late", routing_key="work")
    await eventually(lambda: own.depths.ready("letters"), lambda depth: depth == 1)

    async with dead_letters(own.url, letters_queue) as letters:
        lists = [await letters.look(limit=10) for _ in range(50)]

    assert lists == [lists[0]] * 50
    assert [(letter.queue, letter.reason) for letter in lists[0]] == [("work", "expired")]


async def test_a_dead_letter_is_requeued(own: Broker, inbox: Inbox) -> None:
    good = DeliveryTasks(tasks=(a_task(),)).model_dump_json().encode()
    await own.publisher.publish(good, routing_key=DEAD_LETTERS_QUEUE)
    async with dead_letters(own.url, DEAD) as letters:
        done = await letters.requeue(limit=10)

    # The other did not die in any queue: there is none to put it back into.
    assert done == 1
    assert inbox.tasks == []
    await own.until_dead(2)


@pytest.mark.usefixtures("inbox")
async def test_one_dead_letter_is_dropped_and_the_others_stay(own: Broker) -> None:
    await own.publisher.publish(b"poison", routing_key=DELIVERIES_QUEUE)
    await own.until_dead(2)
    async with dead_letters(own.url, DEAD) as letters:
        first, second = await letters.look(limit=10)
        dropped = await letters.drop(limit=10, message_id=first.message_id)
        left = await letters.look(limit=10)

    assert dropped == 1
    assert [one.message_id for one in left] == [second.message_id]
