"""Outages and data loss of RabbitMQ delay deliveries and lose none."""

import asyncio

import aio_pika
import pytest

from common.contracts.topology import DEAD_LETTERS_QUEUE
from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


async def test_closed_connections_lose_and_repeat_nothing(
    pipe: Pipeline, broker_management: Management, own_vhost: str
) -> None:
    webhooks = await pipe.webhooks(["/a", "/b"])
    await pipe.dispatcher()
    events = [an_event(number) for number in range(60)]

    publishing = asyncio.create_task(pipe.publish(*events))
    for number in (20, 60):
        await pipe.receiver.until_count(number)
        await asyncio.to_thread(broker_management.close_connections, own_vhost)
    await publishing
    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded")

    assert set(pipe.receiver.counted().values()) == {2}
    assert await messages_in(DEAD_LETTERS_QUEUE, pipe) == 0


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_an_unpublished_retry_is_made_after_the_outage(
    pipe: Pipeline, stoppable_broker: RabbitMQ, how: str
) -> None:
    webhook = await pipe.webhook("/a")
    await pipe.dispatcher()

    async def fail_once_the_broker_is_gone(_received: Received) -> int:
        await asyncio.to_thread(getattr(stoppable_broker, how))
        return 500

    pipe.receiver.answer("/a", fail_once_the_broker_is_gone)
    event = an_event()
    await pipe.publish(event)
    # The attempt is recorded without a broker, and only its row says that there is another.
    await pipe.until_row(event, webhook, attempts=1)
    pipe.receiver.answer("/a", 200)
    await asyncio.to_thread(stoppable_broker.start)

    await pipe.until_row(event, webhook, state="succeeded", seconds=60)

    assert pipe.receiver.counted() == {event.id: 2}


async def test_the_requeue_job_requeues_deliveries_of_a_purged_delay_queue(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/a")
    # Long enough to find the message in its delay queue on a busy machine.
    await pipe.dispatcher(webhook_retry_delays="PT8S")
    pipe.receiver.answer("/a", 500)
    event = an_event()
    await pipe.publish(event)
    row = await pipe.until_row(event, webhook, attempts=1)
    pipe.receiver.answer("/a", 200)

    await eventually(lambda: purged("deliveries.retry.8000ms", pipe), lambda count: count == 1)
    after = await pipe.until_row(event, webhook, state="succeeded")

    assert pipe.receiver.counted() == {event.id: 2}
    assert after["ended_at"] >= row["due_at"]


async def messages_in(queue: str, pipe: Pipeline) -> int:
    async with await aio_pika.connect(pipe.system.amqp_url) as connection:
        declared = await (await connection.channel()).declare_queue(queue, passive=True)
        return declared.declaration_result.message_count or 0


async def purged(queue: str, pipe: Pipeline) -> int:
    """Purges a queue; returns the number of messages."""
    async with await aio_pika.connect(pipe.system.amqp_url) as connection:
        found = await (await connection.channel()).get_queue(queue, ensure=False)
        return (await found.purge()).message_count or 0
