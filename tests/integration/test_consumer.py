"""Consuming a queue: acked when processed, held during an outage, never lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import repeat
from random import Random
from typing import Any

import aio_pika
import pytest
import structlog.testing

from common.contracts.contract import TraceContext
from common.contracts.failures import Unavailable
from common.contracts.topology import DEAD_LETTERS_QUEUE, EVENTS_EXCHANGE, FAN_OUT_QUEUE
from common.messaging.connection import BrokerUnavailable, SupervisedConnection, supervised
from common.messaging.consumer import HOLD_TIMEOUT, MAX_TRIES, Consumer, attached
from common.messaging.publisher import Publisher, Unroutable
from common.messaging.queues import Queue, Topology
from common.runtime import tracing
from dispatcher.queues import delivery_topology
from tests.delivery.broker import NOWHERE, a_publisher, connections, until_bound
from tests.delivery.waiting import SOON, until_connected

pytestmark = pytest.mark.integration

DURABLE = {"x-queue-type": "quorum"}
TO_DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work.dead"}
TOPOLOGY = Topology(queues=(Queue("work", DURABLE | TO_DEAD), Queue("work.dead", DURABLE)))


@dataclass
class Worker:
    """Acts as each message says, and records it."""

    done: "asyncio.Queue[bytes]" = field(default_factory=asyncio.Queue)
    tries: int = 0
    #: A task for each time that the broker gave out a message.
    given_out: set[asyncio.Task[None] | None] = field(default_factory=set)
    tried_again: asyncio.Event = field(default_factory=asyncio.Event)
    tried_often: asyncio.Event = field(default_factory=asyncio.Event)
    away: bool = False
    traces: list[TraceContext | None] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, body: bytes) -> None:
        self.tries += 1
        self.traces.append(tracing.CURRENT.get())
        self.given_out.add(asyncio.current_task())
        self.started.set()
        if self.tries > 1:
            self.tried_again.set()
        if self.tries > MAX_TRIES:
            self.tried_often.set()
        if body == b"poison":
            raise ValueError("cannot be understood")
        if body == b"slow":
            await self.gate.wait()
        if self.away:
            raise Unavailable("the database cannot be reached")
        await self.done.put(body)

    async def next(self) -> bytes:
        async with asyncio.timeout(SOON):
            return await self.done.get()


@dataclass
class Broker:
    """A publisher, and what consumers need."""

    url: str
    connection: SupervisedConnection
    publisher: Publisher

    @asynccontextmanager
    async def consuming(
        self, worker: Worker, queue: str = "work", *, hold_timeout: float = HOLD_TIMEOUT
    ) -> AsyncIterator[None]:
        """The worker takes the messages of a queue during the body."""
        topology = TOPOLOGY if queue == "work" else delivery_topology()
        consumer = Consumer(
            self.connection,
            queue,
            worker,
            topology=topology,
            prefetch=10,
            random=Random(3),
            hold_timeout=hold_timeout,
        )
        async with attached(self.connection, consumer, drain_timeout=SOON):
            yield


@pytest.fixture(name="own")
async def _own(amqp_url: str) -> AsyncIterator[Broker]:
    async with connections(amqp_url, "publish", "consume") as (publishing, consuming):
        yield Broker(amqp_url, consuming, await a_publisher(publishing, TOPOLOGY))


async def waiting(own: Broker, queue: str, count: int) -> None:
    """Waits until so many messages are in the queue and with no consumer."""
    async with asyncio.timeout(SOON), await aio_pika.connect(own.url) as connection:
        channel = await connection.channel()
        while True:
            declared = await channel.declare_queue(queue, passive=True)
            if declared.declaration_result.message_count == count:
                return


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between two tries are short."""
    monkeypatch.setattr("common.messaging.consumer.delays", lambda _random: repeat(0.01))


async def test_a_message_is_acked_when_processed(own: Broker) -> None:
    worker = Worker()
    async with own.consuming(worker):
        await own.publisher.publish(b"event", routing_key="work")

        assert await worker.next() == b"event"
        await waiting(own, "work", 0)


async def test_a_message_is_processed_in_the_trace_that_it_was_published_in(own: Broker) -> None:
    worker = Worker()
    trace = TraceContext(f"00-{1:032x}-{2:016x}-01", "a=1")
    async with own.consuming(worker):
        for current in (trace, None):
            tracing.CURRENT.set(current)
            await own.publisher.publish(b"event", routing_key="work")
            await worker.next()

    assert worker.traces == [trace, None]


async def test_an_outage_holds_a_message_without_counting_a_delivery(own: Broker) -> None:
    worker = Worker(away=True)
    async with own.consuming(worker):
        await own.publisher.publish(b"event", routing_key="work")
        async with asyncio.timeout(SOON):
            await worker.tried_often.wait()
        worker.away = False

        assert await worker.next() == b"event"
        await waiting(own, "work.dead", 0)


async def test_a_message_held_beyond_the_timeout_is_requeued(own: Broker) -> None:
    worker = Worker(away=True)
    async with own.consuming(worker, hold_timeout=0):
        await own.publisher.publish(b"event", routing_key="work")

        await worker.tried_again.wait()
        worker.away = False
        assert await worker.next() == b"event"
    assert len(worker.given_out) > 1


async def test_processing_longer_than_the_hold_timeout_is_not_interrupted(own: Broker) -> None:
    worker = Worker()
    async with own.consuming(worker, hold_timeout=0):
        await own.publisher.publish(b"slow", routing_key="work")
        await worker.started.wait()
        asyncio.get_running_loop().call_soon(worker.gate.set)

        assert await worker.next() == b"slow"
    assert worker.tries == 1


async def test_a_message_that_always_fails_is_dead_lettered(own: Broker) -> None:
    worker = Worker()
    async with own.consuming(worker):
        await own.publisher.publish(b"poison", routing_key="work")
        await waiting(own, "work.dead", 1)
        await own.publisher.publish(b"event", routing_key="work")

        assert await worker.next() == b"event"
    assert worker.tries == MAX_TRIES + 1


async def test_a_shutdown_drains_messages_in_flight_and_consumes_no_more(own: Broker) -> None:
    worker = Worker()
    async with own.consuming(worker):
        await own.publisher.publish(b"slow", routing_key="work")
        await worker.started.wait()
        asyncio.get_running_loop().call_soon(worker.gate.set)

    assert worker.done.get_nowait() == b"slow"
    await own.publisher.publish(b"later", routing_key="work")
    await waiting(own, "work", 1)


async def test_an_outage_with_lost_connections_dead_letters_nothing(own: Broker) -> None:
    worker = Worker(away=True)
    with structlog.testing.capture_logs() as logs:
        async with own.consuming(worker, FAN_OUT_QUEUE):
            await until_connected(own.connection)
            await own.publisher.publish(b"event", routing_key=FAN_OUT_QUEUE)
            for number in range(1, 25):
                async with asyncio.timeout(SOON):
                    while len(worker.given_out) < number:
                        worker.started.clear()
                        await worker.started.wait()
                own.connection.lost("the test says so")
            worker.away = False

            assert await worker.next() == b"event"
            await waiting(own, DEAD_LETTERS_QUEUE, 0)
    assert "consumer.failed" not in {line["event"] for line in logs}


async def test_processing_survives_its_connection(own: Broker) -> None:
    worker = Worker()
    async with own.consuming(worker):
        await own.publisher.publish(b"slow", routing_key="work")
        await worker.started.wait()
        worker.started.clear()
        own.connection.lost("the test says so")
        await worker.started.wait()  # it was given out again, over a new connection
        worker.gate.set()

        assert [await worker.next(), await worker.next()] == [b"slow", b"slow"]
        await waiting(own, "work", 0)


async def test_a_consumer_restores_the_binding_of_its_queue(
    amqp_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("common.messaging.connection.DECLARE_INTERVAL", 0.05)
    async with (
        connections(amqp_url, "publish", "consume") as (publishing, consuming),
        await aio_pika.connect(amqp_url) as operator,
    ):
        own = Broker(amqp_url, consuming, await a_publisher(publishing))
        worker = Worker()
        async with own.consuming(worker, FAN_OUT_QUEUE):
            await (await operator.channel()).exchange_delete(EVENTS_EXCHANGE)

            await until_bound(operator, EVENTS_EXCHANGE)
            await own.publisher.publish(b"1", exchange=EVENTS_EXCHANGE, routing_key="dk.x")

            while await worker.next() != b"1":
                continue


async def test_an_unroutable_message_is_refused(own: Broker) -> None:
    with pytest.raises(Unroutable):
        await own.publisher.publish(b"event", routing_key="unbound")


async def test_concurrent_messages_arrive_whole_and_in_the_order_of_their_calls(
    own: Broker,
) -> None:
    messages = [b"%d " % number * (number % 7) * 9_000 + b"%d" % number for number in range(200)]

    await asyncio.gather(*(own.publisher.publish(one, routing_key="work") for one in messages))

    async with await aio_pika.connect(own.url) as client:
        queue = await (await client.channel()).get_queue("work")
        received = [await queue.get(timeout=SOON) for _ in messages]
    assert [message.body for message in received] == messages
    assert len({message.message_id for message in received}) == len(messages)
    assert {(one.delivery_mode, one.content_type) for one in received} == {(2, "application/json")}


async def test_only_the_refused_messages_of_a_burst_fail(own: Broker) -> None:
    """One queue is missing, and another takes a single message."""
    full: dict[str, Any] = {"x-max-length": 1, "x-overflow": "reject-publish"}
    queues = ("work", "unbound", "full", "work", "full", "unbound", "work")

    async with await aio_pika.connect(own.url) as client:
        await (await client.channel()).declare_queue("full", arguments=full)
        results = await asyncio.gather(
            *(own.publisher.publish(b"event", routing_key=queue) for queue in queues),
            return_exceptions=True,
        )

    refused = [isinstance(result, Unroutable) for result in results]
    assert refused == [False, True, False, False, True, True, False]


async def test_a_message_that_cannot_be_encoded_leaves_the_confirms_of_others_as_they_are(
    own: Broker,
) -> None:
    with pytest.raises(ValueError, match="bytes"):
        await own.publisher.publish(b"event", routing_key="long" * 100)

    with pytest.raises(Unroutable):
        await own.publisher.publish(b"event", routing_key="unbound")
    await own.publisher.publish(b"event", routing_key="work")


async def test_a_lost_connection_ends_every_wait_for_a_confirm(own: Broker) -> None:
    sent = [
        asyncio.ensure_future(own.publisher.publish(b"event", routing_key="work"))
        for _ in range(50)
    ]
    await asyncio.sleep(0)

    own.publisher.detach()
    results = await asyncio.gather(*sent, return_exceptions=True)

    assert {type(result) for result in results} == {BrokerUnavailable}


async def test_publishing_without_a_connection_fails_at_once() -> None:
    async with supervised(NOWHERE, name="publish", random=Random(1)) as connection:
        publisher = Publisher(connection, topology=TOPOLOGY, timeout=timedelta(seconds=SOON))

        with pytest.raises(BrokerUnavailable):
            await publisher.publish(b"event", routing_key="work")
